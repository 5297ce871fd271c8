"""Chains of runs (`submit --segments`): a training that walltimes cut gives the numbers of one never cut."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import Backend, LocalBackend, PbsBackend, Run, Site, SlurmBackend, json_lines
from support.patience import STRETCH
from support.recipes import copy_recipe
from support.slurm_lab.lab import SlurmLab

PROGRAM = """
import os, sys, time
from hackathon_runtime import Meter
run, segment = os.environ["HK_RUN"], int(os.environ["HK_SEGMENT"])
place = os.path.join(os.environ["HK_CHECKPOINTS"], "step")
assert os.path.samefile(os.environ["HK_CHECKPOINTS"], os.path.join(run, "checkpoints"))
first = int(open(place).read()) if os.path.exists(place) else 0
meter = Meter(warmup=0, every_steps=1)
for step in range(first + 1, 31):
    meter.step(samples=1, step=step, loss=1 / step)
    if step % 10 == 0:
        meter.flush()
        with open(place, "w") as stream:
            stream.write(str(step))
    if step == {cut}.get(segment):
        {then}
meter.final(accuracy=0.5)
"""
WALLTIME = "20s"
"""Seconds asked for: on a busy machine, too, a program comes to its cut in them. The stop file is there after 16."""


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A project for the local back-end, or the one that the test names; its program is still to be written."""
    backend: Backend = PbsBackend(tmp_path) if getattr(request, "param", "") == "pbs" else LocalBackend(tmp_path)
    made = Site(backend, tmp_path / "project")
    made.write_project("python steps.py", launcher="local", walltime=WALLTIME)
    yield made
    backend.stop()


def _write(site: Site, cut: dict[int, int] | None = None, then: str = "pass") -> None:
    """Let the program do `then` after a step of each segment that `cut` names."""
    text = PROGRAM.replace("{cut}", repr(cut or {})).replace("{then}", then)
    (site.folder / "steps.py").write_text(text)


def _skipped(run: Run) -> list[str]:
    return [event["why"] for event in run.job_events if event["event"] == "skipped"]


def _curve(site: Site, run: Run) -> list[list[float]]:
    """Return the curve of the loss as `results` prints it."""
    lines = site.run("results", run.id, "--curve", "loss", "--no-ask").decode().splitlines()
    assert lines[0] == "step,loss"
    return [[float(each) for each in line.split(",")] for line in lines[1:]]


@pytest.mark.parametrize("site", ["pbs"], indirect=True)
@pytest.mark.slow
def test_killed_by_the_walltime_twice(site: Site) -> None:
    """The program knows nothing of the stop file; what it did after its checkpoint is done again."""
    _write(site, {1: 13, 2: 24}, "meter.flush(); time.sleep(300)")
    runs = site.submit_all("--segments", "4")
    last = site.await_state(runs[3], "SUCCEEDED", "FAILED", "CANCELLED")
    states = [site.state(run) for run in runs]
    assert [state["state"] for state in states] == ["TIMEOUT", "TIMEOUT", "SUCCEEDED", "SUCCEEDED"], states
    assert last["segment"] == {"number": 4, "of": 4, "skipped": "complete"}
    assert [_skipped(run) for run in runs] == [[], [], [], ["complete"]]
    assert [json.loads((run.path / "request.json").read_text())["parent"] for run in runs] == [
        None, runs[0].id, runs[1].id, runs[2].id
    ]  # fmt: skip
    assert (runs[0].path / "complete").read_text().strip() == runs[2].id
    assert not (runs[3].path / "metrics" / "rank-0.jsonl").exists()
    assert _curve(site, runs[0]) == [[step, 1 / step] for step in range(1, 31)]
    assert json_lines(runs[1].path / "metrics" / "rank-0.jsonl")[0]["step"] == 11
    told = json.loads(site.run("results", runs[1].id, "--json"))
    assert (told["run"], told["metrics"]["accuracy"], told["complete"]) == (runs[2].id, 0.5, True)
    shown = site.run("status", "--lang", "en").decode()
    assert "segment 2 of 4" in shown and "segment 4 of 4: training is already complete" in shown
    # scripts are the same for all segments and for a run without any
    scripts = {(run.path / "job.sh").read_bytes() for run in runs}
    assert scripts == {site.run("render")}


@pytest.mark.slow
def test_a_failed_segment_ends_the_chain(site: Site) -> None:
    _write(site, {2: 20, 1: 10}, "time.sleep(300) if segment == 1 else sys.exit(7)")
    runs = site.submit_all("--segments", "4")
    site.await_state(runs[3], "FAILED")
    states = [site.state(run) for run in runs]
    ends = [(state["state"], state["exit_code"]) for state in states]
    assert ends[1:] == [("FAILED", 7), ("FAILED", 76), ("FAILED", 76)]
    assert [_skipped(run) for run in runs] == [[], [], ["failed"], ["failed"]]
    assert runs[1].id in runs[2].log("job")
    site.run("results", runs[0].id, code=1)


@pytest.mark.slow
def test_stopped_by_the_stop_file_is_not_complete(site: Site) -> None:
    """Own code says nothing of `stopped`: it ended with 0, and the stop file was there."""
    wait = "[time.sleep(0.1) for _ in iter(lambda: os.path.exists(os.environ['HK_STOP']), True)]; sys.exit(0)"
    _write(site, {1: 10}, wait)
    answer = json.loads(site.run("submit", "--segments", "2", "--wait", "--json"))
    first = next((site.folder / "runs").glob("*/complete")).parent
    runs = [Run(path, "") for path in sorted((site.folder / "runs").iterdir())]
    assert runs[0].path == first
    assert (answer["run"], answer["segment"], answer["segments"], answer["complete"]) == (runs[1].id, 2, 2, True)
    assert _curve(site, runs[1]) == [[step, 1 / step] for step in range(1, 31)]


@pytest.mark.slow
def test_too_few_segments_are_told(site: Site) -> None:
    _write(site, {1: 10, 2: 20}, "time.sleep(300)")
    site.run("submit", "--segments", "2", "--wait", code=1)
    run = Run(max((site.folder / "runs").iterdir()), "")
    process = site.start("results", run.id, "--lang", "en")
    _, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 1
    assert "segment 2 of 2: training is not complete, and no segments are left" in stderr.decode()


@pytest.mark.slow
def test_cancel_takes_the_following_segments_along(site: Site) -> None:
    _write(site, {1: 10}, "open(os.path.join(run, 'here'), 'w').close(); time.sleep(300)")
    runs = site.submit_all("--segments", "3", "--walltime", "600s")  # it does not end before it is cancelled
    runs[0].written("here")
    site.run("cancel", runs[0].id)
    for run in runs:
        assert site.await_state(run, "CANCELLED", "SUCCEEDED", "FAILED")["state"] == "CANCELLED"
    assert not any((run.path / "claim").exists() for run in runs[1:])


def test_what_does_not_go_together_is_refused(site: Site) -> None:
    _write(site)
    site.run("submit", "--segments", "2", "--repeat", "2", code=2)
    process = site.start("scale", "--processes", "1,2", "--segments", "2", "--lang", "en")
    _, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 2
    assert "cannot have segments" in stderr.decode()
    assert not (site.folder / "runs").exists()


HOLD = '''
def hold(step):
    """Segment 1 is deaf until the walltime kills it, segment 2 waits for its stop file: on fast machines too."""
    run, segment = os.environ["HK_RUN"], os.environ["HK_SEGMENT"]
    if os.path.exists(os.path.join(run, "segment")) and step == {"1": 15, "2": 26}.get(segment):
        while segment == "1" or not os.path.exists(os.environ["HK_STOP"]):
            time.sleep(0.1)


'''


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(1200)
@pytest.mark.slurm
def test_the_recipe_cut_twice_equals_the_uncut_one_bit_for_bit(slurm: SlurmLab, tmp_path: Path) -> None:
    """torch-ddp in two processes on two nodes, cut in epochs 2 and 3; the first time it is killed by the walltime."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    backend = SlurmBackend(slurm)
    backend.trains = True
    site = Site(backend, tmp_path / "project")
    copy_recipe("torch-ddp", site.folder)
    program = site.folder / "train.py"
    text = program.read_text()
    stop = "            if stopped := should_stop():\n"
    for old, new in (
        ("Meter(every_steps=25, show=True)", "Meter(every_steps=1)"),
        (stop, f"            hold(passed)\n{stop}"),
        ("def main()", HOLD + "def main()"),
        ("import sys\n", "import os\nimport sys\nimport time\n"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    program.write_text(text)
    words = ["python", "train.py", "--epochs", "4", "--checkpoint-every", "1"]
    site.write_project(" ".join(words), launcher="srun", nodes=2, processes=2, walltime="1000s")
    site.write_profile(processes_per_node=1)
    try:
        whole = site.submit()
        took = site.await_state(whole, "SUCCEEDED", "FAILED", "TIMEOUT", seconds=280)
        assert took["state"] == "SUCCEEDED"
        # a walltime in which this machine, as busy as it is, can come to the step where it waits
        walltime = max(20, round(2 * (took["t_ended"] - took["t_started"])))
        runs = site.submit_all("--segments", "6", "--walltime", f"{walltime}s")
        last = site.await_state(runs[-1], "SUCCEEDED", "FAILED", "TIMEOUT", seconds=4 * walltime + 120)
        states = {run.id: site.state(run)["state"] for run in runs}
        assert last["segment"]["skipped"] == "complete", states
        assert states[runs[0].id] == "TIMEOUT"
        cut = json.loads(site.run("results", runs[0].id, "--json"))
        worked = [run for run in runs if not _skipped(run)]
        assert len(worked) >= 3
        assert cut["run"] == worked[-1].id
        uncut = json.loads(site.run("results", whole.id, "--json"))
        curve = _curve(site, whole)
        assert [step for step, _ in curve] == list(range(1, 45))
        assert _curve(site, runs[0]) == curve
        assert cut["metrics"]["accuracy"] == uncut["metrics"]["accuracy"] > 0.5
    finally:
        backend.stop()
