"""A job of an own program says where the time of its steps goes, without a line in the program; unless told not to."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.backends import Backend, LocalBackend, Site

pytestmark = [pytest.mark.slow, pytest.mark.torch]

PROGRAM = """
import os, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

class Model(torch.nn.Linear):
    def forward(self, batch):
        time.sleep(0.1)
        return super().forward(batch)

dist.init_process_group("gloo")
model = DistributedDataParallel(Model(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(160, 8), torch.randint(2, (160,)))
for x, y in DataLoader(data, batch_size=4):
    if dist.get_rank() == 1:
        time.sleep(0.2)
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("rank", dist.get_rank(), "steps:", os.environ["HK_STEPS"], flush=True)
dist.destroy_process_group()
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend: Backend = LocalBackend(tmp_path)
    backend.trains = True
    made = Site(backend, tmp_path / "project")
    made.write_project("python train.py", launcher="torchrun", nodes=1, processes=2, walltime="1200s")
    made.write_profile(processes_per_node=2, launchers=["local", "torchrun"])
    (made.folder / "train.py").write_text(PROGRAM)
    yield made
    backend.stop()


def shares(site: Site) -> tuple[dict[str, Any] | None, str]:
    """Return what is told of the newest run's shares as JSON and as text."""
    run = site.submit()
    site.await_state(run, "SUCCEEDED", "FAILED")
    assert run.log("rank-1").split("\n")[-2:] == ["rank 1 steps: ", ""], run.log("rank-1")
    found = json.loads(site.run("results", run.id, "--json"))["shares"]
    return found, site.run("results", run.id, "--lang", "en").decode()


def test_an_own_program_tells_where_its_time_goes_unless_it_shall_not(site: Site) -> None:
    pytest.importorskip("torch")
    told, text = shares(site)
    assert told is not None and told["basis"] in ("hooked", "sampled"), told
    assert told["late_rank"] == 1 and [each["id"] for each in told["advice"]] == ["straggler"], told
    assert "waiting for rank 1" in text and "(seen from outside" in text
    shutil.rmtree(site.folder / "runs")
    values = json.loads((site.folder / "project.yaml").read_text())
    (site.folder / "project.yaml").write_text(json.dumps({**values, "variables": {"HK_STEPS": "off"}}))
    assert shares(site)[0] is None
    assert not list((site.folder / "runs").glob("*/steps"))
