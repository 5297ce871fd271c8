"""What became of the hours: classes that add up, energy, and what is not known; and one line about a request.

The sums in the comments were made by hand.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as command
from hackathon.config.event import Event, Team
from hackathon.runs.directory import RunDirectory
from hackathon.runs.load import RunLoad
from hackathon.usage.efficiency import efficiency
from hackathon.usage.lost import CLASSES, Hours, by_cluster, hours_of
from hackathon.usage.lost_tables import lost_json, lost_notes, lost_sentence, lost_table
from hackathon.usage.usage import Usage, usage
from support.runs import sealed, write

NOW = 1_548_400_000.0
START = NOW - 20000
CLUSTER = "name: lab\nscheduler: fake\nnode: {cores: 4, gpus: 2}\nqueues: [{name: q, walltime: 48:00:00, nodes: 16}]\n"
HEAD = "t,kind,index,utilisation_percent,memory_mib,power_w\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HACKATHON_LANG", "en")
    yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "event" / "templates" / "clusters"
    place.mkdir(parents=True)
    (place / "lab.yaml").write_text(CLUSTER)
    return tmp_path / "event"


def write_job(
    project: Path, name: str, seconds: float, state: str = "SUCCEEDED", *, nodes: int = 1, start: float = START,
    numbers: Sequence[float] = (), queued: float | None = 60.0, **record: Any,
) -> Path:  # fmt: skip
    """Write a sealed run of so many seconds; `numbers`: seconds after the start at which its first rank wrote one."""
    run = project / "runs" / f"20190124-120000-small-1p-{name:a<8}"
    whole = {"nodes": nodes, "gpus_per_node": 2, "processes_per_node": 2, "walltime": 36000, "cluster": "lab",
             "scheduler": "fake", "processes": 2 * nodes, **record}  # fmt: skip
    write(run / "request.json", whole)
    if queued is not None:
        write(run / "client" / "submitted.json", {"t": start - queued, "job_id": name})
    write(run / "final.json", {"job_id": name, "attempt": 1, **sealed(start, start + seconds), "state": state})
    (run / "metrics").mkdir()
    lines = [json.dumps({"t": start + moment, "attempt": 1, "loss": 1.0}) for moment in numbers]
    if lines:
        (run / "metrics" / "rank-0.jsonl").write_text("\n".join(lines) + "\n")
    return run


def measure(run: Path, host: str, rows: Sequence[tuple[float, int, float, float, float]]) -> None:
    """Write telemetry: (seconds after START, GPU, utilisation, MiB, W)."""
    (run / "telemetry").mkdir(exist_ok=True)
    lines = [f"{START + t},gpu,{gpu},{busy},{memory},{watt}\n" for t, gpu, busy, memory, watt in rows]
    cpu = [f"{START + t},cpu,,50,6000,\n" for t in sorted({row[0] for row in rows})]
    (run / "telemetry" / f"{host}.csv").write_text(HEAD + "".join([*lines, *cpu]))


def told(folder: Path, **options: Any) -> Usage:
    event = Event(title="t", teams=[Team("aurora"), Team("borealis")])
    return usage(event, folder, now=NOW, **options)


def only(found: Usage) -> Hours:
    (one,) = hours_of(found)
    return one


def event(folder: Path) -> Path:
    """Two teams: 3 successes, a failure, a hang, a cancelled, a running and a lost run."""
    aurora, borealis = folder / "aurora", folder / "borealis"
    good = write_job(aurora, "good", 3600, nodes=2)  # 2 node-hours, of whose 4 GPUs 1 never worked: 1.5 and 0.5
    rows = [(t, gpu, 90.0 * (gpu == 0), 100.0 + 5000 * (gpu == 0), 100.0) for t in range(0, 3601, 60) for gpu in (0, 1)]
    measure(good, "n1", [(t, gpu, 90.0, 5000.0, 100.0) for t, gpu, *_ in rows])
    measure(good, "n2", rows)
    write_job(aurora, "dark", 1800)  # 0.5, not recorded which GPUs worked
    write_job(aurora, "broken", 7200, "FAILED", numbers=[60.0 * number for number in range(120)])  # 2.0
    write_job(aurora, "stands", 10800, "TIMEOUT", nodes=3, numbers=range(0, 3601, 10))  # 3 × 1 h, then 3 × 2 h
    write_job(borealis, "stopped", 900, "CANCELLED", nodes=4)  # 1.0, not recorded whether it hung
    going = write_job(borealis, "going", 0, start=NOW - 7200, numbers=[60.0 * number for number in range(120)])  # 2.0
    (going / "final.json").unlink()
    (going / "events").mkdir()
    (going / "claim").mkdir()
    (going / "claim" / "job_id").write_text("going")
    line = {"event": "started", "attempt": 1, "t": NOW - 7200}
    (going / "events" / "job.jsonl").write_text(json.dumps(line) + "\n")
    return folder


def test_classes_of_hours_add_up_to_what_is_used(folder: Path) -> None:
    found = told(event(folder))
    aurora, borealis = hours_of(found)
    assert (aurora.team, aurora.runs, borealis.team, borealis.runs) == ("aurora", 4, "borealis", 2)
    assert {name: round(hours, 9) for name, hours in aurora.node_hours.items()} == {
        "success": 2.0, "idle": 0.5, "failure": 5.0, "hang": 6.0, "cancelled": 0.0, "running": 0.0, "unknown": 0.0,
    }  # fmt: skip
    assert borealis.node_hours["cancelled"] == 1.0 and borealis.node_hours["running"] == 2.0
    assert (aurora.lost, borealis.of("hang"), borealis.unjudged) == (pytest.approx(11.5), 0.0, {"hang": 1})
    used = {part.team: part.spent.node_hours for part in found.sums("team")}
    assert [aurora.total, borealis.total] == pytest.approx([used["aurora"], used["borealis"]]) == [13.5, 3.0]
    (both,) = by_cluster([aurora, borealis])
    (whole,) = found.sums()
    assert both.total == pytest.approx(whole.spent.node_hours) == 16.5 and both.team is None
    assert (both.runs, both.unjudged, both.judged) == (6, {"hang": 1, "idle": 1}, {"hang": 3, "idle": 1})


def test_a_part_of_the_time(folder: Path) -> None:
    """From 30 min after the start on until 2 h after it; the classes add up there, too."""
    found = told(event(folder), since=START + 1800, until=START + 7200)
    (aurora,) = hours_of(found)
    # good 2 × ½ h with ¼ idle; broken 1½ h; stands 3 × ½ h, then 3 × 1 h; dark has ended
    assert {name: hours for name, hours in aurora.node_hours.items() if hours} == pytest.approx(
        {"success": 0.75, "idle": 0.25, "failure": 3.0, "hang": 3.0}
    )
    assert aurora.total == pytest.approx(found.sums("team")[0].spent.node_hours) == 7.0
    assert aurora.energy == pytest.approx(0.2) and aurora.queue is None


def test_energy_of_recorded_power_and_waits(folder: Path) -> None:
    aurora, borealis = hours_of(told(event(folder)))
    # 4 GPUs × 100 W × 1 h; 60 s × (2 + 1 + 1 + 3) nodes in the queue
    assert aurora.energy == pytest.approx(0.4) and (aurora.metered, borealis.energy) == (1, None)
    assert aurora.kwh == pytest.approx({"success": 0.3, "idle": 0.1})
    assert aurora.queue == pytest.approx(7 * 60 / 3600) and aurora.waits == 4
    write_job(folder / "borealis", "hidden", 10, queued=None)
    assert hours_of(told(folder))[1].waits == borealis.waits == 2


def test_what_was_not_recorded_is_not_known(folder: Path) -> None:
    write_job(folder / "aurora", "dark", 3600)
    write_job(folder / "aurora", "failed", 3600, "FAILED")
    one = only(told(folder))
    assert (one.of("idle"), one.of("hang"), one.energy, one.lost) == (None, None, None, 1.0)
    head, [cells] = lost_table([one])
    row = dict(zip(head, cells, strict=True))
    assert (row["unused GPUs"], row["no progress"], row["kWh of GPUs"]) == ("not known",) * 3
    assert (row["success"], row["failure"], row["in all"]) == ("1.000", "1.000", "2.000")
    assert "GPUs are not known of 1 run:" in lost_notes([one])[2] and "not known of 1 run:" in lost_notes([one])[1]
    [value] = lost_json([one])
    assert value["node_hours"]["idle"] is None and value["kwh"] is None and value["node_hours"]["failure"] == 1.0
    said = lost_sentence(by_cluster([one]))
    assert "failures 50.0 %" in said and "Not known: time without progress" in said


@pytest.mark.parametrize(
    ("change", "gpus", "kwh"),
    [
        ("a host is missing", None, None),
        ("two looks", None, None),
        ("no power", 2, None),
        ("a pause", 2, 0.15),
        ("more GPUs than it was given", 3, 0.15),
        ("torn", 2, 0.1),
    ],
)
def test_telemetry_with_gaps(folder: Path, change: str, gpus: int | None, kwh: float | None) -> None:
    """Of a run of half an hour with 2 GPUs of 100 W each: 0.1 kWh."""
    run = write_job(folder / "aurora", "one", 1800, nodes=2 if change == "a host is missing" else 1)
    moments = {"two looks": range(0, 61, 60), "a pause": [*range(0, 901, 60), *range(1500, 3301, 60)]}
    rows = [(t, gpu, 90.0, 5000.0, 100.0) for t in moments.get(change, range(0, 1801, 60)) for gpu in (0, 1)]
    if change == "more GPUs than it was given":
        rows += [(t, 2, 0.0, 0.0, 100.0) for t in range(0, 1801, 60)]
    measure(run, "n1", rows)
    file = run / "telemetry" / "n1.csv"
    if change == "no power":
        file.write_text(file.read_text().replace(",100.0\n", ",[N/A]\n"))
    elif change == "torn":
        file.write_text("\x00\n1,2\ninf,gpu,0,1,1,1\nx,gpu,0,nan,-1,1e99\n" + file.read_text() + f"{START + 9},gpu,0,")
    (counted,) = told(folder).runs
    load = counted.use.load
    assert load is not None and load.gpus == gpus
    assert load.kwh == (None if kwh is None else pytest.approx(kwh))
    one = only(told(folder))
    assert one.unjudged.get("idle", 0) == (1 if gpus != 2 else 0) and one.node_hours["idle"] == 0.0


def test_a_usual_pause_is_no_standstill() -> None:
    assert RunLoad(output=0.0, interval=10.0).stood(299.0) == 0.0
    assert RunLoad(output=0.0, interval=10.0).stood(301.0) == 301.0
    assert RunLoad(output=0.0, interval=60.0).stood(1200.0) == 0.0 and RunLoad().stood(1e6) == 0.0
    assert RunLoad.from_values(RunLoad(1.0, gpus=2).to_values()) == RunLoad(1.0, gpus=2)


def test_lives_without_an_end_are_not_judged(folder: Path) -> None:
    """A run that was lost is counted to its walltime; whether it hung until then, nobody knows."""
    run = write_job(folder / "aurora", "lost", 60, "LOST", walltime=3600, numbers=[10.0, 20.0])
    final = json.loads((run / "final.json").read_text())
    write(run / "final.json", {**final, "t_ended": None})
    one = only(told(folder))
    assert one.node_hours["unknown"] == one.total == pytest.approx(told(folder).sums()[0].spent.node_hours)
    assert one.total > 0


def test_the_load_is_read_once(folder: Path) -> None:
    run = write_job(folder / "aurora", "one", 1800)
    measure(run, "n1", [(t, gpu, 90.0, 5000.0, 100.0) for t in range(0, 1801, 60) for gpu in (0, 1)])
    first = only(told(folder))
    (run / "telemetry" / "n1.csv").unlink()
    assert only(told(folder)) == first and first.energy is not None


def test_the_command_shows_both_tables(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (event(folder) / "hackathon.yaml").write_text(
        "title: t\nteams:\n- {name: aurora, members: [{user: u1}]}\n- {name: borealis, members: [{user: u2}]}\n"
    )
    monkeypatch.chdir(folder)
    assert command(["event", "usage", "--no-ask", "--until", time.strftime("%FT%T", time.localtime(NOW))]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-2].split()[:5] == ["aurora", "lab", "2.000", "≥", "0.500"] and "13.500" in out[-2]
    assert command(["event", "usage", "--no-ask", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    [both] = value["lost_by_cluster"]
    assert both["total"] == pytest.approx(sum(row["node_hours"] for row in value["rows"]))
    assert set(value["lost"][0]["node_hours"]) == set(CLASSES)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_one_line_says_what_would_have_been_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    """Asked: 64 GB, 4 GPUs, 4 h; used: 6.3 GB, 1 GPU, 12 min."""
    project = folder / "aurora"
    run = write_job(project, "one", 720, nodes=2, walltime=14400, memory=64 * 10**9)
    for host in ("n1", "n2"):
        rows = [(t, gpu, 90.0 * (host == "n1" and not gpu), 9.0, 50.0) for t in range(0, 700, 60) for gpu in (0, 1)]
        measure(run, host, rows)
    (project / "project.yaml").write_text("name: small\ncommand: 'true'\ncluster: lab\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("HACKATHON_LANG", language)
    assert command(["status", "--no-ask", run.name]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    expected = {
        "en": "Efficiency: requested 64.0 GB of memory for each node, used 6.3 GB; 4 GPUs, 1 used; walltime 4 h, "
        "used 12 min. This would have been enough: memory: 10 GB, 1 GPU, walltime 00:20:00.",
        "ja": "要求と使用: ノードあたりのメモリ 64.0 GB（使用 6.3 GB）; GPU 4 台（使用 1）; 制限時間 4 時間"
        "（使用 12 分）。次の要求で足りました: memory: 10 GB, GPU 1 台, 制限時間 00:20:00。",
    }
    assert line == expected[language]
    (run / "telemetry" / "n2.csv").unlink()
    assert command(["status", "--no-ask", run.name]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    unknown = {"en": "used not known; 4 GPUs, not known how many used", "ja": "（使用 不明）; GPU 4 台（使用 不明）"}
    assert unknown[language] in line and "00:20:00" in line
    (counted,) = told(folder).runs
    failed = replace(counted.use, state="FAILED")
    assert "00:20:00" not in efficiency(RunDirectory(run).files, failed, told(folder).profiles)
    assert efficiency(RunDirectory(run).files, replace(failed, load=None), told(folder).profiles) == ""
