"""Done when: scaling studies of the torch recipe on a real four-node Slurm: torchrun over srun, srun, mpirun."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from support.backends import Run, Site, SlurmBackend
from support.slurm_lab.lab import SlurmLab
from support.virtual_nodes.processes import until

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.torch,
    pytest.mark.skipif(not shutil.which("torchrun", path=Path(sys.executable).parent), reason="no torch"),
]
NUMBER = (int, float)
SHAPE = {
    "schema_version": int,
    "study": str,
    "mode": str,
    "metric": str,
    "unit": str,
    "base_processes": int,
    "points": [
        {
            "processes": int,
            "nodes": int,
            "value": NUMBER,
            "spread": {"min": NUMBER, "max": NUMBER, "stdev": (int, float, type(None)), "n": int},
            "speedup": NUMBER,
            "efficiency": NUMBER,
            "status": str,
            "runs": [{"id": str, "job_id": str, "status": str, "value": NUMBER}],
        }
    ],
    "checks": dict,
}
"""The Results JSON of a study whose points all succeeded, without `fit`, which is an object or null."""


def misshapen(value: Any, shape: Any, where: str = "results") -> list[str]:
    """Return what is not as the shape says: a missing name or another type; further names are allowed."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where} is {value!r}"]
        missing = [f"{where}.{name} is missing" for name in shape if name not in value]
        return missing + [
            line for name, kind in shape.items() if name in value
            for line in misshapen(value[name], kind, f"{where}.{name}")
        ]  # fmt: skip
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return [f"{where} is {value!r}"]
        return [line for number, each in enumerate(value) for line in misshapen(each, shape[0], f"{where}[{number}]")]
    good = isinstance(value, shape) and not isinstance(value, bool)
    return [] if good else [f"{where} is {value!r}"]


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Site:
    """A project around the recipe, as `init` makes it, for the shipped profile `slurm`."""
    folder = tmp_path / "digits"
    made = Site(SlurmBackend(slurm), tmp_path)
    made.backend.trains = True
    made.run("init", "--recipe", "torch-ddp", "-p", "epochs=4", str(folder))
    made.folder = folder
    made.choose_programs()
    return made


def study(site: Site, launcher: str, processes: str, *options: str) -> dict[str, Any]:
    """Run a study to its end and return its Results JSON, examined."""
    words = ["--launcher", launcher, "--processes", processes, *options]
    found: dict[str, Any] = json.loads(
        site.run("scale", "--wait", "--json", "--walltime", "00:20:00", *words, seconds=240)
    )
    assert misshapen(found, SHAPE) == []
    spreads = [point["spread"] for point in found["points"]]
    assert [spread["stdev"] for spread in spreads if spread["n"] == 1] == [None] * len(spreads)  # of one value: none
    assert found["fit"] is None or isinstance(found["fit"], dict)
    assert [point["status"] for point in found["points"]] == ["SUCCEEDED"] * len(processes.split(","))
    assert json.loads(site.run("results", "--json", found["study"])) == found
    return found


def examine(site: Site, point: dict[str, Any], hosts: int) -> None:
    """Examine a point's run: on so many hosts, one network trained together, known to the accounting."""
    processes = point["processes"]
    (row,) = point["runs"]
    run = Run(site.folder / "runs" / row["id"], row["job_id"])
    started = [event for rank in range(processes) for event in run.rank_events(rank) if event["event"] == "started"]
    assert sorted(event["rank"] for event in started) == list(range(processes))
    assert len({event["host"] for event in started}) == hosts
    (final,) = [line for line in _metrics(run) if line.get("final")]
    # the sum over ranks of rank + 1, and of each gradient minus what one process computes from all batches
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert 0 <= final["gradient_check"] < 1e-3
    assert final["samples_per_s"] == row["value"] > 0
    if processes > 1:
        assert run.has("ranks_started")
    backend = site.backend
    assert isinstance(backend, SlurmBackend)
    accounted = f"{row['job_id']}|hk-{row['id'][-8:]}|COMPLETED"
    ask = ("sacct", "-nPX", "-j", row["job_id"], "-o", "JobID,JobName,State")
    assert until(lambda: backend.lab.run(*ask).strip() == accounted, 120), backend.lab.run(*ask)


def _metrics(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "metrics" / "rank-0.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_study_of_1_2_4(site: Site) -> None:
    found = study(site, "torchrun", "1,2,4", "--cluster", "slurm")
    assert [(point["processes"], point["nodes"]) for point in found["points"]] == [(1, 1), (2, 1), (4, 2)]
    assert (found["mode"], found["metric"], found["unit"]) == ("weak", "samples_per_s", "samples/s")
    base = found["points"][0]["value"]
    for point in found["points"]:
        assert point["speedup"] == pytest.approx(point["value"] / base)
        assert point["efficiency"] == pytest.approx(point["speedup"] / point["processes"])
        examine(site, point, 1 if _flat(site) else point["nodes"])


@pytest.mark.slow
def test_srun_gives_ranks_their_identity(site: Site) -> None:
    found = study(site, "srun", "4", "--cluster", "slurm")
    examine(site, found["points"][0], 1 if _flat(site) else 2)


@pytest.mark.slow
@pytest.mark.mpi
def test_open_mpi_of_debian(site: Site, tmp_path: Path) -> None:
    """The mpirun of the system, also where a virtual environment brings another one."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, other in (("mpirun", "mpirun.openmpi"), ("orted", "orted")):
        path = shutil.which(other, path="/usr/bin")
        if path is None:
            pytest.skip("no mpirun of Debian")
        (tools / name).symlink_to(path)
    site.write_profile(processes_per_node=2, environment=[f"export PATH={tools}:{Path(sys.executable).parent}:$PATH"])
    found = study(site, "mpirun", "4", "--cluster", "lab")
    examine(site, found["points"][0], 1 if _flat(site) else 2)


@pytest.mark.slow
def test_doctor_starts_on_two_nodes(site: Site) -> None:
    answer = site.run("doctor", "--cluster", "slurm", "--job", "--nodes", "2", "--json", code=None, seconds=120)
    findings = json.loads(answer)["findings"]
    bad = [each for each in findings if each["level"] == "bad"]
    assert not bad or _flat(site), bad
    if not _flat(site):
        assert "node1" in findings[-1]["text"] and "node2" in findings[-1]["text"], findings[-1]


def _flat(site: Site) -> bool:
    """Whether all virtual nodes share one host name (no rights to make namespaces)."""
    return not site.backend.node_names


def test_shape_check_sees_what_is_missing() -> None:
    assert misshapen({"points": []}, {"points": [{"n": int}], "mode": str}) == [
        "results.mode is missing",
        "results.points is []",
    ]
    assert misshapen({"n": True}, {"n": int}) == ["results.n is True"]
