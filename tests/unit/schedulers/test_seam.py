"""Where the toolkit meets schedulers: profiles, headers, files beside the script, dependencies, questions."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.config.cluster import Cluster, Node
from hackathon.config.problems import ConfigError
from hackathon.jobs.render import render
from hackathon.runs.submit import submit
from hackathon.schedulers import registry
from hackathon.schedulers.base import SchedulerError, Submission
from hackathon.schedulers.dialect import Header
from hackathon.text.errors import RequestError
from support.runs import FakeScheduler, new_run, request

PROFILE = "name: c\nscheduler: {scheduler}\nnode: {{cores: 4}}\ndialect:\n{keys}"


def written(folder: Path, scheduler: str, *keys: str) -> Path:
    place = folder / "templates" / "clusters" / "c.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(PROFILE.format(scheduler=scheduler, keys="".join(f"  {key}\n" for key in keys)))
    return folder


def test_wrong_keys_of_a_dialect_are_told_with_place_and_near_word(tmp_path: Path) -> None:
    folder = written(tmp_path, "slurm", "group: acount", "gpu_requests: gres", "exclusive: 3", "place: scatter")
    with pytest.raises(ConfigError) as caught:
        registry.load_cluster("c", [folder])
    told = {(each.key, each.line): each.text for each in caught.value.problems}
    assert set(told) == {
        ("dialect.group", 5), ("dialect.gpu_requests", 6), ("dialect.exclusive", 7), ("dialect.place", 8),
    }  # fmt: skip
    assert "`account`" in told["dialect.group", 5] and "`gpu_request`" in told["dialect.gpu_requests", 6]
    assert "group, gpu_request, exclusive" in told["dialect.place", 8]  # a key of another scheduler


def test_dialect_is_told_together_with_what_else_is_wrong(tmp_path: Path) -> None:
    folder = written(tmp_path, "pbs", "group: 7")
    (folder / "templates/clusters/c.yaml").write_text("name: d\nscheduler: pbs\nnode: {}\ndialect: {group: 7}\n")
    with pytest.raises(ConfigError) as caught:
        registry.load_cluster("c", [folder])
    assert [each.key for each in caught.value.problems] == ["name", "dialect.group"]


def test_checked_profile_has_all_keys_and_is_checked_again_when_its_scheduler_changes(tmp_path: Path) -> None:
    folder = written(tmp_path, "pbs", "place: scatter")
    wanted = {"group": "none", "gpu_request": "none", "cpu_request": "none", "place": "scatter", "history": "x"}
    for _ in range(2):  # the second time from the cache
        assert registry.load_cluster("c", [folder]).dialect == wanted
    written(tmp_path, "nowhere", "anything: 1")  # its runs are there, its plug-in is not
    cluster = registry.load_cluster("c", [folder])
    assert cluster.dialect == {"anything": 1} and registry.known_dialect(cluster).whole_nodes
    with pytest.raises(RequestError, match="nowhere"):
        registry.dialect_of(cluster)


def test_header_can_be_overridden_and_extended_by_its_present_name(tmp_path: Path) -> None:
    cluster = Cluster(name="c", scheduler="slurm", node=Node(), dialect={"group": "account"})
    wanted = replace(request(Path()), scheduler="slurm", cluster="c", group="g1")
    own = tmp_path / "jobs" / "scheduler-slurm.sh.j2"
    own.parent.mkdir()
    own.write_text('{% include "shipped/scheduler-slurm.sh.j2" %}\n#SBATCH --constraint=a100\n')
    lines = render(wanted, cluster, [tmp_path]).job.splitlines()
    assert "#SBATCH --account=g1" in lines and "#SBATCH --constraint=a100" in lines
    own.write_text("#SBATCH --comment={{ note }}\n")
    with pytest.raises(RequestError):
        render(wanted, cluster, [tmp_path])
    (tmp_path / "jobs" / "identity-slurm.sh.j2").write_text("HK_RUN=/elsewhere\n")
    own.unlink()
    assert "HK_RUN=/elsewhere" in render(wanted, cluster, [tmp_path]).job


def test_header_values_match_the_pattern_of_their_field(tmp_path: Path) -> None:
    cluster = Cluster(name="c", scheduler="pbs", node=Node(), dialect={"place": "scatter\n#PBS -q other"})
    with pytest.raises(RequestError, match="place"):
        render(replace(request(Path()), scheduler="pbs"), cluster)


class Filing(FakeScheduler):
    """Reads a file in place of a header."""

    names: tuple[str, ...] = ("job.yaml",)

    def files(self, submission: Submission, header: Header) -> Mapping[str, str]:
        text = json.dumps({"name": submission.name, "nodes": header.nodes, "queue": header.queue})
        return dict.fromkeys(self.names, text)


def test_files_lie_beside_the_script_before_it_is_submitted(tmp_path: Path) -> None:
    run, scheduler = new_run(tmp_path / "project"), Filing(tmp_path / "spool")
    (scheduler.spool / "refuse").write_text("no")
    with pytest.raises(SchedulerError):
        submit(run, scheduler)
    (scheduler.spool / "refuse").unlink()
    submit(run, scheduler)  # again: its own file may be written again
    wanted = {"name": run.job_name, "nodes": run.request().nodes, "queue": run.request().queue}
    assert json.loads((run.path / "job.yaml").read_text()) == wanted


@pytest.mark.parametrize("name", ["job.sh", "source/x", "../x", ".hidden", "request.json"])
def test_files_never_replace_what_the_run_has(tmp_path: Path, name: str) -> None:
    run, scheduler = new_run(tmp_path / "project"), Filing(tmp_path / "spool")
    scheduler.names = (name,)
    with pytest.raises(RequestError, match="not allowed"):
        submit(run, scheduler)
    assert not scheduler.calls("submit") and run.submitting()[0] == 0


def test_waiting_for_another_job_is_refused_where_the_scheduler_cannot(tmp_path: Path) -> None:
    run, scheduler = new_run(tmp_path / "project"), FakeScheduler(tmp_path / "spool")
    scheduler.supports_after = lambda condition: condition == "any"  # type: ignore[method-assign]
    with pytest.raises(RequestError, match="succeeded"):
        submit(run, scheduler, after=("ok", "7"))
    assert not scheduler.calls("submit")
    assert submit(run, scheduler, after=("any", "7")) == "1"


def test_run_remembers_how_its_scheduler_wanted_to_be_asked(tmp_path: Path) -> None:
    from hackathon.runs.status import load_scheduler

    run = new_run(tmp_path / "project", scheduler="pbs", dialect={"group": "project", "place": "scatter"})
    assert load_scheduler(run) == registry.load("pbs", {"group": "project", "place": "scatter"})
    assert load_scheduler(run).dialect.wants_group


@pytest.mark.parametrize(
    ("commands", "cluster"),
    [
        ((), "laptop"),
        (("sbatch",), "slurm"),
        (("qsub",), None),
        (("qsub", "sbatch"), "slurm"),
        (("qsub", "qconf"), None),
    ],
)
def test_machine_tells_its_cluster_by_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: tuple[str, ...], cluster: str | None
) -> None:
    for name in commands:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert registry.likely_cluster() == cluster
