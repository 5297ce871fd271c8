"""Which of many messages is called the cause: own small rules, composed logs, one decision each."""

from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.config.rule import Level, Part, Pattern, Rule
from hackathon.diagnosis import diagnose
from hackathon.diagnosis.findings import Finding


def rule(name: str, level: Level, text: str, part: Part = "framework", **more: object) -> Rule:
    return Rule(name, part, level, title=f"{name} on rank {{rank}}", patterns=[Pattern(text=text)], **more)  # type: ignore[arg-type]


MEMORY = rule("device-memory", "root", "CUDA out of memory", "gpu")
DISK = rule("disk-full", "root", "No space left on device", "filesystem")
PORT = rule("port-in-use", "root", "Address already in use", "rendezvous")
GUESS = rule("connect-failed", "likely", "failed to connect to the store", "rendezvous")
LIMIT = rule("time-limit", "root", "CANCELLED AT 2026 DUE TO TIME LIMIT", "scheduler")
KILLED = rule("oom-kill", "root", "Detected 1 oom-kill event", "scheduler")
PEER = rule("peer-lost", "secondary", "Connection closed by peer", "gloo")
CHILD = rule("child-failed", "secondary", "ChildFailedError", "rendezvous")
HARMLESS = rule("fork-warning", "benign", "os.fork() was called", "mpi")
NAN = rule("nan-loss", "root", "loss: nan", "numerics")
GENERIC = Rule("python-exception", "framework", "likely", title="{what}", fact="log:exception")
WATCHDOG = Rule(
    "watchdog", "nccl", "likely", title="a collective timed out",
    patterns=[Pattern(text="Watchdog caught collective operation timeout")],
)  # fmt: skip
HANG = Rule("hang-nccl", "nccl", "likely", title="rank {missing} never joined {operation}", fact="log:hang-nccl")
STALL = Rule(
    "hang-horovod", "horovod", "likely", title="rank {missing} is late with {operation}", fact="log:hang-horovod"
)
BARRIER = Rule("hang-gloo", "gloo", "likely", title="rank {missing} did not come", fact="log:hang-gloo")
RULES = [
    MEMORY, DISK, PORT, GUESS, LIMIT, KILLED, PEER, CHILD, HARMLESS, NAN, GENERIC, HANG, STALL, BARRIER,
    WATCHDOG,
    rule("stalled", "likely", "submitted to be reduced, gathered or broadcasted by subset of ranks", "horovod"),
    rule("barrier", "likely", "failed to pass monitoredBarrier", "gloo"),
]  # fmt: skip

LOST = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:2"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
STEP = "epoch 1 step 10 loss 0.31"


def traceback(exception: str, own: str = "train.py", line: int = 12) -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "/home/team/{own}", line {line}, in <module>\n    main()\n'
        '  File "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call\n    return f()\n'
        f"{exception}"
    )


def files(folder: Path, *ranks: str, **others: str) -> list[Path]:
    """Write `rank-<n>.log` of each text in turn, and files by name; return them all."""
    written = []
    for name, text in [*((f"rank-{number}.log", text) for number, text in enumerate(ranks)), *others.items()]:
        path = folder / (name if name.endswith(".log") else f"{name}.log")
        path.write_text(text + "\n", encoding="utf-8")
        written.append(path)
    return written


def root(found: list[Finding]) -> Finding:
    assert [each.level for each in found].count("root") == 1 and found[0].level == "root", found
    return found[0]


def only_secondary(found: list[Finding]) -> bool:
    return bool(found) and all(each.level == "secondary" for each in found)


@pytest.mark.parametrize("culprit", [0, 1, 2, 3])
def test_a_consequence_never_wins_on_whatever_rank(tmp_path: Path, culprit: int) -> None:
    texts = [STEP + "\n" + (traceback(OOM) if rank == culprit else traceback(LOST)) for rank in range(4)]
    found = diagnose(
        files(tmp_path, *texts, job="torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"), rules=RULES
    )
    cause = root(found)
    assert (cause.rule, cause.part) == ("device-memory", "gpu")
    assert cause.evidence is not None
    assert cause.evidence.rank == culprit and cause.evidence.file.endswith(f"rank-{culprit}.log")
    assert cause.message == f"device-memory on rank {culprit}"
    assert {each.rule for each in found[1:]} == {"peer-lost", "child-failed"}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("prefix", ["[rank{}]: ", "[1,{}]<stderr>:", "{}: ", ""])
def test_in_one_log_the_cause_may_stand_anywhere(tmp_path: Path, place: int, prefix: str) -> None:
    blocks = [(0, traceback(LOST)), (2, traceback(LOST))]
    blocks.insert(place, (1, traceback(OOM)))
    blocks.append((1, "ChildFailedError"))
    lines = [f"{prefix.format(rank)}{line}" for rank, text in blocks for line in text.splitlines()]
    cause = root(diagnose(files(tmp_path, out="\n".join(lines)), rules=RULES))
    assert cause.rule == "device-memory" and cause.evidence is not None
    assert cause.evidence.rank == (1 if prefix else None)
    assert "out of memory" in (tmp_path / "out.log").read_text().splitlines()[(cause.evidence.line or 0) - 1]


def test_only_consequences_have_no_cause_among_them(tmp_path: Path) -> None:
    assert only_secondary(diagnose(files(tmp_path, LOST, LOST), rules=RULES))


def test_nothing_known_is_nothing_and_harmless_is_not_a_finding(tmp_path: Path) -> None:
    assert diagnose(files(tmp_path, STEP, "os.fork() was called"), rules=RULES) == []


def test_the_last_exception_beats_a_warning_before_it(tmp_path: Path) -> None:
    text = f"[W1121 10:00:00.000000 socket.cpp:436] Address already in use\n{STEP}\n{traceback(OOM)}"
    assert root(diagnose(files(tmp_path, text), rules=RULES)).rule == "device-memory"


def test_a_message_after_which_the_program_went_on_is_no_match_for_an_unknown_exception(tmp_path: Path) -> None:
    steps = "\n".join(f"epoch 1 step {step} loss 0.{step}" for step in range(10, 20))
    text = f"could not write cache: No space left on device\n{steps}\n{traceback('KeyError: 7')}"
    found = diagnose(files(tmp_path, text), rules=RULES)
    assert root(found).rule == "python-exception"
    assert [each.rule for each in found] == ["python-exception", "disk-full"]
    # with nothing else to blame it is still the best guess
    assert root(diagnose(files(tmp_path, text.partition("Traceback")[0] + LOST), rules=RULES)).rule == "disk-full"


def test_an_error_before_the_exception_that_it_led_to_is_the_cause(tmp_path: Path) -> None:
    text = f"{STEP}\ncheckpoint: No space left on device\n{traceback(OOM)}"
    assert root(diagnose(files(tmp_path, text), rules=RULES)).rule == "disk-full"


def test_the_rank_without_a_consequence_before_it_is_the_first(tmp_path: Path) -> None:
    found = diagnose(files(tmp_path, f"{LOST}\nNo space left on device", traceback(OOM)), rules=RULES)
    assert root(found).rule == "device-memory"


def test_time_decides_between_ranks(tmp_path: Path) -> None:
    late = "2026-11-21 10:00:09,000 ERROR No space left on device"
    early = "2026-11-21 10:00:03,000 ERROR CUDA out of memory"
    assert root(diagnose(files(tmp_path, late, early), rules=RULES)).rule == "device-memory"
    assert root(diagnose(files(tmp_path, early, late), rules=RULES)).rule == "device-memory"


TORCHRUN = (
    "ChildFailedError:\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-21_10:00:00\n"
    "  host      : n1\n  rank      : 2 (local_rank: 2)\n  exitcode  : 1 (pid: 5)"
)
OPENMPI = (
    "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. "
    "The first process to do so was:\n\n  Process name: [[45071,1],2]\n  Exit code:    1"
)
HOROVODRUN = "thus causing the job to be terminated. The first process to do so was:\nProcess name: 2\nExit code: 1"
MPICH = "===   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 2 PID 9 RUNNING AT n1\n=   EXIT STATUS: 1"
SRUN = "srun: error: n1: task 2: Exited with exit code 1\nsrun: error: n1: task 0: Exited with exit code 1"


@pytest.mark.parametrize("summary", [TORCHRUN, OPENMPI, HOROVODRUN, MPICH, SRUN])
def test_a_launcher_says_who_failed_first(tmp_path: Path, summary: str) -> None:
    texts = [traceback(OOM), STEP, traceback("OSError: [Errno 28] No space left on device")]
    assert root(diagnose(files(tmp_path, *texts), rules=RULES)).rule == "device-memory"
    assert root(diagnose(files(tmp_path, *texts, job=summary), rules=RULES)).rule == "disk-full"


def test_what_follows_a_found_rule_is_not_the_cause(tmp_path: Path) -> None:
    mapped = rule("cannot-map", "root", "cannot map the file", "filesystem", follows=["disk-full"])
    other = rule("disk-full", "root", "No space left on device", "filesystem", follows=["cannot-map"])
    text = f"{traceback('RuntimeError: cannot map the file')}\nNo space left on device"
    assert root(diagnose(files(tmp_path, text), rules=[mapped, DISK])).rule == "disk-full"
    assert (
        root(diagnose(files(tmp_path, traceback("E: cannot map the file")), rules=[mapped, DISK])).rule == "cannot-map"
    )
    # two rules that name each other: none of them is believed
    assert root(diagnose(files(tmp_path, text), rules=[mapped, other])).rule == "cannot-map"


def test_the_time_limit_is_the_cause_unless_something_failed_before(tmp_path: Path) -> None:
    limit = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026 DUE TO TIME LIMIT ***"
    assert root(diagnose(files(tmp_path, STEP, STEP, job=limit), rules=RULES)).rule == "time-limit"
    assert root(diagnose(files(tmp_path, STEP, traceback(OOM), job=limit), rules=RULES)).rule == "device-memory"
    assert (
        root(diagnose(files(tmp_path, STEP, traceback("KeyError: 1"), job=limit), rules=RULES)).rule
        == "python-exception"
    )


def test_the_kernel_before_what_the_program_said(tmp_path: Path) -> None:
    texts = [traceback(LOST), traceback("OSError: [Errno 28] No space left on device")]
    event = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0."
    assert root(diagnose(files(tmp_path, *texts, job=event), rules=RULES)).rule == "oom-kill"


def test_a_loss_that_is_not_a_number_counts_although_training_went_on(tmp_path: Path) -> None:
    text = "\n".join(f"step {step} loss: nan" for step in range(20))
    assert root(diagnose(files(tmp_path, f"{text}\n{traceback(LOST)}"), rules=RULES)).rule == "nan-loss"


class TestException:
    """An exception that no rule knows."""

    def test_names_the_line_of_the_users_own_code(self, tmp_path: Path) -> None:
        found = root(diagnose(files(tmp_path, LOST, f"{STEP}\n{traceback('KeyError: 7', 'net.py', 33)}"), rules=RULES))
        assert found.message == "net.py:33: KeyError: 7"
        assert found.evidence is not None
        assert (found.evidence.rank, found.evidence.line, found.evidence.text) == (1, 7, "KeyError: 7")

    def test_loses_to_any_named_failure(self, tmp_path: Path) -> None:
        named = f"{STEP}\nfailed to connect to the store"
        assert root(diagnose(files(tmp_path, traceback("KeyError: 7"), named), rules=RULES)).rule == "connect-failed"

    def test_is_the_last_of_a_log_with_all_that_is_chained(self, tmp_path: Path) -> None:
        chained = (
            f"{traceback('KeyError: 7')}\n\nDuring handling of the above exception, another exception occurred:\n\n"
            f"{traceback('ValueError: bad batch', 'data.py', 5)}"
        )
        found = diagnose(files(tmp_path, f"{traceback('OSError: first')}\n{STEP}\n{chained}"), rules=RULES)
        assert [each.message for each in found] == ["data.py:5: ValueError: bad batch"]

    def test_known_somewhere_in_the_chain_is_known(self, tmp_path: Path) -> None:
        chained = (
            f"{traceback(OOM)}\n\nThe above exception was the direct cause of the following exception:\n\n"
            f"{traceback('RuntimeError: step failed')}"
        )
        assert [each.rule for each in diagnose(files(tmp_path, chained), rules=RULES)] == ["device-memory"]

    @pytest.mark.parametrize(
        ("words", "behind"),
        [
            ("Exited with exit code", SRUN),
            ("Primary job", f"{'-' * 74}\nPrimary job  terminated normally, but 1 process returned\n{'-' * 74}"),
            ("BAD TERMINATION", f"{'=' * 83}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
            ("MPI_Abort", "Abort(1) on node 2 (rank 2 in comm 0): application called MPI_Abort(comm=0x44, 1)"),
            (
                "failed (exitcode: 1)",
                "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 2762)",
            ),
            ("Uncaught exception on rank", f"\n{'*' * 42}\nChainerMN:\n   Uncaught exception on rank 1.\n{'*' * 42}"),
            ("remote peer", "n3:2200:2206 [3] misc/socket.cc:49 NCCL WARN socketProgress: closed by remote peer n4<5>"),
            (" Terminated ", "/var/spool/slurmd/job7/slurm_script: line 9: 24175 Terminated              python t.py"),
            ("強制終了", "/home/t/rank.sh: 行 59: 26648 強制終了            python t.py"),
            ("without an active exception", "terminate called without an active exception"),
        ],
    )
    def test_what_tells_of_the_end_behind_it_is_no_part_of_it(self, tmp_path: Path, words: str, behind: str) -> None:
        rules = [*RULES, rule("ended", "secondary", words, "scheduler")]
        found = diagnose(files(tmp_path, out=f"{traceback('ValueError: bad batch')}\n{behind}"), rules=rules)
        assert [each.rule for each in found] == ["python-exception", "ended"] and found[0].level == "root"

    def test_known_in_a_later_line_of_its_message_is_known(self, tmp_path: Path) -> None:
        text = traceback(
            "RuntimeError: the step failed\nsrun said nothing\n--- last error ---\nConnection closed by peer"
        )
        assert only_secondary(diagnose(files(tmp_path, out=f"{text}\n{SRUN}"), rules=RULES))

    @pytest.mark.parametrize(
        "name",
        [
            "KeyboardInterrupt",
            "SignalException: Process 7 got signal: 15",
            "lightning.pytorch.utilities.exceptions.SIGTERMException",
        ],
    )
    def test_of_somebody_who_ended_the_program_is_none(self, tmp_path: Path, name: str) -> None:
        assert diagnose(files(tmp_path, traceback(name)), rules=RULES) == []

    def test_prefers_a_rank_that_did_not_lose_a_connection(self, tmp_path: Path) -> None:
        texts = [traceback("BrokenPipeError: [Errno 32] Broken pipe"), traceback("KeyError: 7")]
        assert root(diagnose(files(tmp_path, *texts), rules=RULES)).message == "train.py:12: KeyError: 7"

    def test_caught_and_printed_is_no_end(self, tmp_path: Path) -> None:
        steps = "\n".join(f"epoch 1 step {step} loss 0.{step}" for step in range(10, 20))
        caught = f"{traceback(OOM)}\n{steps}"
        found = diagnose(files(tmp_path, caught, traceback("KeyError: 7")), rules=RULES)
        assert root(found).message == "train.py:12: KeyError: 7"
        # the second time it was not caught
        found = diagnose(files(tmp_path, f"{caught}\n{traceback(OOM)}", traceback("KeyError: 7")), rules=RULES)
        assert root(found).rule == "device-memory"
        # nor was it when it came without a traceback
        found = diagnose(files(tmp_path, f"{caught}\nterminate: {OOM}", traceback("KeyError: 7")), rules=RULES)
        assert root(found).rule == "device-memory"

    def test_many_occurrences_of_a_known_one_hide_no_last_one(self, tmp_path: Path) -> None:
        text = "\n".join(f"{traceback(LOST)}\n{STEP}" for _ in range(50))
        assert only_secondary(diagnose(files(tmp_path, f"{text}\n{traceback(LOST)}"), rules=RULES))


def watchdog(rank: int, number: int = 12, op: str = "ALLREDUCE", size: int = 4096, last: int | None = None) -> str:
    return (
        f"[rank{rank}]:[E1121 10:30:00.000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective"
        f" operation timeout: WorkNCCL(SeqNum={number}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=1)"
        " ran for 600020 milliseconds before timing out.\n"
        f"[rank{rank}]:[E1121 10:30:00.100000 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
        f" Exception (either an error or timeout) detected by watchdog at work: {number}, last enqueued NCCL work:"
        f" {number if last is None else last}, last completed NCCL work: {number - 1}."
    )


class TestHang:
    """The rank that never joined is named, not those that complain."""

    def missing(self, found: list[Finding]) -> tuple[str, tuple[int, ...], int | None]:
        cause = root(found)
        assert cause.evidence is not None
        return cause.rule, cause.ranks, cause.evidence.rank

    def test_the_rank_without_a_timeout(self, tmp_path: Path) -> None:
        texts = [watchdog(0), "epoch 2: waiting for the lock", watchdog(2), watchdog(3)]
        found = diagnose(files(tmp_path, *texts), rules=RULES)
        assert self.missing(found) == ("watchdog", (1,), 1)
        assert found[0].evidence is not None and found[0].evidence.text == "epoch 2: waiting for the lock"
        assert found[0].message == "a collective timed out; rank 1 never joined (ALLREDUCE #12)"

    def test_the_rank_that_enqueued_less(self, tmp_path: Path) -> None:
        texts = [watchdog(rank, last=11 if rank == 2 else 14) for rank in range(4)]
        assert self.missing(diagnose(files(tmp_path, *texts), rules=RULES)) == ("watchdog", (2,), 2)
        merged = diagnose(files(tmp_path, out="\n".join(texts)), rules=RULES)
        assert self.missing(merged) == ("watchdog", (2,), 2)

    def test_the_rank_in_another_collective(self, tmp_path: Path) -> None:
        texts = [watchdog(rank, op="BROADCAST" if rank == 3 else "ALLREDUCE") for rank in range(4)]
        assert self.missing(diagnose(files(tmp_path, *texts), rules=RULES)) == ("watchdog", (3,), 3)
        texts = [watchdog(rank, size=8192 if rank == 1 else 4096) for rank in range(4)]
        assert self.missing(diagnose(files(tmp_path, *texts), rules=RULES)) == ("watchdog", (1,), 1)

    def test_an_unknown_exception_of_the_rank_that_never_joined(self, tmp_path: Path) -> None:
        rules = [*(each for each in RULES if each is not WATCHDOG), replace(WATCHDOG, follows=["python-exception"])]
        failed = traceback("ValueError: bad batch")
        found = diagnose(files(tmp_path, watchdog(0), failed, watchdog(2)), rules=rules)
        assert self.missing(found) == ("python-exception", (1,), 1)
        assert [each.level for each in found] == ["root", "secondary"]
        found = diagnose(files(tmp_path, out=f"{failed}\n{watchdog(0)}\n{watchdog(2)}"), rules=rules)
        assert root(found).rule == "python-exception"

    @pytest.mark.parametrize(
        ("waiting", "other"),
        [
            (traceback("RuntimeError: the work was aborted"), STEP),  # because of the time-out before it
            (
                "During handling of the above exception, another exception occurred:\n\n"
                + traceback("ValueError: step failed"),
                STEP,
            ),
            ("", traceback("BrokenPipeError: [Errno 32] Broken pipe")),  # because others had ended
        ],
    )
    def test_an_exception_that_comes_from_the_time_out_is_not_its_cause(
        self, tmp_path: Path, waiting: str, other: str
    ) -> None:
        known = traceback("RuntimeError: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)")
        rules = [*(each for each in RULES if each is not WATCHDOG), replace(WATCHDOG, follows=["python-exception"])]
        found = diagnose(files(tmp_path, f"{known}\n\n{waiting}", other, watchdog(2)), rules=rules)
        assert root(found).rule == "watchdog" and "python-exception" in {each.rule for each in found}

    def test_nobody_when_all_are_equally_far(self, tmp_path: Path) -> None:
        found = root(diagnose(files(tmp_path, *(watchdog(rank) for rank in range(4))), rules=RULES))
        assert found.rule == "watchdog" and found.ranks == (0, 1, 2, 3) and "never joined" not in found.message

    def test_one_complaint_alone_accuses_nobody(self, tmp_path: Path) -> None:
        assert root(diagnose(files(tmp_path, out=watchdog(1)), rules=RULES)).ranks == (1,)

    def test_who_failed_before_is_the_cause(self, tmp_path: Path) -> None:
        texts = [watchdog(0), traceback(OOM), watchdog(2), watchdog(3)]
        assert self.missing(diagnose(files(tmp_path, *texts), rules=RULES)) == ("device-memory", (1,), 1)

    @pytest.mark.parametrize(
        "text",
        [
            "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
            "\t   - [0, 1, 3] joined but didn't finish collective #12 (count from 1)\n"
            "\t     [2] finished collective #11, but didn't join collective #12 (count from 1)",
            "\t - To our best knowledge, ranks [2] are the lagging ranks that caused this timeout. They never"
            " joined any collectives",
            "Not all ranks joined collective, sequence number: 12, internal record id: 11, group info: 0:default,"
            " collective: nccl:all_reduce, missing ranks: {2}, input sizes: [[4]]",
        ],
    )
    def test_pytorchs_own_reports(self, tmp_path: Path, text: str) -> None:
        found = diagnose(files(tmp_path, out=f"Watchdog caught collective operation timeout\n{text}"), rules=RULES)
        assert self.missing(found) == ("watchdog", (2,), 2)

    @pytest.mark.parametrize(
        "tail",
        [
            "Stalled ops:\nallreduce.fc.weight [missing ranks: 1]\nallreduce.fc.bias [missing ranks: 1]",
            "\nStalled ranks:\n1: [allreduce.fc.weight, allreduce.fc.bias ...]",
            "\nStalled ranks:\n0: [allreduce.extra]\n1: [allreduce.fc.weight]\n2: [allreduce.extra]",
        ],
    )
    def test_horovods_stall(self, tmp_path: Path, tail: str) -> None:
        head = "W One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are"
        found = diagnose(
            files(tmp_path, f"{head} waiting for remainder of ranks for more than 60 seconds. {tail}", STEP),
            rules=RULES,
        )
        assert self.missing(found) == ("stalled", (1,), 1)

    def test_the_monitored_barrier(self, tmp_path: Path) -> None:
        text = traceback("RuntimeError: Rank 2 failed to pass monitoredBarrier in 2000 ms")
        assert self.missing(diagnose(files(tmp_path, text, LOST, STEP), rules=RULES)) == ("barrier", (2,), 2)

    def test_has_a_rule_of_its_own_where_no_other_knows_the_words(self, tmp_path: Path) -> None:
        other = rule("timed-out", "likely", "Watchdog caught collective operation timeout", "framework")
        rules = [*(each for each in RULES if each.id != "watchdog"), other]
        found = diagnose(files(tmp_path, watchdog(0), STEP, watchdog(2)), rules=rules)
        assert self.missing(found) == ("hang-nccl", (1,), 1)
        assert found[0].message == "rank 1 never joined ALLREDUCE #12"
