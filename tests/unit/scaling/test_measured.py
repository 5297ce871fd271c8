"""`hackathon clusters NAME --measure`: which jobs it wants, what it keeps, and what it shows of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run
from hackathon.runs import campaign
from hackathon.runs.directory import RunDirectory
from hackathon.scaling import cluster_measurements as measured
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from support.profiles import visible_everywhere

FITS = {
    "small": {"alpha_us": 12.5, "beta_gb_s": 3.0, "from_bytes": 4096, "to_bytes": 65536, "relative_error": 0.1},
    "large": {"alpha_us": 40.0, "beta_gb_s": 9.25, "from_bytes": 65536, "to_bytes": 2**30, "relative_error": 0.2},
}


def _entry(nodes: int, bus: float, date: str = "2026-01-02T03:04:05Z") -> dict[str, Any]:
    operation = {"bytes": 2**30, "busbw_gb_s": bus, "latency_us": 13.0, "fits": FITS}
    return {
        "nodes": nodes, "processes": 4 * nodes, "hosts": nodes, "where": "inside" if nodes == 1 else "between",
        "backend": "nccl", "device": "P100", "launcher": "mpirun", "date": date,
        "run": f"20260102-030405-allreduce-{4 * nodes}p-abcdefgh", "job_id": "7",
        "operations": {"all-reduce": operation},
    }  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "work"
    folder.mkdir()
    visible_everywhere("reedbush-h")
    monkeypatch.chdir(folder)
    return folder


def test_measuring_again_replaces_only_the_same_shape() -> None:
    assert measured.measured("reedbush-h") == []
    path = measured.keep("reedbush-h", [_entry(2, 5.0), _entry(1, 20.0)])
    assert [each["nodes"] for each in measured.measured("reedbush-h")] == [1, 2]
    measured.keep("reedbush-h", [_entry(2, 6.5, "2026-02-03T00:00:00Z")])
    kept = measured.measured("reedbush-h")
    found = [(each["nodes"], each["operations"]["all-reduce"]["busbw_gb_s"], each["date"][:7]) for each in kept]
    assert found == [(1, 20.0, "2026-01"), (2, 6.5, "2026-02")]
    assert [each.name for each in path.parent.iterdir()] == ["reedbush-h.json"], "no temporary file is left"
    assert measured.measured("reedbush-l") == []


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 1}', '{"schema_version": 1, "measured": [3, {}]}',
                                  '{"schema_version": 99, "measured": []}'])  # fmt: skip
def test_a_file_that_is_no_measurement_is_passed_over(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = measured.measured_path("laptop")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert measured.measured("laptop") == []
    assert run(["clusters", "laptop"]) == 0
    assert "α" not in capsys.readouterr().out


def test_what_can_not_be_kept_is_told(own_home: Path) -> None:
    (own_home / "config").mkdir(exist_ok=True)
    (own_home / "config" / "hackathon").write_text("a file where a folder is wanted")
    with pytest.raises(UnavailableError) as refused:
        measured.keep("laptop", [_entry(1, 1.0)])
    assert "could not be saved" in refused.value.message


def test_entry_of_a_run(here: Path) -> None:
    folder = here / "runs" / "20260102-030405-allreduce-4p-abcdefgh"
    (folder / "client").mkdir(parents=True)
    with pytest.raises(HackathonError):
        measured.entry(_run(folder, nodes=2))
    rows = [{"bytes": 4096, "time_us": 13.0, "busbw_gb_s": 0.3}, {"bytes": 2**30, "time_us": 2e5, "busbw_gb_s": 5.4}]
    result = {
        "t": 1767323045.0, "backend": "gloo", "device": "cpu", "processes": 4, "nodes": 2, "hosts": ["a", "b"],
        "operations": {"broadcast": {"rows": rows, "fits": FITS}},
    }  # fmt: skip
    (folder / measured.RESULT).write_text(json.dumps(result))
    found = measured.entry(_run(folder, nodes=2))
    assert (found["nodes"], found["processes"], found["hosts"], found["where"]) == (2, 4, 2, "between")
    assert (found["date"], found["run"]) == ("2026-01-02T03:04:05Z", folder.name)
    assert found["operations"] == {
        "broadcast": {"bytes": 2**30, "busbw_gb_s": 5.4, "latency_us": 13.0, "fits": FITS}
    }  # fmt: skip
    (folder / measured.RESULT).write_text(json.dumps(result | {"operations": {"broadcast": {"rows": [], "fits": {}}}}))
    with pytest.raises(HackathonError) as refused:
        measured.entry(_run(folder, nodes=2))
    assert "contains no measurement" in refused.value.message


def _run(folder: Path, nodes: int) -> RunDirectory:
    from hackathon.config import load
    from hackathon.jobs.request import Options
    from hackathon.jobs.resolve import Sources, resolve
    from hackathon.schedulers import registry

    recipe, place = load.load_recipe("allreduce", [])
    sources = Sources(registry.load_cluster("slurm", []), Options(nodes=nodes), recipe=recipe, folder=place)
    (folder / "request.json").write_text(json.dumps(resolve(sources).to_json()))
    return RunDirectory(folder)


def test_clusters_shows_what_was_measured(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured.keep("reedbush-h", [_entry(1, 20.0), _entry(2, 5.43)])
    assert run(["clusters", "reedbush-h"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["2", "8", "nccl", "all-reduce", "12.5", "9.25", "5.43", "2026-01-02", "abcdefgh"] in lines
    assert run(["clusters", "reedbush-h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"] == [_entry(1, 20.0), _entry(2, 5.43)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--measure"], "clusters measure NAME"),
        (["laptop", "--nodes", "2"], "need --measure"),
        (["laptop", "-p", "max_size=1GiB"], "need --measure"),
        (["nowhere", "--measure"], "nowhere"),
        (["laptop", "--measure", "--processes-per-node", "1"], "a single process"),
        (["laptop", "--measure", "--nodes", "2"], "single machine"),
        (["laptop", "--measure", "-p", "size=3"], "size"),
        (["reedbush-h", "--measure"], "group"),
    ],
)
def test_wrong_requests_leave_nothing_behind(
    here: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["clusters", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "shapes", "largest"),
    [
        (["laptop"], [(1, 2)], "16MiB"),
        (["slurm"], [(1, 2), (2, 4)], "16MiB"),
        (["slurm", "--nodes", "4", "--nodes", "2"], [(2, 4), (4, 8)], "16MiB"),
        (["slurm", "--processes-per-node", "1"], [(2, 2)], "16MiB"),
        (["reedbush-h", "--group", "pz0425"], [(1, 2), (2, 4)], "1GiB"),
        (["reedbush-h", "--group", "pz0425", "-p", "max_size=1MiB"], [(1, 2), (2, 4)], "1MiB"),
        (["miyabi-g", "--group", "gw25"], [(2, 2)], "1GiB"),
    ],
)
def test_inside_a_node_and_between_nodes(
    here: Path, arguments: list[str], shapes: list[tuple[int, int]], largest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job a shape; where a node has one process, there is nothing to measure inside it."""
    asked: list[Any] = []

    def instead(planned: campaign.Plan, **more: Any) -> None:
        asked.extend(planned.requests)
        raise RequestError("clusters.measure_which")

    monkeypatch.setattr(campaign, "start_in_turn", instead)
    assert run(["clusters", *arguments, "--measure"]) == 2
    assert [(request.nodes, request.processes) for request in asked] == shapes
    for request in asked:
        assert (request.recipe, request.parameters["operation"]) == ("allreduce", "all")
        assert request.parameters["max_size"] == largest
