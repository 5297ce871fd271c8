"""Which rank is named by the stacks that ranks left, and when none is: programs that compute are somewhere, too."""

import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.diagnosis import diagnose_run
from hackathon.runs.directory import RunDirectory

NOW = time.time()
TORCH = "/opt/lib/python3.11/site-packages/torch"
REDUCE = (f"{TORCH}/distributed/distributed_c10d.py:3252 all_reduce", f"{TORCH}/distributed/c10d_logger.py:83 wrapper")
BACKWARD = (f"{TORCH}/autograd/graph.py:865 _engine_run_backward", f"{TORCH}/_tensor.py:630 backward")
FORWARD = (f"{TORCH}/nn/modules/linear.py:125 forward",)
LOAD = "/work/source/data.py:7 load"


def frames(*places: str) -> str:
    """Return a stack as faulthandler writes it, the innermost call first."""
    lines = ["Current thread 0x00007f699fc07b80 (most recent call first):"]
    for place in places:
        where, function = place.split(" ")
        path, line = where.rsplit(":", 1)
        lines.append(f'  File "{path}", line {line} in {function}')
    return "\n".join(lines) + "\n"


def main(line: int) -> str:
    return f"/work/source/train.py:{line} main"


class Run:
    """A run whose job was ended from outside: its logs, and where its ranks were then."""

    def __init__(self, project: Path, processes: int, *, state: str = "TIMEOUT", quiet: float = 300) -> None:
        """`quiet`: seconds between the last line of the logs and the stacks."""
        self.path = project / "runs" / f"20261121-100000-demo-{processes}p-aaaaaaaa"
        for folder in ("client", "events", "logs", "stacks"):
            (self.path / folder).mkdir(parents=True)
        (project / "project.yaml").write_text("name: demo\ncommand: 'true'\n")
        self.quiet, self.processes = quiet, processes
        self.write("request.json", {"name": "demo", "processes": processes, "nodes": 1, "walltime": 900})
        self.write("client/created.json", {"t": NOW - 900})
        cause = {"TIMEOUT": "walltime", "CANCELLED": "cancelled", "FAILED": "exit", "SUCCEEDED": ""}[state]
        seal = {"state": state, "cause": cause, "attempt": 1, "job_id": "77", "t_ended": NOW, "hosts": ["n1"]}
        self.write("final.json", {**seal, "sealed": NOW})

    def write(self, name: str, value: object) -> None:
        (self.path / name).write_text(json.dumps(value), encoding="utf-8")

    def rank(self, rank: int, *stack: str, printed: int = 100, told: bool = True, code: int = 143) -> "Run":
        """Write a rank's log of so many lines, its stack, and how it ended."""
        log = self.path / "logs" / f"rank-{rank}.log"
        log.write_text("".join(f"step {n} loss {1 / (n + 1):.3f}\n" for n in range(printed)))
        os.utime(log, (NOW - self.quiet, NOW - self.quiet))
        if stack:
            path = self.path / "stacks" / f"rank-{rank}.txt"
            path.write_text("python 4711\n" + frames(main(99)) + "Thread 0x00007f699fc07b81:\n" + frames(*stack))
            os.utime(path, (NOW, NOW))
        events = [{"t": NOW - 800, "event": "started"}, *([{"t": NOW, "event": "told"}] if told else [])]
        events.append({"t": NOW, "event": "ended", "exit_code": code, "signal": None})
        lines = (json.dumps({**each, "attempt": 1, "host": "n1"}) + "\n" for each in events)
        (self.path / "events" / f"rank-{rank}.jsonl").write_text("".join(lines))
        return self

    def write_steps(self, rank: int, last: float, written: float, first: float = NOW - 700, steps: int = 5) -> None:
        """Write what a rank's recorder knows of its steps."""
        (self.path / "steps").mkdir(exist_ok=True)
        told = {"schema_version": 1, "steps": steps, "first_step": first, "last_step": last}
        self.write(f"steps/rank-{rank}.json", told)
        os.utime(self.path / f"steps/rank-{rank}.json", (written, written))

    def found(self) -> tuple[str, tuple[int, ...], str]:
        """Return (rule, ranks, place in the program) of what is said to be the cause."""
        root = diagnose_run(RunDirectory(self.path)).root
        return (root.rule, root.ranks, root.program) if root is not None else ("", (), "")


@pytest.mark.parametrize("state", ["TIMEOUT", "CANCELLED"])
def test_the_rank_that_others_waited_for_and_its_line_are_named(tmp_path: Path, state: str) -> None:
    run = Run(tmp_path, 4, state=state)
    for rank in (0, 1, 3):
        run.rank(rank, *REDUCE, main(15))
    run.rank(2, "/opt/lib/python3.11/ssl.py:1307 read", LOAD, main(12))
    assert run.found() == ("hang-stacks", (2,), "data.py:7")
    found = diagnose_run(RunDirectory(run.path)).root
    assert found is not None and found.evidence is not None
    assert (found.evidence.file, found.evidence.line) == ("stacks/rank-2.txt", 7)
    assert found.message.endswith("rank 2 was at data.py:7, in load, while the others waited in all_reduce")


def test_ranks_that_wait_in_two_lines_wait_for_each_other(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).rank(0, *REDUCE, main(15)).rank(1, *REDUCE, main(15))
    assert run.rank(2, *REDUCE, main(31)).found() == ("hang-apart", (2,), "train.py:31")
    found = diagnose_run(RunDirectory(run.path)).root
    assert found is not None and "rank 2 in all_reduce at train.py:31, the others in all_reduce at train.py:15" in (
        found.message
    )


def test_two_ranks_in_two_collectives_are_both_named(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *REDUCE, main(15)).rank(1, *BACKWARD, main(20))
    found = diagnose_run(RunDirectory(run.path)).root
    assert found is not None and found.rule == "hang-apart" and found.ranks == ()
    assert found.message.startswith("The ranks waited for each other in different places: ")
    assert "train.py:15" in found.message and "train.py:20" in found.message and "all_reduce" in found.message


def test_gradients_that_one_rank_never_hands_over(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *BACKWARD, main(20)).rank(1, LOAD, main(12))
    assert run.found() == ("hang-stacks", (1,), "data.py:7")


@pytest.mark.parametrize(
    ("last", "written", "raised", "rule"),
    [(-300, 0.1, True, "hang-stacks"), (-1, 0.1, True, "job-walltime"), (-300, -20, True, "hang-stacks"),
     (-300, -290, True, "job-walltime"), (-300, 0.1, False, "job-walltime")],
)  # fmt: skip
def test_a_rank_that_raises_since_another_was_ended_first(
    tmp_path: Path, last: float, written: float, raised: bool, rule: str
) -> None:
    """Signals reach nodes one after the other. What it had printed before is not known, but when its last step was.

    A rank may be killed before its recorder wrote once more; of the time since it wrote last nothing is known.
    """
    run = Run(tmp_path, 2).rank(0, *BACKWARD, main(20)).rank(1, LOAD, main(12))
    log = run.path / "logs" / "rank-0.log"
    lines = 'Traceback (most recent call last):\n  File "train.py", line 20, in main\nRuntimeError: Connection closed\n'
    with log.open("a") as stream:
        stream.write(lines if raised else "step 100 loss 0.009\n")
    os.utime(log, (NOW, NOW))
    for rank, printed in ((0, NOW), (1, NOW - 300)):
        events = run.path / "events" / f"rank-{rank}.jsonl"
        events.write_text(events.read_text().replace('"event": "told"', f'"event": "told", "printed": {printed}'))
    run.write_steps(0, NOW + last, NOW + written)
    assert run.found()[0] == rule


LOST = """Traceback (most recent call last):
  File "/work/source/train.py", line 20, in main
    loss.backward()
  File "{torch}/_tensor.py", line 630, in backward
    torch.autograd.backward(
  File "{torch}/autograd/graph.py", line 865, in _engine_run_backward
    return run_backward(
RuntimeError: [gloo/transport/tcp/pair.cc:553] {message}
"""


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize(
    ("message", "behind", "found"),
    [
        ("Connection closed by peer [10.0.0.2]:3968", "Terminated\n", ("hang-stacks", (1,), "data.py:7")),
        ("Connection closed by peer [10.0.0.2]:3968", "step 101 loss 0.1\nstep 102 loss 1\n", ("job-walltime", (), "")),
        ("size mismatch", "", ("job-walltime", (), "")),
    ],
)  # fmt: skip
def test_a_rank_on_its_way_out_had_waited(
    tmp_path: Path, message: str, behind: str, found: tuple[str, tuple[int, ...], str], left: bool
) -> None:
    """It raised since another one was ended first; its last stack is of what it did after that, if there is any."""
    out = ("/opt/lib/python3.11/weakref.py:666 _exitfunc",) if left else ()
    run = Run(tmp_path, 2).rank(0, *out).rank(1, LOAD, main(12))
    log = run.path / "logs" / "rank-0.log"
    with log.open("a") as stream:
        stream.write(LOST.format(torch=TORCH, message=message) + behind)
    os.utime(log, (NOW - 300, NOW - 300))
    assert run.found() == found


def test_the_line_of_an_exception_is_not_looked_for_among_the_stacks(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *REDUCE, main(15)).rank(1)
    log = run.path / "logs" / "rank-1.log"
    with log.open("a") as stream:
        stream.write(LOST.format(torch=TORCH, message="Connection closed by peer"))
    os.utime(log, (NOW - 300, NOW - 300))
    assert run.found() == ("hang-apart", (), "train.py:20")
    found = diagnose_run(RunDirectory(run.path)).root
    assert found is not None and found.evidence is not None
    assert found.evidence.file == "logs/rank-1.log" and "Connection closed" in found.evidence.text


@pytest.mark.parametrize(
    ("quiet", "first", "rule"), [(120, -300, "hang-stacks"), (20, -300, "job-walltime"), (120, None, "job-walltime")]
)
def test_a_long_start_is_no_pause_between_lines(tmp_path: Path, quiet: float, first: float | None, rule: str) -> None:
    """Ten lines in 680 s would be one in 68 s; but the first step ended 500 s after the start, so it is one in 18 s."""
    run = Run(tmp_path, 2, quiet=quiet).rank(0, *REDUCE, main(15), printed=10).rank(1, LOAD, main(12), printed=10)
    if first is not None:
        run.write_steps(0, NOW - quiet, NOW, first=NOW + first)
    assert run.found()[0] == rule


SLEEP = "/work/source/train.py:26 wait"


@pytest.mark.parametrize(
    ("last", "written", "first", "ranks", "rule"),
    [
        (20, 0, 50, (0, 1), "hang-stacks"),
        (8, 0, 50, (0, 1), "job-walltime"),  # a step may take a while
        (20, 18, 50, (0, 1), "job-walltime"),  # nothing is known of the last 18 s
        (20, 0, 800, (0, 1), "job-walltime"),  # a step takes eight seconds
        (20, 0, 50, (0,), "job-walltime"),  # rank 1 may have made steps
    ],
)  # fmt: skip
def test_in_a_short_run_the_recorders_show_that_no_step_was_made(
    tmp_path: Path, last: float, written: float, first: float, ranks: tuple[int, ...], rule: str
) -> None:
    """With a walltime of one minute nothing has been silent for long, and a rank that sleeps is the cause."""
    run = Run(tmp_path, 2, quiet=20).rank(0, *BACKWARD, main(20)).rank(1, SLEEP, main(31))
    for rank in ranks:
        run.write_steps(rank, NOW - last, NOW - written, first=NOW - first, steps=100)
    assert run.found()[0] == rule
    if rule == "hang-stacks":
        assert run.found() == (rule, (1,), "train.py:26")


def test_ranks_that_all_compute_are_no_hang_without_steps(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, quiet=20).rank(0, *FORWARD, main(20)).rank(1, *FORWARD, main(20))
    for rank in (0, 1):
        run.write_steps(rank, NOW - 20, NOW, first=NOW - 50, steps=100)
    assert run.found()[0] == "job-walltime"


def test_what_a_watchdog_names_gets_its_line(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, state="FAILED").rank(0, told=False, code=1).rank(1, LOAD, main(12))
    (run.path / "logs" / "rank-0.log").write_text(
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms"
        " for recv operation to complete\n"
    )
    rule, ranks, place = run.found()
    assert (ranks, place) == ((1,), "data.py:7") and rule.startswith(("gloo", "hang"))


@pytest.mark.parametrize("quiet", [0.5, 20.0, 60.0])
def test_a_program_that_computes_does_not_stand_still(tmp_path: Path, quiet: float) -> None:
    """100 lines in 800 s: two minutes without one would be long."""
    run = Run(tmp_path, 2, quiet=quiet if quiet < 30 else 28).rank(0, *BACKWARD, main(20)).rank(1, *FORWARD, main(19))
    assert run.found()[0] == "job-walltime"


def test_a_program_that_seldom_prints_does_not_stand_still(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, quiet=300)
    run.rank(0, *BACKWARD, main(20), printed=4).rank(1, *FORWARD, main(19), printed=4)
    assert run.found()[0] == "job-walltime"


def test_a_program_that_never_prints_is_only_told_of_where_it_waits_by_name(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *BACKWARD, main(20), printed=0).rank(1, *FORWARD, main(19), printed=0)
    assert run.found()[0] == "job-walltime"
    run.rank(0, *REDUCE, main(15), printed=0)
    assert run.found() == ("hang-stacks", (1,), "train.py:19")


def test_what_nothing_explains_points_at_the_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Run(tmp_path, 2, state="CANCELLED").rank(0, *BACKWARD, main(20), printed=0)
    run.rank(1, *FORWARD, main(19), printed=0)
    assert hackathon(["diagnose", "aaaaaaaa"]) == 0
    assert capsys.readouterr().out.endswith("when the job was ended: hackathon logs aaaaaaaa --stacks\n")
    with contextlib.chdir("/"):
        assert hackathon(["diagnose", str(run.path)]) == 0
    assert "logs aaaaaaaa" not in capsys.readouterr().out, "it would not be found from there"
    run.rank(0, *REDUCE, main(15), printed=0)
    assert hackathon(["diagnose", "aaaaaaaa"]) == 0
    assert "when the job was ended" not in capsys.readouterr().out, "the rank and its line are named"


@pytest.mark.parametrize("missing", [True, False])
def test_a_rank_without_a_stack_may_be_the_one(tmp_path: Path, missing: bool) -> None:
    run = Run(tmp_path, 3).rank(0, *REDUCE, main(15)).rank(1, LOAD, main(12)).rank(2)
    if not missing:
        (run.path / "stacks" / "rank-2.txt").write_text("python 4711\n")
    assert run.found()[0] == "job-walltime"


def test_where_the_most_do_something_else_nobody_waits(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).rank(0, *REDUCE, main(15)).rank(1, LOAD, main(12)).rank(2, LOAD, main(12))
    assert run.found()[0] == "job-walltime"


def test_a_rank_that_failed_by_itself_is_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, state="FAILED").rank(0, *REDUCE, main(15)).rank(2, LOAD, main(12))
    run.rank(1, *REDUCE, main(15), told=False, code=1)
    with (run.path / "logs" / "rank-1.log").open("a") as log:
        log.write(
            'Traceback (most recent call last):\n  File "/work/train.py", line 8, in main\n    f()\nKeyError: 7\n'
        )
    assert run.found()[:2] == ("exception-key", (1,))


JOIN = (f"{TORCH}/distributed/rendezvous.py:278 _env_rendezvous_handler",
        f"{TORCH}/distributed/distributed_c10d.py:1764 init_process_group")  # fmt: skip


@pytest.mark.parametrize("state", ["TIMEOUT", "CANCELLED"])
@pytest.mark.parametrize("missing", [True, False])
def test_ranks_that_never_met(tmp_path: Path, state: str, missing: bool) -> None:
    run = Run(tmp_path, 2, state=state).rank(0, *JOIN, main(4), printed=1)
    run.rank(1, *(() if missing else (*JOIN, main(4))), printed=1)
    assert run.found() == ("hang-meeting", (), "")
    (run.path / "source").mkdir()
    (run.path / "source" / "train.py").write_text(
        "import os, torch.distributed as dist\nos.environ['MASTER_PORT'] = '29511'\ndist.init_process_group('gloo')\n"
    )
    request = json.loads((run.path / "request.json").read_text())
    run.write("request.json", {**request, "nodes": 2, "command": ["python", "train.py"]})
    assert run.found() == ("program-own-address", (), "train.py:2")


def test_a_job_that_was_cancelled_while_its_ranks_began(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, state="CANCELLED").rank(0, *JOIN, main(4), printed=1).rank(1, *JOIN, main(4), printed=1)
    for rank in (0, 1):
        path = run.path / "events" / f"rank-{rank}.jsonl"
        path.write_text(path.read_text().replace(str(NOW - 800), str(NOW - 20)))
    assert run.found()[0] == "job-cancelled"


def test_a_rank_that_raised_before_it_joined_is_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *JOIN, main(4), printed=1).rank(1, told=False, code=1)
    with (run.path / "logs" / "rank-1.log").open("a") as log:
        log.write(
            'Traceback (most recent call last):\n  File "/work/train.py", line 2, in main\n    f()\nKeyError: 7\n'
        )
    assert run.found()[0] == "exception-key"


def test_a_run_that_succeeded_is_not_examined(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, state="SUCCEEDED").rank(0, *REDUCE, main(15)).rank(1, LOAD, main(12))
    assert run.found()[0] == ""


@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe\0\0" * 99, b"Current thread 0x1 (most recent call first):\n", b"x" * (1 << 20)]
)
def test_files_that_hold_no_stack(tmp_path: Path, text: bytes) -> None:
    run = Run(tmp_path, 2).rank(0, *REDUCE, main(15)).rank(1, LOAD, main(12))
    (run.path / "stacks" / "rank-1.txt").write_bytes(text)
    assert run.found()[0] == "job-walltime"


def test_the_lines_of_a_start_do_not_tell_how_long_an_epoch_lasts(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).rank(0, *BACKWARD, main(20)).rank(1, *FORWARD, main(19))
    for log in (run.path / "logs").iterdir():
        log.write_text("".join(f"shard {n} of 300\n" for n in range(300)) + "epoch 0\nepoch 1\n")
        os.utime(log, (NOW - 300, NOW - 300))
    assert run.found()[0] == "job-walltime"
