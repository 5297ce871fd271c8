"""`hackathon try` with small programs of all kinds: what it understood, and whether they are ready for a study."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.run.rehearsal_shown import show_json, show_rehearsal
from hackathon.jobs.resolve import Sources
from hackathon.rehearsal.rehearsal import RehearsalLimits, is_enough, note_end, steps_of
from hackathon.rehearsal.understood import understand
from hackathon.rehearsal.verdict import findings
from hackathon.runs.directory import RunDirectory
from hackathon.runs.states import RunStatus
from hackathon.schedulers.registry import load_cluster
from support.backends import Backend, LocalBackend, Site, SlurmBackend, until
from support.paths import TESTS
from support.patience import STRETCH
from support.recorded_run import RecordedRun

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
CURVES = TESTS / "recipes/own_code/curves"
STEPS = """
import os, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
for step in range({steps}):
    time.sleep(0.05)
    if rank == 0:
        print(f"step {{step}} loss {{2.0 / (step + 1):.3f}} {words}", flush=True)
{end}
"""
PROGRAMS: dict[str, dict[str, Any]] = {
    "endless": {"steps": 100_000, "words": "{100.0 * world:.1f} samples/s over all ranks", "end": ""},
    "short": {"steps": 8, "words": "{100.0 * world:.1f} samples/s", "end": "open('model.npz', 'w').write('weights')"},
    "wordless": {"steps": 8, "words": "pace {3.5 * world:.1f} things each second", "end": ""},
    "timed": {"steps": 8, "words": "time 0.05s", "end": "open('model.npz', 'w').write('weights')"},
    "crashing": {"steps": 3, "words": "{100.0 * world:.1f} samples/s", "end": "raise KeyError('no_such_key')"},
    "missing": {"steps": 3, "words": "", "end": "import no_such_package_at_all"},
}
"""Name → what its program prints and how it ends. They speak of no framework, so their text is not doubted."""


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    made = LocalBackend(tmp_path_factory.mktemp("try"))
    yield made
    made.stop()


def project(backend: Backend, folder: Path, program: str, **keys: Any) -> Site:
    site = Site(backend, folder, {"HACKATHON_LOCAL_SLOTS": "12"})
    site.write_project("python train.py", name=folder.name, **keys)
    values = json.loads((site.folder / "project.yaml").read_text())
    values.pop("processes")
    (site.folder / "project.yaml").write_text(json.dumps(values))
    (site.folder / "train.py").write_text(program)
    return site


def rehearse(site: Site, *words: str, code: int | None = None) -> dict[str, Any]:
    told = site.run("try", "--json", "--yes", "--launcher", "local", *words, code=code, seconds=240)
    found: dict[str, Any] = json.loads(told)
    return found


@pytest.fixture(scope="module")
def told(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Site, dict[str, Any]]]:
    """Program → its project and what `try --json` said; all at the same time."""
    folder, made = tmp_path_factory.mktemp("projects"), dict[str, tuple[Site, dict[str, Any]]]()

    def one(name: str) -> None:
        site = project(backend, folder / name, STEPS.format(**PROGRAMS[name]))
        made[name] = site, rehearse(site, "--processes", "1,2" if name in ("endless", "short") else "1")

    threads = [threading.Thread(target=one, args=(name,)) for name in PROGRAMS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(made) == set(PROGRAMS)
    return made


def rules(found: dict[str, Any]) -> dict[str, str]:
    """Return rule → severity of all findings."""
    return {each["rule"]: each["severity"] for file in found["files"] for each in file["findings"]}


def test_a_long_program_is_ended_after_enough_values_and_is_ready(told: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    _, found = told["endless"]
    assert found["ready"] is True, found
    assert [(run["processes"], run["ranks"], run["ended"]) for run in found["runs"]] == [
        (1, 1, "steps"), (2, 2, "steps"),
    ]  # fmt: skip
    rate = next(each for each in found["runs"][1]["metrics"] if each["name"] == "samples_per_s")
    assert (rate["value"], rate["file"], rate["line"], rate["by"]) == (200.0, "logs/rank-0.log", 1, "words")
    assert found["runs"][0]["seconds_per_step"] == {"value": None, "basis": "step_unknown"}
    assert [point["processes"] for point in found["study"]["points"]] == [1, 2, 4]
    assert "error" not in rules(found).values()


def test_a_short_program_ends_by_itself_and_its_files_are_named(told: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    _, found = told["short"]
    assert found["ready"] is True, found
    assert [run["state"] for run in found["runs"]] == ["SUCCEEDED", "SUCCEEDED"]
    assert found["runs"][0]["written"] == [{"path": "model.npz", "bytes": 7}]
    assert rules(found)["written-inside"] == "warning"


def test_a_program_without_a_known_rate_is_not_ready_and_gets_its_line(
    told: dict[str, tuple[Site, dict[str, Any]]],
) -> None:
    site, found = told["wordless"]
    assert found["ready"] is False and rules(found)["no-throughput"] == "error"
    text = site.run("try", "--yes", "--launcher", "local", "--processes", "1", code=1).decode()
    assert "\n\nno line of " in text  # and not beneath a finding about something else
    assert text.endswith("only its throughput is missing; see above how to print it\n")  # the program has no error
    site, found = told["timed"]
    assert rules(found)["no-throughput"] == "error"
    text = site.run("try", "--yes", "--launcher", "local", "--processes", "1", code=1).decode()
    assert "\nmetric: step_time\n" in text and "unit: 's/step'" in text


@pytest.mark.parametrize(
    ("name", "said", "line"), [("crashing", "no_such_key", 8), ("missing", "no_such_package_at_all", 8)]
)
def test_a_program_that_fails_is_told_its_cause_with_its_line(
    told: dict[str, tuple[Site, dict[str, Any]]], name: str, said: str, line: int
) -> None:
    _, found = told[name]
    assert found["ready"] is False
    causes = [(file["path"], each["line"]) for file in found["files"] for each in file["findings"]
              if each["severity"] == "error"]  # fmt: skip
    assert ("train.py", line) in causes, found["files"]
    assert any(said in json.dumps(file) for file in found["files"])


def test_a_long_program_whose_numbers_only_the_projects_patterns_know_is_ready(
    backend: Backend, tmp_path: Path
) -> None:
    program = (
        "import time\n"
        "for step in range(100_000):\n"
        "    time.sleep(0.05)\n"
        "    print(f'step {step} pace: 812.3', flush=True)\n"
    )
    metrics = {"samples_per_s": {"pattern": "pace: ([0-9.]+)", "skip_first": 2}}
    site = project(backend, tmp_path / "patterned", program, metrics=metrics)
    found = rehearse(site, "--processes", "1", code=0)
    assert found["ready"] is True and found["runs"][0]["ended"] == "steps", found
    (rate,) = found["runs"][0]["metrics"]
    assert (rate["name"], rate["value"], rate["by"]) == ("samples_per_s", 812.3, "pattern")


PACE = "pace: ([0-9.]+)"
SLOW = ".*pace: .* ([0-9.]+)"
"""An expression that may take long, so it is not looked for while the program runs."""


@pytest.mark.parametrize(
    ("pattern", "line", "count", "good"),
    [(PACE, "pace: 812.3", 5, True), (SLOW, "pace: now 812.3", 0, True), (PACE, "pace: ...", 0, False),
     (PACE, "nothing", 0, False)],
)  # fmt: skip
def test_values_of_own_patterns_are_counted_and_enough(
    tmp_path: Path, pattern: str, line: str, count: int, good: bool
) -> None:
    metrics = {"samples_per_s": {"pattern": pattern, "skip_first": 3}}
    made = RecordedRun(tmp_path / "run", 1, metrics=metrics)
    made.log(0, *[line] * 8)
    run = RunDirectory(made.path)
    assert steps_of(run) == count
    (run.path / "client").mkdir()
    note_end(run, "silent")
    seen = understand(run, RunStatus(run.id, "CANCELLED"))
    assert (seen.ended, seen.good) == ("silent", good)


@pytest.mark.parametrize("why", ["silent", "seconds"])
def test_a_run_that_was_ended_before_its_first_value_did_not_fail(tmp_path: Path, why: str) -> None:
    made = RecordedRun(tmp_path / "run", 1)
    made.log(0, "loading the model")
    run = RunDirectory(made.path)
    (run.path / "client").mkdir()
    note_end(run, why)
    (problem,) = findings([understand(run, RunStatus(run.id, "CANCELLED"))])
    assert problem.rule == "silent" and "--seconds" in problem.advice


STEP = [f"step {number} loss 0.5" for number in range(30)]
EPOCH = "epoch 1: 812.3 samples/s"


@pytest.mark.parametrize(
    ("keys", "lines", "early"),
    [
        ({}, STEP, ""), ({}, [*STEP, EPOCH], "steps"), ({}, [EPOCH, *STEP], "steps"),
        ({}, [f"{line} 812.3 samples/s" for line in STEP], "steps"),
        ({}, [*STEP, "epoch 1: 9.1 tokens/s"], "steps"),  # where no samples/s are told, a study takes tokens/s
        ({"metric": "pace", "metrics": {"pace": {"pattern": "pace: (.*)"}}}, [*STEP, EPOCH], ""),
        ({"metric": "pace", "metrics": {"pace": {"pattern": "pace: (.*)"}}}, [*STEP, "pace: 3"], "steps"),
        ({"metric": "loss"}, STEP, "steps"),
        # what may take long is not looked for while the program runs
        ({"metric": "pace", "metrics": {"pace": {"pattern": SLOW}}}, STEP, "steps"),
    ],
)  # fmt: skip
def test_a_run_goes_on_until_it_has_told_what_a_study_measures_it_by(
    tmp_path: Path, keys: dict[str, Any], lines: list[str], early: str
) -> None:
    made = RecordedRun(tmp_path / "run", 1, **keys)
    made.add("events/job.jsonl", {"t": 100.0, "event": "ranks_started"})
    made.log(0, *lines)
    run = RunDirectory(made.path)
    assert is_enough(run, RehearsalLimits(), 130.0) == early
    assert is_enough(run, RehearsalLimits(), 105.0) == "", "a run shows something for some seconds at least"
    assert is_enough(run, RehearsalLimits(), 161.0) == (early or "seconds"), "and no longer than it may"
    assert is_enough(run, RehearsalLimits(steps=1 << 30), 130.0) == "", "a recording has an end of its own"


@pytest.mark.parametrize(
    ("inside", "plain", "early"), [(0, 6, ""), (0, 20, "steps"), (6, 6, "steps")], ids=["too few", "apart", "together"]
)
def test_ranks_that_exchanged_nothing_so_far_are_watched_longer(
    tmp_path: Path, inside: int, plain: int, early: str
) -> None:
    made = RecordedRun(tmp_path / "run", 2)
    made.add("events/job.jsonl", {"t": 100.0, "event": "ranks_started"})
    made.log(0, *(f"step {step}: loss 0.{step}, 812.3 samples/s" for step in range(10, 40)))
    for rank in (0, 1):
        made.steps(rank, world=2, collectives=inside, inside=inside, plain=plain)
    run = RunDirectory(made.path)
    assert is_enough(run, RehearsalLimits(), 130.0) == early
    assert is_enough(run, RehearsalLimits(), 161.0) == (early or "seconds"), "no longer than it may"


def test_a_program_without_output_goes_on_until_the_recorder_has_timed_a_step(tmp_path: Path) -> None:
    made = RecordedRun(tmp_path / "run", 1)
    made.add("events/job.jsonl", {"t": 100.0, "event": "ranks_started"})
    made.steps(0, timed=0)
    path = made.path / "steps/rank-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "steps": 3, "blocks": []}))
    run = RunDirectory(made.path)
    assert steps_of(run) == 3
    assert is_enough(run, RehearsalLimits(), 161.0) == ""
    path.write_text(json.dumps({**json.loads(path.read_text()), "timed": {"steps": 1, "seconds": 9.0}}))
    assert is_enough(run, RehearsalLimits(), 161.0) == "seconds"
    assert is_enough(RunDirectory(made.path), RehearsalLimits(), 400.0) == "seconds", "and not for ever"


@pytest.mark.parametrize(
    ("wrote", "lines", "ended", "rule"),
    [
        (False, 30, "", "unrecorded-no-optimizer"), (False, 30, "steps", "unrecorded-no-optimizer"),
        (True, 30, "", "unrecorded-few"), (False, 3, "seconds", "unrecorded-few"),
    ],
)  # fmt: skip
def test_where_nothing_was_recorded_the_reason_is_told(
    tmp_path: Path, wrote: bool, lines: int, ended: str, rule: str
) -> None:
    made = RecordedRun(tmp_path / "run", 2)
    made.log(0, *(f"step {step}: loss 0.{step}, 812.3 samples/s total" for step in range(10, 10 + lines)))
    for rank in (0, 1) if wrote else ():
        made.steps(rank, timed=0)
        path = made.path / f"steps/rank-{rank}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "steps": 2, "blocks": []}))
    run = RunDirectory(made.path)
    if ended:
        (run.path / "client").mkdir()
        note_end(run, ended)
    problems = findings([understand(run, RunStatus(run.id, "CANCELLED" if ended else "SUCCEEDED"))])
    assert {problem.rule: problem.severity for problem in problems}.get(rule) == "warning"
    assert "2 processes" in next(problem.message for problem in problems if problem.rule == rule)


@pytest.mark.parametrize(("written", "value"), [("Infinity", None), ("-Infinity", None), ("NaN", None), (812.5, 812.5)])
def test_a_value_that_is_no_number_is_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: float | str, value: float | None
) -> None:
    made = RecordedRun(tmp_path / "run", 1)
    made.final(pace=written)
    (made.path / "client").mkdir()
    run = RunDirectory(made.path)
    show_json(Sources(load_cluster("laptop", [])), [], [understand(run, RunStatus(run.id, "SUCCEEDED"))], [], False)

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    (told,) = json.loads(capsys.readouterr().out, parse_constant=refuse)["runs"]
    assert [each["value"] for each in told["metrics"] if each["name"] == "pace"] == [value]


@pytest.mark.parametrize(("world", "same"), [(0, True), (2, False)])
def test_processes_of_one_group_that_exchange_nothing_may_share_their_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: int, same: bool
) -> None:
    made = RecordedRun(tmp_path / "run", 2)
    for rank in range(2):
        made.steps(rank, world=world, collectives=0)
    (made.path / "client").mkdir()
    run = RunDirectory(made.path)
    told = understand(run, RunStatus(run.id, "SUCCEEDED"))
    assert [doubt.id for doubt in told.doubts] == ["no-group"]
    show_rehearsal(Sources(load_cluster("laptop", [])), [], [told], [], False)
    assert ("the same on all ranks" in capsys.readouterr().out) is same


def test_its_runs_are_no_results(told: dict[str, tuple[Site, dict[str, Any]]]) -> None:
    site, found = told["endless"]
    assert site.run("results", code=2) == b""
    for run in found["runs"]:
        record = json.loads((site.folder / "runs" / run["run"] / "request.json").read_text())
        assert record["tags"] == ["try"] and record["walltime"] <= 300


@pytest.mark.torch
def test_a_program_that_joins_no_group_is_refused_before_it_runs(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "alone", (CURVES / "alone.py").read_text())
    found = rehearse(site, "--processes", "1,2", code=1)
    assert found["ready"] is False and found["runs"] == [] and rules(found)["no-process-group"] == "error"
    assert not list((site.folder / "runs").glob("2*"))


def test_the_same_command_goes_on_after_ctrl_c(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "again", STEPS.format(**PROGRAMS["endless"]))
    limits = ("--steps", "100000", "--seconds", "20")
    words = ("try", "--json", "--yes", "--launcher", "local", "--processes", "1", *limits)
    first = site.start(*words)
    until(lambda: list((site.folder / "runs").glob("2*/events/rank-0.jsonl")), "the run's beginning")
    first.send_signal(signal.SIGINT)
    assert b"stopped waiting" in first.communicate(timeout=STRETCH * 60)[1] and first.returncode == 130
    (made,) = (site.folder / "runs").glob("2*")
    found = json.loads(site.run(*words, code=0))
    assert [run["run"] for run in found["runs"]] == [made.name] and found["runs"][0]["ended"] == "seconds"
    # what was told is over: the next call is a new rehearsal, of the changed program
    (site.folder / "train.py").write_text(STEPS.format(**PROGRAMS["short"]))
    assert json.loads(site.run(*words, code=0))["runs"][0]["run"] != made.name


def test_nobody_at_a_terminal_must_confirm_where_it_costs(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "asked", STEPS.format(**PROGRAMS["short"]), cluster="miyabi-g", group="gz00")
    process = site.start("try")
    _, stderr = process.communicate(timeout=STRETCH * 60)
    assert process.returncode == 2 and b"--yes" in stderr and b"debug-g" in stderr, stderr
    assert not list((site.folder / "runs").glob("2*"))


def test_scale_suggests_it_the_first_time(backend: Backend, tmp_path: Path) -> None:
    site = project(backend, tmp_path / "first", STEPS.format(**PROGRAMS["short"]))
    words = ("scale", "--processes", "1", "--dry-run")
    told = [site.start(*words).communicate(timeout=STRETCH * 60)[1] for _ in range(2)]
    assert all(b"hackathon try" in each for each in told)
    rehearse(site, "--processes", "1", code=0)
    assert b"hackathon try" not in site.start(*words).communicate(timeout=STRETCH * 60)[1]


@pytest.mark.slurm
def test_on_slurm(slurm: Any, tmp_path: Path) -> None:
    made = SlurmBackend(slurm)
    site = project(made, tmp_path / "queued", STEPS.format(**PROGRAMS["endless"]))
    found = json.loads(site.run("try", "--json", "--yes", "--processes", "1,2", code=0, seconds=240))
    assert [(run["processes"], run["ended"], run["ranks"]) for run in found["runs"]] == [
        (1, "steps", 1),
        (2, "steps", 2),
    ]


TRAINED = """import torch
from torch.utils.data import DataLoader, TensorDataset

source = torch.Generator().manual_seed(5)
x = torch.randn(4096, 20, generator=source)
y = (x @ torch.randn(20, 10, generator=source) + 2 * torch.randn(4096, 10, generator=source)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1, 5):
    for features, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
"""


@pytest.mark.parametrize(
    ("old", "new", "outcomes"),
    [("", "", {"equal", "noise"}), ("lr=0.05", "lr=0.05 * WORLD_SIZE", {"differs"})],
    ids=["ported rightly", "learning rate scaled"],
)
def test_a_ported_program_is_compared_with_its_original(
    backend: Backend, tmp_path: Path, old: str, new: str, outcomes: set[str]
) -> None:
    site = project(backend, tmp_path / "ported", TRAINED)
    site.run("port", "train.py", "--write", code=None)
    ported = site.folder / "train.ported.py"
    assert old in ported.read_text()
    ported.write_text(ported.read_text().replace(old, new))
    settings = json.loads((site.folder / "project.yaml").read_text())
    (site.folder / "project.yaml").write_text(json.dumps({**settings, "command": "python train.ported.py"}))
    found = rehearse(site)
    comparison = found["comparison"]
    assert comparison["result"] in outcomes, comparison
    assert comparison["original"] == "train.py" and comparison["samples_per_step"] == [64, 64]
    assert found["ready"] is (comparison["result"] != "differs")
    assert ("ported-differs" in rules(found)) is (comparison["result"] == "differs")
    assert len(comparison["runs"]) == 2 and {run["run"] for run in found["runs"]}.isdisjoint(comparison["runs"])
