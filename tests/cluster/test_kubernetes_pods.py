"""Two pods of one job: real kubectl; the API is the tests' emulator, and the pods are processes of this machine.

What no emulator shows stays untested: images, nodes, DNS, storage, admission, quotas, gang schedulers. No cluster ran
this.
"""

import importlib.util
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import KubernetesBackend, Run, Site, until
from support.patience import STRETCH

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TWO = {"launcher": "torchrun", "nodes": 2, "processes": 2, "processes_per_node": 1}
TORCHRUN = """#!/bin/bash
# one rank a node, as torchrun starts it, without the seconds that importing torch takes
for word in "$@"; do
  case $word in --node-rank=*) RANK=${word#*=} ;; --no-python) break ;; esac
  shift
done
shift
export RANK LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1
exec "$@"
"""
TRAIN = """
import json, os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Linear(1, 1)
torch.nn.init.zeros_(model.weight), torch.nn.init.zeros_(model.bias)
parallel = DistributedDataParallel(model)
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
inputs = torch.tensor([[0.0], [1.0]]) + 2 * rank  # each rank has half of the data
for _ in range(20):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(parallel(inputs), 3 * inputs + 1).backward()
    optimizer.step()
found = {"weight": model.weight.item(), "bias": model.bias.item(), "master": os.environ["MASTER_ADDR"]}
with open(os.path.join(os.environ["HK_RUN"], f"rank-{rank}.json"), "w") as stream:
    json.dump(found, stream)
dist.destroy_process_group()
"""


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[KubernetesBackend]:
    made = KubernetesBackend(tmp_path, grace=120)  # a busy machine may need it
    yield made
    made.stop()


@pytest.fixture
def site(backend: KubernetesBackend, tmp_path: Path) -> Site:
    """A project on two pods whose `torchrun` is a shell script."""
    made = Site(backend, tmp_path / "project")
    made.write_project("python program.py hold_rank", walltime="600s", **TWO)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "torchrun").write_text(TORCHRUN)
    (tmp_path / "bin" / "torchrun").chmod(0o755)
    lines = backend.profile()["environment"]
    made.write_profile(processes_per_node=1, environment=[*lines, f'PATH="{tmp_path}/bin:$PATH"'])
    return made


def phases(backend: KubernetesBackend, run: Run) -> list[str]:
    """Return the phases of a run's pods, by index."""
    selector = f"hackathon/job=hk-{run.id[-8:]}"
    return [pod["status"]["phase"] for pod in backend.cluster.store.found("pods", "default", selector)]


def holding(run: Run) -> None:
    """Wait until both ranks are at work."""
    for rank in (0, 1):
        run.written(f"holding-{rank}")


@pytest.mark.torch
def test_two_pods_train_together(site: Site, backend: KubernetesBackend) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch")
    site.write_project("python train.py", **{**TWO, "walltime": "1000s"})
    backend.trains = True
    site.write_profile(processes_per_node=1)  # the real torchrun
    (site.folder / "train.py").write_text(TRAIN)
    run = site.submit()
    name = f"hk-{run.id[-8:]}"
    assert until(lambda: run.has("ended") and run.job_events[-1], seconds=200)["exit_code"] == 0, run.log("job")
    seen = [json.loads((run.path / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    assert {each["master"] for each in seen} == {f"{name}-0.{name}"}
    weight, bias = 0.0, 0.0  # the same by hand, over the data of both
    for _ in range(20):
        slopes = [2 * (weight * x + bias - 3 * x - 1) / 4 for x in range(4)]
        weight, bias = weight - 0.1 * sum(s * x for x, s in enumerate(slopes)), bias - 0.1 * sum(slopes)
    for each in seen:
        assert (each["weight"], each["bias"]) == (pytest.approx(weight, abs=1e-4), pytest.approx(bias, abs=1e-4))
    assert [run.rank_events(rank)[0]["host"] for rank in (0, 1)] == [f"{name}-0", f"{name}-1"]
    assert (run.path / "claim/job_id").read_text().strip() == run.job_id == f"default/{name}"
    assert [each["event"] for each in run.job_events].count("started") == 1  # the second pod leaves no record
    assert until(lambda: backend.job(run)["status"].get("conditions"))[0]["type"] == "Complete"
    assert phases(backend, run) == ["Succeeded", "Succeeded"]
    assert site.state(run)["state"] == "SUCCEEDED"
    made = [line.split(" ")[1].split("?")[0] for line in backend.cluster.requests if line.startswith("POST")]
    assert [each.rpartition("/")[2] for each in made] == ["services", "jobs"]  # names exist before pods ask for them


def test_rank_in_the_second_pod_fails(site: Site, backend: KubernetesBackend) -> None:
    values = json.loads((site.folder / "project.yaml").read_text())
    (site.folder / "project.yaml").write_text(json.dumps({**values, "command": "python program.py last_fails 3"}))
    run = site.submit()
    found = site.await_state(run, "FAILED", seconds=120)
    assert (found["first_rank"], found["first_exit_code"], found["first_host"]) == (1, 3, f"hk-{run.id[-8:]}-1")
    assert run.job_events[-1]["signal"] is None  # node 0 heard it from the other pod, nobody killed it
    conditions = until(lambda: backend.job(run)["status"].get("conditions"))
    assert (conditions[0]["type"], conditions[0]["reason"]) == ("Failed", "BackoffLimitExceeded")


def test_second_pod_is_killed(site: Site, backend: KubernetesBackend) -> None:
    profile = json.loads((site.folder / "templates/clusters/lab.yaml").read_text())
    profile["dialect"]["grace"] = 1  # the first pod waits for the second until it is killed
    site.write_profile(**profile)
    run = site.submit()
    holding(run)
    (second,) = [name for name in backend.cluster.running if "-1-" in name]
    backend.cluster.signal(second, signal.SIGKILL)
    until(lambda: backend.job(run)["status"].get("conditions"), "the end of the Job")
    found = site.await_state(run, "FAILED")
    assert found["reason"] == "Job has reached the specified backoff limit"
    assert not backend.cluster.running  # the first pod's GPUs are free


def test_cancel_two_pods(site: Site, backend: KubernetesBackend) -> None:
    run = site.submit()
    holding(run)
    assert site.state(run)["hosts"] == ["node-0", "node-1"]
    site.run("cancel", run.id)
    assert site.await_state(run, "CANCELLED")["cause"] == "cancelled"
    until(lambda: not backend.cluster.running, "the end of both pods")
    assert not backend.cluster.store.items  # Job, Service and pods


def test_job_that_no_node_takes(site: Site, backend: KubernetesBackend) -> None:
    backend.cluster.full = True
    run = site.submit()
    found = until(lambda: (now := site.state(run))["reason"] and now)
    assert found["state"] == "QUEUED" and "Insufficient nvidia.com/gpu" in found["reason"]
    site.run("cancel", run.id)
    until(lambda: not backend.cluster.store.items)
    assert not run.job_events and not (run.path / "claim").exists()


def test_refused_job_leaves_no_service_behind(site: Site, backend: KubernetesBackend) -> None:
    backend.cluster.store.forbidden.add(("create", "jobs"))
    process = site.start("submit")
    words = process.communicate(timeout=STRETCH * 60)[1].decode()
    assert process.returncode == 2 and "jobs.batch is forbidden" in words and "kubectl auth can-i" in words
    assert not backend.cluster.store.items
    (found,) = site.states()
    assert (found["state"], found["cause"]) == ("FAILED", "refused")
    backend.cluster.store.forbidden.clear()
    site.run("submit", "--again", found["run_id"])
    assert [kind for kind, *_ in backend.cluster.store.items][:2] == ["services", "jobs"]


def test_server_that_is_away(site: Site, backend: KubernetesBackend) -> None:
    run = site.submit()
    holding(run)
    backend.cluster.server.shutdown()
    backend.cluster.server.server_close()
    found = site.state(run)
    assert found["state"] == "RUNNING" and "API server does not answer" in found["problem"]
    process = site.start("submit")
    words = process.communicate(timeout=STRETCH * 60)[1].decode()
    assert process.returncode == 3 and "API server does not answer" in words
    (run.path / "stop").touch()
