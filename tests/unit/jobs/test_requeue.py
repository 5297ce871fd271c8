"""`requeue`: the option of each scheduler, where it is refused, and what a second start of a job finds and leaves."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hackathon.cli.main import run
from support.recorded_run import RecordedRun, T

Answer = Callable[..., tuple[int, str, str]]
SCHEDULERS = {
    "slurm": ("SBATCH", "--requeue", "--no-requeue", ""),
    "pbs": ("PBS", "-r y", "-r n", ""),
    "gridengine": ("$", "-r y", "-r n", "dialect: {pe: whole, slots_per_node: 4}\n"),
    "pjm": ("PJM", "--restart", "--norestart", ""),
    "nqsv": ("PBS", "-r y", "-r n", "dialect: {topology: openmpi}\n"),
}
PROGRAM = """
import os, sys
place = os.path.join(os.environ["HK_CHECKPOINTS"], "step")
first = int(open(place).read()) if os.path.exists(place) else 0
print("attempt", os.environ["HK_ATTEMPT"], "part", os.environ["HK_SEGMENT"], "begins behind step", first)
print("speed", 100 if first else 1)
with open(place, "w") as stream:
    stream.write(str(first + 5))
sys.exit(0 if first else 9)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    clusters = folder / "templates" / "clusters"
    clusters.mkdir(parents=True)
    for name, (_, _, _, dialect) in SCHEDULERS.items():
        (clusters / f"my-{name}.yaml").write_text(
            f"name: my-{name}\nscheduler: {name}\n{dialect}node: {{cores: 4}}\nprocesses_per_node: 1\n"
            "queues: {batch: {}}\n"
        )
    (folder / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    write(folder)
    return folder


def write(folder: Path, *lines: str) -> None:
    text = "name: work\ncommand: python3 train.py\nlauncher: local\nprocesses: 1\nwalltime: 10m\n"
    (folder / "project.yaml").write_text("\n".join([text, *lines, ""]))


@pytest.fixture
def hackathon(place: Path, capsys: pytest.CaptureFixture[str]) -> Answer:
    def call(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return call


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_header_has_the_option_that_was_requested_and_none_otherwise(
    place: Path, hackathon: Answer, scheduler: str
) -> None:
    sign, again, never, _ = SCHEDULERS[scheduler]

    def options(*words: str) -> list[str]:
        code, script, error = hackathon("render", "--cluster", f"my-{scheduler}", *words)
        assert code == 0, error
        lines = [line.removeprefix(f"#{sign} ") for line in script.splitlines() if line.startswith(f"#{sign} ")]
        return [line for line in lines if line in (again, never)]

    assert options() == []
    assert options("--requeue") == [again]
    write(place, "requeue: true")
    assert options() == [again]
    assert options("--no-requeue") == [never]
    write(place, "requeue: false")
    assert options() == [never]


@pytest.mark.parametrize("cluster", ["laptop", "kubernetes"])
def test_a_scheduler_without_the_option_is_told(hackathon: Answer, cluster: str) -> None:
    code, _, error = hackathon("render", "--cluster", cluster, "--requeue")
    assert code == 2 and "cannot be started again" in error and "--segments" in error
    assert "cannot be started again" not in hackathon("render", "--cluster", cluster, "--no-requeue")[2]
    assert "cannot be started again" in hackathon("check", "--cluster", cluster, "--requeue")[2]


def test_a_file_for_several_clusters_works_on_this_machine(place: Path, hackathon: Answer) -> None:
    write(place, "requeue: true")
    assert hackathon("render", "--cluster", "laptop")[0] == 0
    assert hackathon("render", "--cluster", "kubernetes")[0] == 2  # its jobs are killed as well, and end for good


def test_directives_that_say_the_opposite_are_refused(place: Path, hackathon: Answer) -> None:
    write(place, "requeue: true", "directives: ['-r  n']")
    code, _, error = hackathon("check", "--cluster", "my-pbs")
    assert code == 2 and "-r n" in error and "requeue: true" in error
    write(place, "requeue: false", "directives: ['-r n']")
    assert hackathon("check", "--cluster", "my-pbs")[0] == 0


def test_an_interactive_job_has_no_such_option(place: Path, hackathon: Answer) -> None:
    write(place, "requeue: true")
    code, command, _ = hackathon("shell", "--cluster", "my-slurm", "--dry-run")
    assert code == 0 and "salloc" in command and "requeue" not in command


def start(folder: Path, nodes: Path) -> int:
    """Run the script as PBS does, once more under the same id, and return its exit code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HK_", "SLURM_"))}
    environment |= {"PBS_JOBID": "7.server", "PBS_NODEFILE": str(nodes), "PBS_O_WORKDIR": str(folder)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(["bash", "job.sh"], cwd=folder, env=environment, capture_output=True, timeout=120)
    return done.returncode


def test_a_second_start_goes_on_and_each_attempt_has_its_own_logs(place: Path, hackathon: Answer) -> None:
    write(place, "requeue: true", "metric: speed", "metrics: {speed: {pattern: 'speed (\\d+)'}}")
    nodes = place / "nodes"
    nodes.write_text(f"{os.uname().nodename}\n")
    assert hackathon("render", "--cluster", "my-pbs", "--to", "by-hand")[0] == 0
    folder = place / "by-hand"
    assert start(folder, nodes) == 9
    (job,) = (folder / "jobs").iterdir()
    assert not list(job.glob("logs/attempt-*"))
    assert start(folder, nodes) == 0
    assert list((folder / "jobs").iterdir()) == [job]  # the claim is the job's own

    def log(name: str) -> str:
        return (job / "logs" / name).read_text()

    assert "attempt 1 part 1 begins behind step 0" in log("attempt-1/rank-0.log")
    assert "attempt 2 part 2 begins behind step 5" in log("rank-0.log")
    assert "attempt 1" not in log("rank-0.log") and "attempt 1," in log("attempt-1/job.log")
    assert f"newest checkpoint: {job}/checkpoints/step" in log("job.log")
    events = [json.loads(line) for line in (job / "events" / "job.jsonl").read_text().splitlines()]
    ends = [(event["attempt"], event.get("exit_code")) for event in events if event["event"] in ("started", "ended")]
    assert ends == [(1, None), (1, 9), (2, None), (2, 0)]

    name = str(job)
    code, answer, error = hackathon("results", name, "--json", "--no-ask")
    assert json.loads(answer)["metrics"]["speed"] == 100, error  # not a mean of both attempts
    assert "attempt 2 part 2" in hackathon("logs", name)[1]
    assert "attempt 1 part 1" in hackathon("logs", name, "--attempt", "1")[1]
    assert hackathon("logs", name, "--attempt", "2")[1] == hackathon("logs", name)[1]
    code, _, error = hackathon("logs", name, "--attempt", "3")
    assert code == 2 and "1, 2" in error


def test_diagnosis_reads_the_newest_attempt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The failure of an attempt that the scheduler started again is not that of the run."""
    recorded = RecordedRun(tmp_path / "runs" / "20261121-124946-digits-2p-zqjw4anf", 1)
    (recorded.path / "final.json").write_text(
        json.dumps({"state": "FAILED", "cause": "exit", "attempt": 2, "exit_code": 1})
    )
    earlier = recorded.path / "logs" / "attempt-1"
    earlier.mkdir()
    (earlier / "rank-0.log").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    (recorded.path / "logs" / "rank-0.log").write_text("ModuleNotFoundError: No module named 'horovod'\n")
    recorded.add("events/rank-0.jsonl", {"t": T + 9, "event": "started", "attempt": 2, "host": "n1", "rank": 0})

    def rules() -> set[str]:
        run(["diagnose", str(recorded.path), "--json"])
        return {finding["rule"] for finding in json.loads(capsys.readouterr().out)["findings"]}

    newest = rules()
    assert newest
    (earlier / "rank-0.log").replace(recorded.path / "logs" / "rank-0.log")
    assert rules().isdisjoint(newest)  # what the other log says is a finding where it is the newest attempt's


def test_a_second_start_without_a_checkpoint_is_told(place: Path, hackathon: Answer) -> None:
    (place / "train.py").write_text("import sys; sys.exit(9)\n")
    write(place, "requeue: true")
    nodes = place / "nodes"
    nodes.write_text(f"{os.uname().nodename}\n")
    assert hackathon("render", "--cluster", "my-pbs", "--to", "by-hand")[0] == 0
    folder = place / "by-hand"
    assert start(folder, nodes) == 9 and start(folder, nodes) == 9
    (job,) = (folder / "jobs").iterdir()
    assert "begins again" in (job / "logs" / "job.log").read_text()
