"""`hackathon diagnose` and its API on run directories, studies and files, with the shipped rules, in both languages."""

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import run as hackathon
from hackathon.diagnosis import diagnose, diagnose_run
from hackathon.diagnosis.cache import kept
from hackathon.diagnosis.examine import diagnose_files
from hackathon.diagnosis.show import cause_lines
from hackathon.runs.directory import RunDirectory
from hackathon.text.messages import speaking

NOW = time.time()
LOST = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:2"
KEY = 'Traceback (most recent call last):\n  File "/home/team/train.py", line 8, in <module>\n    f()\nKeyError: 7\n'
SHAPE = """Traceback (most recent call last):
  File "/home/team/train.py", line 8, in <module>
    y = net(x)
  File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)
"""
REFUSED = "sbatch: error: invalid partition specified: nosuch\nsbatch: error: Batch job submission failed"


@pytest.fixture(scope="module")
def checked_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checked rules are kept: checking them again for every test would take most of the time."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(own_home: Path, checked_rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(checked_rules))


class Run:
    """A run directory in a project, written as a job writes it."""

    def __init__(self, project: Path, name: str = "aaaaaaaa", state: str = "FAILED", **final: Any) -> None:
        self.path = project / "runs" / f"20261121-100000-demo-4p-{name}"
        for folder in ("client", "events", "logs", "metrics"):
            (self.path / folder).mkdir(parents=True)
        (project / "project.yaml").write_text("name: demo\ncommand: 'true'\n")
        request = {
            "name": "demo",
            "processes": 4,
            "nodes": 2,
            "walltime": 5400,
            "queue": "h-debug",
            "cluster": "laptop",
        }
        self.write("request.json", {**request, **final.pop("request", {})})
        self.write("client/created.json", {"t": NOW - 900})
        self.ended = NOW - 100
        if state:
            cause = {"FAILED": "exit", "TIMEOUT": "walltime", "OUT_OF_MEMORY": "memory", "CANCELLED": "cancelled"}
            seal = {"state": state, "cause": cause.get(state, ""), "attempt": 1, "job_id": "77", "t_ended": self.ended}
            self.write("final.json", {**seal, "hosts": ["n1", "n2"], "sealed": NOW, **final})

    @property
    def directory(self) -> RunDirectory:
        return RunDirectory(self.path)

    def write(self, name: str, value: Any) -> None:
        (self.path / name).write_text(json.dumps(value, indent=1), encoding="utf-8")

    def log(self, name: str, text: str) -> "Run":
        (self.path / "logs" / f"{name}.log").write_text(text + "\n", encoding="utf-8")
        return self

    def rank(self, rank: int, *events: str, code: int = 0, signal: int | None = None, at: float = 0.0) -> "Run":
        """Write a rank's events; `at`: seconds after the job's own end at which the last one is written."""
        lines = []
        for event in ("started", *events):
            moment = NOW - 800 if event == "started" else self.ended + at
            end: dict[str, Any] = {"exit_code": code, "signal": signal} if event == "ended" else {}
            end = {"signal": "TERM"} if event == "told" else end
            lines.append({"t": moment, "event": event, "attempt": 1, "host": f"n{1 + rank // 2}", **end})
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (self.path / "events" / f"rank-{rank}.jsonl").write_text(text)
        return self

    def steps(self, rank: int, last: int, step: int = 10) -> "Run":
        """Write metrics: a line each ten steps and seconds, the newest 400 s before the end."""
        numbers = range(step, last + 1, step)
        lines = [
            {"t": self.ended - 400 - (last - each), "attempt": 1, "step": each, "loss": 1 / each} for each in numbers
        ]
        (self.path / "metrics" / f"rank-{rank}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self


def root(run: Run) -> tuple[str, str, int | None]:
    found = diagnose([run.path])
    assert [each.level for each in found].count("root") == 1 and found[0].level == "root", found
    return found[0].rule, found[0].part, found[0].evidence.rank if found[0].evidence else None


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = hackathon(arguments)
    answer = capsys.readouterr()
    return code, answer.out, answer.err


@pytest.mark.parametrize(
    ("state", "rule", "part"),
    [
        ("TIMEOUT", "job-walltime", "scheduler"),
        ("OUT_OF_MEMORY", "job-out-of-memory", "scheduler"),
        ("NODE_FAILED", "job-node-failed", "hardware"),
        ("CANCELLED", "job-cancelled", "scheduler"),
    ],
)
def test_the_schedulers_word(tmp_path: Path, state: str, rule: str, part: str) -> None:
    run = Run(tmp_path, state=state).log("rank-0", LOST).log("rank-1", "step 10 loss 0.3")
    for rank in range(4):
        run.rank(rank, "told", "ended", code=143, signal=15)
    assert root(run) == (rule, part, None)


def test_numbers_of_the_run_are_filled_in_in_both_languages(tmp_path: Path) -> None:
    run = Run(tmp_path, state="TIMEOUT")
    for language, words in (("en", "at its walltime, 01:30:00"), ("ja", "上限 01:30:00 に達して")):
        with speaking(language):
            found = diagnose([run.path])[0]
        assert words in found.message and "{" not in found.message + found.advice + str(found.causes)
        assert any("4" in text and "01:30:00" in text for text, _ in found.causes)
    assert found.evidence is not None
    line = (run.path / "final.json").read_text().splitlines()[(found.evidence.line or 0) - 1]
    assert found.evidence.file == "final.json" and '"state": "TIMEOUT"' in line


def test_a_killed_rank_is_named_with_its_host(tmp_path: Path) -> None:
    run = Run(tmp_path, cause="signal", signal=9)
    for rank in (0, 1, 3):
        run.rank(rank, "ended", code=1, at=-5).log(f"rank-{rank}", LOST)
    run.rank(2, "ended", code=137, signal=9, at=-4).log("rank-2", "step 10 loss 0.3")
    assert root(run) == ("rank-killed", "hardware", 2)
    found = diagnose([run.path])[0]
    assert "Rank 2 on n2" in found.message and found.evidence is not None
    assert (found.evidence.file, found.evidence.line, found.evidence.host) == ("events/rank-2.jsonl", 2, "n2")
    run.log(
        "scheduler", "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=77.0. Some of your processes may have"
    )
    assert diagnose([run.path])[0].part in ("scheduler", "hardware") and diagnose([run.path])[0].rule != "rank-killed"


def test_of_a_kill_for_memory_the_rank_is_named(tmp_path: Path) -> None:
    run = (
        Run(tmp_path, state="OUT_OF_MEMORY").rank(0, "ended", code=1, at=-3).rank(3, "ended", code=137, signal=9, at=-4)
    )
    run.log("rank-0", LOST)
    assert root(run) == ("job-out-of-memory", "scheduler", 3)
    assert diagnose([run.path])[0].evidence.host == "n2"  # type: ignore[union-attr]


@pytest.mark.parametrize("last", [{"code": 137, "signal": 9}, None], ids=["killed", "no word of its end"])
@pytest.mark.parametrize(
    "text",
    [
        '/var/spool/script: line 243:  5842 Killed                  bash "$HK_RUN/rank.sh" "$HK_RUN" rank "$number"',
        '/var/spool/script: 243 行:  5842 強制終了            bash "$HK_RUN/rank.sh" "$HK_RUN" rank "$number"',
        "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).",
    ],
)
def test_a_rank_that_is_killed_after_the_failure_of_another_is_not_the_cause(
    tmp_path: Path, text: str, last: dict[str, int] | None
) -> None:
    run = Run(tmp_path).rank(0, "ended", code=1, at=-30).log("rank-0", KEY).log("job", text)
    if last:
        run.rank(1, "told", "ended", **last)
    else:
        run.rank(1, "told")
    assert root(run) == ("exception-key", "framework", 0)
    # one that nobody had told to end was killed by something else
    run.rank(2, "ended", code=137, signal=9)
    run.log("job", text.replace("process rank 1", "process rank 2"))
    assert root(run)[1] in ("hardware", "mpi")


def test_a_worker_that_is_killed_is_the_cause_although_its_rank_is_told_to_end_later(tmp_path: Path) -> None:
    worker = "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed."
    run = Run(tmp_path).rank(0, "ended", code=1, at=-30).log("rank-0", KEY)
    run.rank(1, "told", "ended", code=137, signal=9).log("rank-1", worker)
    assert root(run)[2] == 1


@pytest.mark.parametrize(
    ("signal", "rule"), [(11, "rank-segmentation-fault"), (7, "rank-bus-error"), (4, "rank-illegal-instruction")]
)
def test_a_crash_without_a_message(tmp_path: Path, signal: int, rule: str) -> None:
    run = Run(tmp_path).rank(0, "ended", code=1, at=1).rank(1, "ended", code=128 + signal, signal=signal)
    run.log("rank-0", LOST).log("rank-1", "step 10 loss 0.3")
    assert root(run)[0] == rule and root(run)[2] == 1
    run.log("rank-1", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    assert root(run)[1] == "gpu"  # with a message the message counts


def test_a_vanished_rank(tmp_path: Path) -> None:
    run = Run(tmp_path).rank(0, "told", "ended", code=143, signal=15).rank(1).log("rank-0", LOST)
    assert root(run) == ("rank-vanished", "hardware", 1)


@pytest.mark.parametrize(("code", "rule"), [(127, "command-not-found"), (126, "command-not-executable")])
def test_exit_codes_of_the_shell(tmp_path: Path, code: int, rule: str) -> None:
    assert root(Run(tmp_path).rank(1, "ended", code=code))[0] == rule
    other = Run(tmp_path / "other", exit_code=code)
    assert root(other)[0] == rule


def test_a_rank_that_failed_by_itself_before_the_walltime_is_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path, state="TIMEOUT").rank(0, "told", "ended", code=143, signal=15).log("rank-0", "step 10 loss 0.3")
    run.rank(1, "ended", code=1, at=-300).log("rank-1", KEY)
    assert root(run) == ("exception-key", "framework", 1)


@pytest.mark.parametrize("state", ["CANCELLED", "TIMEOUT"])
def test_an_exception_before_the_job_was_stopped_is_the_cause(tmp_path: Path, state: str) -> None:
    """The rank that raised went on waiting, for example in a thread; `try` or the scheduler ended the job."""
    run = Run(tmp_path, state=state)
    for rank in (0, 1):
        run.rank(rank, "told", "ended", code=143, signal=15)
    run.log("rank-0", "step 10 loss 0.3").log("rank-1", KEY)
    assert root(run)[::2] == ("exception-key", 1)


def test_a_stopped_job_without_an_exception_of_its_own_was_only_stopped(tmp_path: Path) -> None:
    run = Run(tmp_path, state="CANCELLED").rank(0, "told", "ended", code=143, signal=15)
    stopped = KEY.replace("KeyError: 7", "KeyboardInterrupt")
    run.log("rank-0", f"step 10 loss 0.3\n{stopped}")
    assert root(run)[0] == "job-cancelled"


def test_in_a_hang_the_rank_that_came_less_far_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path, state="TIMEOUT")
    for rank in range(4):
        run.rank(rank, "told", "ended", code=143, signal=15).steps(rank, 50 if rank == 2 else 100)
        run.log(f"rank-{rank}", f"rank {rank} works")
    assert root(run) == ("hang-ranks", "framework", 2)
    assert diagnose([run.path])[0].evidence.text == "rank 2 works"  # type: ignore[union-attr]
    # all equally far, or a line apart: the walltime
    run.steps(2, 90)
    assert root(run)[0] == "job-walltime"


def test_a_run_that_succeeded_has_no_cause_of_failure(tmp_path: Path) -> None:
    run = Run(tmp_path, state="SUCCEEDED").log("rank-0", "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB")
    run.log("rank-1", LOST)
    assert [each for each in diagnose([run.path]) if not each.rule.startswith("silent")] == []


def test_a_refused_submission(tmp_path: Path) -> None:
    run = Run(tmp_path, state="", request={"queue": "nosuch"})
    run.write("client/submitting.json", {"t": NOW - 10, "host": "elsewhere"})
    run.write(
        "client/refused.json", {"t": NOW - 9, "attempt": 1, "message": f"The scheduler refused the job: {REFUSED}"}
    )
    assert root(run)[1] == "scheduler"
    found = diagnose([run.path])
    assert found[0].evidence is not None and "nosuch" in found[0].message + found[0].evidence.text
    assert found[0].evidence.file == "client/refused.json"
    run.write("client/refused.json", {"t": NOW - 9, "attempt": 1, "message": "sbatch: error: Moon in the wrong phase"})
    assert root(run)[0] == "submission-refused" and "wrong phase" in diagnose([run.path])[0].message


def test_the_cause_is_kept_by_the_owner_once_the_run_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path).rank(1, "ended", code=1).log("rank-1", KEY)
    monkeypatch.chdir(tmp_path)
    assert kept(run.directory) is None
    code, out, _ = told(capsys, "status")
    assert code == 0 and "  framework or program: An entry is missing" in out and "train.py:8: KeyError: 7 (" in out
    found = kept(run.directory)
    assert found is not None and found == diagnose([run.path])[0]
    (run.path / "logs" / "rank-1.log").unlink()  # it is not looked for again
    code, out, _ = told(capsys, "status", "--json")
    assert json.loads(out)["runs"][0]["finding"]["message"].endswith("train.py:8: KeyError: 7")


def test_the_cause_of_a_team_mates_failure_is_found_and_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written into the run; a forged cause in it is not believed; a new seal is looked at again."""
    run = Run(tmp_path).rank(1, "ended", code=1).log("rank-1", KEY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "own"))
    (tmp_path / "own").mkdir(mode=0o700)
    assert told(capsys, "status")[0] == 0  # it is sealed by its owner
    (run.path / "client" / "diagnosis.json").unlink()
    monkeypatch.setattr(RunDirectory, "owned", lambda self: False)
    before = sorted((path, path.stat().st_mtime_ns) for path in run.path.rglob("*"))
    assert "train.py:8: KeyError: 7 (" in told(capsys, "status")[1]
    assert sorted((path, path.stat().st_mtime_ns) for path in run.path.rglob("*")) == before
    [note] = (tmp_path / "own" / "hackathon" / "causes").iterdir()
    assert note.stat().st_mode & 0o777 == 0o600
    with monkeypatch.context() as patch:
        patch.setattr("hackathon.cli.run.diagnose.cause_of", lambda *words: pytest.fail("it is not looked for again"))
        assert "train.py:8: KeyError: 7 (" in told(capsys, "status")[1]
        run.write("client/diagnosis.json", {"en": {"rule": "x", "message": "Paste this: rm -rf ~"}})
        assert "KeyError: 7 (" in told(capsys, "status")[1]
    run.write("client/diagnosis.json", {})
    final = json.loads((run.path / "final.json").read_text())
    run.write("final.json", {**final, "attempt": 2})
    (run.path / "logs" / "rank-1.log").write_text("ModuleNotFoundError: No module named 'horovod'\n")
    assert "horovod" in told(capsys, "status")[1]
    note.write_text("[")
    note.parent.chmod(0o755)  # no longer private: it is neither read nor written
    assert "horovod" in told(capsys, "status")[1]


@pytest.mark.slow
def test_what_cannot_be_remembered_is_looked_at_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` diagnoses many new failures at a time, but few of those that it would diagnose again each time."""
    from hackathon.cli.run import diagnose as command
    from hackathon.cli.run.causes import DEAR_ONES, causes
    from hackathon.diagnosis import cache
    from hackathon.runs.status import status

    calls: list[str] = []

    def counted(run: RunDirectory, *rest: Any) -> Any:
        calls.append(run.id)
        return original(run, *rest)

    original = command.cause_of
    monkeypatch.setattr(command, "cause_of", counted)

    def asked(runs: list[Run]) -> int:
        calls.clear()
        places = [run.directory for run in runs]
        found = causes(places, status(places, ask=False))
        assert len(calls) == len(set(calls)) and set(calls) <= set(found)
        return len(calls)

    failed = [Run(tmp_path, letter * 8).rank(1, "ended", code=1).log("rank-1", KEY) for letter in "abcdef"]
    assert asked(failed) == 6 > DEAR_ONES and asked(failed) == 0
    lost = [Run(tmp_path, letter * 8, "LOST").log("rank-1", KEY) for letter in "gh"]
    assert asked(lost) == 0
    with monkeypatch.context() as patch:
        patch.setattr(cache.RunDirectory, "write_client", lambda *words: (_ for _ in ()).throw(OSError(28, "full")))
        full = [Run(tmp_path, letter * 8).rank(1, "ended", code=1).log("rank-1", KEY) for letter in "ijklm"]
        assert asked(full) == asked(full) == DEAR_ONES
    assert asked(full) == 5
    large = [Run(tmp_path, letter * 8).rank(1, "ended", code=1).log("rank-1", KEY) for letter in "nopqr"]
    for run in large:
        (run.path / "logs" / "attempt_0" / "1").mkdir(parents=True)
        with (run.path / "logs" / "attempt_0" / "1" / "stderr.log").open("wb") as stream:
            stream.truncate(17 << 20)
    assert [asked(large), asked(large)] == [DEAR_ONES, 2]


def test_the_line_of_the_own_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path).rank(1, "ended", code=1).log("rank-0", LOST).log("rank-1", SHAPE)
    monkeypatch.chdir(tmp_path)
    _, out, _ = told(capsys, "diagnose")
    assert "  in your program: train.py:8\n" in out
    assert next(line for line in out.splitlines() if line.startswith("Follow-on error: gloo: ")).endswith("rank 0)")
    _, out, _ = told(capsys, "status")
    assert "framework or program: Tensors whose shapes do not fit" in out
    _, out, _ = told(capsys, "--lang", "ja", "status")  # it was kept in English
    assert "形の合わないテンソルが" in out
    found = kept(run.directory)
    assert found is not None and found.program == "train.py:8"
    value = run.directory.client("diagnosis")
    run.write("client/diagnosis.json", {"en": {**value["en"], "program": "x; rm -rf ~"}})
    found = kept(run.directory)
    assert found is not None and found.program == ""


def test_broken_records_break_no_diagnosis(tmp_path: Path) -> None:
    run = Run(tmp_path).log("rank-0", KEY)
    (run.path / "request.json").write_text("[1]")
    (run.path / "events" / "rank-0.jsonl").write_text('{"t":')
    (run.path / "metrics" / "rank-0.jsonl").write_text("\x00\xff")
    run.write("client/diagnosis.json", {"en": {"rule": 1}})
    (run.path / "logs" / "rank-1.log").write_bytes(b"\xff\xfe\x00" * 1000)
    assert [each.rule for each in diagnose([run.path])] == ["exception-key"]
    assert kept(run.directory) is None
    assert diagnose_run(run.directory).run == run.path.name


class TestCommand:
    """What a user sees."""

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.chdir(tmp_path)
        self.folder, self.capsys = tmp_path, capsys

    def test_without_a_name_the_newest_run_with_the_cause_last(self) -> None:
        Run(self.folder, "aaaaaaaa").log("rank-0", "nothing of interest")
        Run(self.folder, "bbbbbbbb").rank(1, "ended", code=1).log("rank-0", LOST).log("rank-1", KEY)
        code, out, _ = told(self.capsys, "diagnose")
        lines = out.splitlines()
        assert code == 0 and lines[0].endswith("demo-4p-bbbbbbbb  FAILED")
        cause = next(
            number
            for number, line in enumerate(lines)
            if line.startswith("Probable cause: framework or program: An entry")
        )
        consequence = next(number for number, line in enumerate(lines) if line.startswith("Follow-on error: gloo"))
        assert consequence < cause
        rest = "\n".join(lines[cause:])
        assert "where: logs/rank-1.log:4, rank 1" in rest and "why:" in rest and "fix:" in rest

    def test_in_japanese(self) -> None:
        Run(self.folder).rank(2, "ended", code=137, signal=9)
        code, out, _ = told(self.capsys, "--lang", "ja", "diagnose")
        assert code == 0 and "原因: ハードウェア: ランク 2（n2）が外から強制終了されました" in out and "対処: " in out

    def test_json_has_the_cause_first(self) -> None:
        Run(self.folder).rank(1, "ended", code=1).log("rank-0", LOST).log("rank-1", KEY)
        code, out, _ = told(self.capsys, "diagnose", "aaaaaaaa", "--json")
        value = json.loads(out)
        assert code == 0 and value["state"] == "FAILED" and value["run"].endswith("aaaaaaaa")
        first = value["findings"][0]
        assert {name: first[name] for name in ("rule", "part", "level", "message")} == {
            "rule": "exception-key",
            "part": "framework",
            "level": "root",
            "message": "An entry is missing in a dictionary, table or configuration: train.py:8: KeyError: 7",
        }
        place = {"file": "logs/rank-1.log", "line": 4, "text": "KeyError: 7", "rank": 1, "host": "n1"}
        assert first["evidence"] == place and first["advice"]
        assert value["findings"][1]["level"] == "secondary"

    def test_files_are_the_logs_of_one_job_and_standard_input_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (self.folder / "rank-0.log").write_text(LOST)
        (self.folder / "rank-1.log").write_text(KEY)
        code, out, _ = told(self.capsys, "diagnose", "rank-0.log", "rank-1.log", "--json")
        findings = json.loads(out)["findings"]
        assert code == 0 and [each["evidence"]["rank"] for each in findings] == [1, 0]
        assert findings[0]["evidence"]["file"] == "rank-1.log"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"[rank3]: {LOST}\n".encode() + KEY.encode())))
        code, out, _ = told(self.capsys, "diagnose", "-", "--json")
        value = json.loads(out)
        assert code == 0 and value["run"] is None
        first = value["findings"][0]
        assert (first["rule"], first["evidence"]["file"]) == ("exception-key", "-")
        code, out, _ = told(self.capsys, "diagnose", ".", "--json")
        assert [each["evidence"]["rank"] for each in json.loads(out)["findings"]] == [1, 0]

    def test_nothing_recognised_is_an_empty_list_and_shows_what_to_read(self) -> None:
        (self.folder / "well.log").write_text("epoch 1 loss 0.3\nepoch 2 loss 0.2\n")
        code, out, _ = told(self.capsys, "diagnose", "well.log", "--json")
        assert code == 0 and json.loads(out)["findings"] == [] == json.loads(out)["unknown"]
        steps = "".join(f"epoch {number} loss 0.3\n" for number in range(300))
        (self.folder / "odd.log").write_text(f"{steps}the flux capacitor is empty\nFATAL ERROR: stop 42\n")
        code, out, _ = told(self.capsys, "diagnose", "odd.log", "--json")
        (event,) = json.loads(out)["findings"]
        assert code == 0 and event["rule"] == "first-event" and event["message"] == "FATAL ERROR: stop 42"
        assert any("flux capacitor" in each["text"] for each in json.loads(out)["unknown"])
        code, out, _ = told(self.capsys, "diagnose", "odd.log")
        assert code == 0 and "flux capacitor" in out and "odd.log:301" in out and "--bundle" in out
        assert "Cause not known; this happened first: FATAL ERROR: stop 42" in out and "Cause:" not in out

    def test_what_holds_nothing_is_said_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (self.folder / "empty.log").touch()
        (self.folder / "folder").mkdir()
        code, out, err = told(self.capsys, "diagnose", "empty.log", "folder", "--json")
        assert code == 0 and json.loads(out)["findings"] == []
        assert "empty.log is empty" in err and "folder folder contains no logs" in err
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        code, out, err = told(self.capsys, "diagnose", "-")
        assert code == 0 and "standard input was empty" in err
        code, out, err = told(self.capsys, "diagnose", "folder/rank-0.log")
        assert code == 2 and "file folder/rank-0.log does not exist" in err

    def test_a_project_stands_for_its_runs(self) -> None:
        Run(self.folder, "aaaaaaaa").log("rank-0", KEY)
        Run(self.folder, "bbbbbbbb").log("rank-0", "ModuleNotFoundError: No module named 'chainermn'")
        for target in (".", "runs", str(self.folder)):
            code, out, _ = told(self.capsys, "diagnose", target, "--json")
            causes = {(each["run"][-8:], each["rule"]) for each in json.loads(out)["findings"]}
            assert code == 0, target
            assert causes == {("aaaaaaaa", "exception-key"), ("bbbbbbbb", "env-module-missing")}

    def test_of_an_unknown_failure_the_log_of_the_first_rank_is_shown_and_not_our_own_lines(self) -> None:
        ended = {"exit_code": 3, "first_rank": 1, "first_host": "n1", "first_exit_code": 3}
        run = Run(self.folder, **ended).rank(0).rank(1, "ended", code=3).log("rank-1", "the flux capacitor is empty")
        begun = "hackathon: demo: job 77, attempt 1, on n1, 2 node(s), 4 process(es)"
        run.log("job", f"{begun}\nPrimary job  terminated normally, but 1 process returned\nhackathon: ended with 3")
        code, out, _ = told(self.capsys, "diagnose", "--json")
        unknown = [each["text"] for each in json.loads(out)["unknown"]]
        assert code == 0 and "the flux capacitor is empty" in unknown
        _, out, _ = told(self.capsys, "diagnose")
        assert out.splitlines()[0].endswith("demo-4p-aaaaaaaa  FAILED  rank 1 on n1 failed first, exit code 3")
        assert not any(text.startswith("hackathon:") for text in unknown)

    def test_a_loss_that_never_was_a_number_has_no_gaps_in_its_title(self) -> None:
        run = Run(self.folder).rank(0, "ended", code=1)
        run.log("rank-0", "Loss is nan, stopping training\nFloatingPointError: Loss is nan, stopping training")
        _, out, _ = told(self.capsys, "diagnose")
        assert "The loss of rank 0 became NaN and stayed so\n" in out
        run.log("rank-0", "".join(f"step {n}: loss={0.5 if n < 3 else 'nan'}\n" for n in range(9)))
        _, out, _ = told(self.capsys, "diagnose")
        assert "The loss of rank 0 became NaN and stayed so (before: 0.5)" in out
        _, out, _ = told(self.capsys, "--lang", "ja", "diagnose")
        assert "ランク 0 の損失が NaN になり、そのまま戻りませんでした（直前の値: 0.5）" in out

    def test_a_rank_that_is_not_there_is_told_with_those_that_are(self) -> None:
        Run(self.folder).log("rank-0", "hello").log("rank-1", "hello")
        code, out, err = told(self.capsys, "logs", "--rank", "5-6")
        assert (code, out) == (0, "") and "no output from rank 5-6; ranks with a log: 0-1" in err

    def test_what_is_harmless_is_told_apart(self) -> None:
        text = 'A process has executed an operation involving a call to the\n"fork()" system call to create a child.'
        (self.folder / "out.log").write_text(f"{text}\n")
        code, out, _ = told(self.capsys, "diagnose", "out.log", "--json")
        value = json.loads(out)
        assert code == 0 and value["findings"] == [] and [each["level"] for each in value["harmless"]] == ["benign"]

    def test_a_name_that_is_nothing_is_a_wrong_request(self) -> None:
        Run(self.folder)
        code, _, err = told(self.capsys, "diagnose", "no-such-thing")
        assert code == 2 and "no-such-thing" in err

    def test_what_can_not_be_looked_at_is_a_wrong_request(self) -> None:
        for name in ("x" * 300, "y" * 300 + "/rank-0.log"):
            code, _, err = told(self.capsys, "diagnose", name)
            assert code == 2 and "cannot be read: File name too long" in err
        code, _, err = told(self.capsys, "rules", "add", "--here", "user", "--from", "x" * 300 + ":3")
        assert code == 2 and "File name too long" in err
        code, _, err = told(self.capsys, "logs", "y" * 300 + "/run")
        assert code == 2 and "there is no run" in err

    def test_a_study_tells_of_its_failed_runs(self) -> None:
        study = self.folder / "studies" / "20261121-095959-demo-ssssssss"
        (study / "points").mkdir(parents=True)
        points = [{"processes": 4, "repeat": number} for number in (1, 2, 3)]
        (study / "study.json").write_text(json.dumps({"points": points, "schema_version": 1}))
        for number, (name, state) in enumerate(
            [("aaaaaaaa", "FAILED"), ("bbbbbbbb", "SUCCEEDED"), ("cccccccc", "TIMEOUT")]
        ):
            about = {"study": {"id": study.name, "processes": 4, "repeat": number + 1}}
            run = Run(self.folder, name, state, request=about)
            (study / "points" / f"4-{number + 1}").write_text(f"{run.path.name}\n{{}}\n")
            run.log("rank-0", KEY if state == "FAILED" else "step 10 loss 0.3")
        for target in ([], ["ssssssss"], [str(study)]):
            code, out, _ = told(self.capsys, "diagnose", *target, "--json")
            causes = {
                (each["run"][-8:], each["rule"]) for each in json.loads(out)["findings"] if each["level"] == "root"
            }
            assert code == 0 and causes == {("aaaaaaaa", "exception-key"), ("cccccccc", "job-walltime")}

    def test_a_broken_rule_file_is_told_and_does_no_harm(self) -> None:
        Run(self.folder).log("rank-0", KEY)
        (self.folder / "templates" / "rules").mkdir(parents=True)
        (self.folder / "templates" / "rules" / "bad.yaml").write_text("rules: 7\n")
        code, out, err = told(self.capsys, "diagnose")
        assert code == 0 and "train.py:8" in out and "bad.yaml" in err

    def test_a_rule_of_the_project_counts_at_once(self) -> None:
        Run(self.folder).log("rank-0", "the flux capacitor is empty\n" + LOST)
        (self.folder / "templates" / "rules").mkdir(parents=True)
        (self.folder / "templates" / "rules" / "own.yaml").write_text(
            "rules:\n  - {id: flux, part: hardware, level: root, title: no flux, patterns: [{text: flux capacitor}]}\n"
        )
        code, out, err = told(self.capsys, "diagnose", "--json")
        assert code == 0 and json.loads(out)["findings"][0]["rule"] == "flux", err


def test_a_count_that_is_not_complete_says_so(tmp_path: Path) -> None:
    """Two wordings of one rule, each so frequent that not every line is verified."""
    log = tmp_path / "job.log"
    lines = [
        f"OSError: [Errno 28] No space left on device: 'x{i}'" if i % 2 else f"デバイスに空き領域がありません {i}"
        for i in range(4000)
    ]
    log.write_text("\n".join(lines) + "\n")
    root = diagnose_files([log]).root
    assert root is not None and root.at_least and root.count < 4000
    assert f"at least {root.count} times" in "\n".join(line for line, _ in cause_lines(root))
    log.write_text("\n".join(lines[1::2]) + "\n")
    root = diagnose_files([log]).root
    assert root is not None and (root.count, root.at_least) == (2000, False)


@pytest.mark.parametrize(
    ("exception", "certainty", "heading"),
    [
        # words of an exception tell what it is about, not why
        (
            "ValueError: bad shape of batch, lengths differ",
            "unknown",
            "Cause not known; this happened first: t.py:3: ValueError",
        ),
        (
            "ValueError: batch must be divisible by 4",
            "likely",
            "Probable cause: framework or program: t.py:3: ValueError",
        ),
        ("RuntimeError: INTERNAL ASSERT FAILED, shapes must match", "unknown", "Cause not known; this happened first"),
        ("FooError: pear", "unknown", "Cause not known; this happened first: t.py:3: FooError: pear"),
        ("KeyError: 'pear'", "likely", "Probable cause: framework or program: An entry is missing"),
        ("OSError: [Errno 28] No space left on device", "certain", "Cause: file system: "),
    ],
)
def test_how_sure_a_cause_is(tmp_path: Path, exception: str, certainty: str, heading: str) -> None:
    log = tmp_path / "job.log"
    log.write_text(f'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    f()\n{exception}\n')
    root = diagnose_files([log]).root
    assert root is not None and root.certainty == certainty == root.to_json()["certainty"]
    assert next(cause_lines(root))[0].startswith(heading)
