"""What launchers and loggers put before a line is understood and taken away; a program's own words stay."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hackathon.logs.prefixes import Prefixed, is_labelled, read_prefix

NOW = time.mktime((2026, 11, 21, 12, 0, 0, 0, 0, -1))
TEN = time.mktime((2026, 11, 21, 10, 0, 0, 0, 0, -1))
JUNE = time.mktime((2026, 6, 26, 6, 24, 44, 0, 0, -1))
THURSDAY = time.mktime((2026, 11, 19, 10, 0, 0, 0, 0, -1))

FORMS = {
    "[1,0]<stderr>:Traceback": Prefixed("Traceback", 0, stream="stderr", source="openmpi"),
    "[1,12]<stdout>: loss 3": Prefixed("loss 3", 12, stream="stdout", source="openmpi"),
    '[1,0]<stderr>:  File "x.py"': Prefixed('  File "x.py"', 0, stream="stderr", source="openmpi"),
    '[1,0]<stderr>:   File "x.py"': Prefixed('  File "x.py"', 0, stream="stderr", source="openmpi"),
    "[prterun-f5n18-100629@1,3]<stdout>: f5n17": Prefixed("f5n17", 3, stream="stdout", source="openmpi"),
    "[1,3][n2:77]<stderr>: x": Prefixed("x", 3, "n2", 77, None, "stderr", "openmpi"),
    "[1,3][unknown:unknown]<stderr>: x": Prefixed("x", 3, stream="stderr", source="openmpi"),
    "Thu Nov 19 10:00:00 2026[1,1]<stdout>:Hello": Prefixed("Hello", 1, "", None, THURSDAY, "stdout", "openmpi"),
    "[1]<stderr>:boom": Prefixed("boom", 1, stream="stderr", source="horovodrun"),
    "Thu Nov 19 10:00:00 2026[1]<stderr>:boom": Prefixed("boom", 1, "", None, THURSDAY, "stderr", "horovodrun"),
    "[rank1]: Traceback (most recent call last):": Prefixed(
        "Traceback (most recent call last):", 1, source="torchrun"
    ),
    '[rank1]:   File "x.py", line 3': Prefixed('  File "x.py", line 3', 1, source="torchrun"),
    "[default3]:step 4": Prefixed("step 4", 3, source="torchrun"),
    "[default3]:  indented": Prefixed("  indented", 3, source="torchrun"),
    "[cli_2]: aborting job:": Prefixed("aborting job:", 2, source="mpich"),
    "[1,0]<stderr>:[rank0]: Traceback": Prefixed("Traceback", 0, stream="stderr", source="openmpi"),
    "[default1]:[rank9]: Traceback": Prefixed("Traceback", 9, source="torchrun"),
    "12: [node1:4242] *** An error occurred in MPI_Allreduce": Prefixed(
        "*** An error occurred in MPI_Allreduce", 12, "node1", 4242, None, "", "srun"
    ),
    " 3: Traceback (most recent call last):": Prefixed("Traceback (most recent call last):", 3, source="srun"),
    "[2] Traceback (most recent call last):": Prefixed("Traceback (most recent call last):", 2, source="mpich"),
    "[0]:Traceback (most recent call last):": Prefixed("Traceback (most recent call last):", 0, source="mpich"),
    "[1]: Traceback (most recent call last):": Prefixed("Traceback (most recent call last):", 1, source="mpich"),
    "[0]:[1, 2, 3]": Prefixed("[0]:[1, 2, 3]"),
    "[0] MPI startup(): libfabric provider: tcp": Prefixed(
        "MPI startup(): libfabric provider: tcp", 0, source="mpich"
    ),
    "3: [rank3]:[E1121 10:00:00.500000000 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog": Prefixed(
        "ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog", 3, "", None, TEN + 0.5, "", "srun", "E"
    ),
    "[node1:12345] Some message": Prefixed("Some message", None, "node1", 12345, source="openmpi"),
    "[n1.cluster:12345:0:12347] Caught signal 11": Prefixed(
        "Caught signal 11", None, "n1.cluster", 12345, source="openmpi"
    ),
    "[10.0.0.7:12345] x": Prefixed("x", None, "10.0.0.7", 12345, source="openmpi"),
    "[1700000000.250000] [n1:345:0]    ib_mlx5.c:171  UCX  ERROR": Prefixed(
        "   ib_mlx5.c:171  UCX  ERROR", None, "n1", 345, 1700000000.25, "", "ucx"
    ),
    "ubun:2375340:2375341 [0] NCCL INFO Using network Socket": Prefixed(
        "NCCL INFO Using network Socket", None, "ubun", 2375340, None, "", "nccl"
    ),
    "ubun:23:41 [-1] init.cc:573 NCCL WARN Duplicate GPU": Prefixed(
        "init.cc:573 NCCL WARN Duplicate GPU", None, "ubun", 23, None, "", "nccl"
    ),
    "nmyjs-202-75:24499:24701 [0] INFO NET : Using interface eth0": Prefixed(
        "INFO NET : Using interface eth0", None, "nmyjs-202-75", 24499, None, "", "nccl"
    ),
    "[1,1]<stdout>:ce1a35ee222c:688:745 [1] NCCL INFO init.cc:916 -> 2": Prefixed(
        "NCCL INFO init.cc:916 -> 2", 1, "ce1a35ee222c", 688, None, "stdout", "openmpi"
    ),
    "[2026-11-21 10:00:00] n1:1:2 [0] a.cc:1 NCCL WARN x": Prefixed(
        "a.cc:1 NCCL WARN x", None, "n1", 1, TEN, "", "logging"
    ),
    "E1121 10:00:00.250000 1822062 ProcessGroupNCCL.cpp:528] [Rank 2] NCCL": Prefixed(
        "ProcessGroupNCCL.cpp:528] [Rank 2] NCCL", 2, "", 1822062, TEN + 0.25, "", "glog", "E"
    ),
    "[rank0]:[W1121 10:00:00.250000000 socket.cpp:12] [c10d] x": Prefixed(
        "socket.cpp:12] [c10d] x", 0, "", None, TEN + 0.25, "", "torchrun", "W"
    ),
    "W1121 10:00:00.250000 77 torch/distributed/run.py:793] x": Prefixed(
        "torch/distributed/run.py:793] x", None, "", 77, TEN + 0.25, "", "glog", "W"
    ),
    "I0000 00:00:1723456789.500000 99 cuda_executor.cc:10] x": Prefixed(
        "cuda_executor.cc:10] x", None, "", 99, 1723456789.5, "", "glog", "I"
    ),
    "2026-11-21 10:00:00,250 - train - ERROR - x": Prefixed(
        "train - ERROR - x", None, "", None, TEN + 0.25, "", "logging"
    ),
    "[2026-11-21 10:00:00,250][main][INFO] - x": Prefixed(
        "[main][INFO] - x", None, "", None, TEN + 0.25, "", "logging"
    ),
    "2026-11-21 10:00:00.250000: E tensorflow/x.cc:3] y": Prefixed(
        "E tensorflow/x.cc:3] y", None, "", None, TEN + 0.25, "", "logging"
    ),
    "[1,1]<stderr>:2026-11-21 10:00:00.250000: I tensorflow/a.cc:1] y": Prefixed(
        "I tensorflow/a.cc:1] y", 1, "", None, TEN + 0.25, "stderr", "openmpi"
    ),
    "[rank1]:[E626 06:24:44.250000000 ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog": Prefixed(
        "ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog", 1, "", None, JUNE + 0.25, "", "torchrun", "E"
    ),
    "(pid=909608) boom": Prefixed("boom", None, "", 909608, source="ray"),
    "(RayTrainWorker pid=1234, ip=10.0.0.3)   File": Prefixed("  File", None, "10.0.0.3", 1234, source="ray"),
    "\x1b[36m(RayTrainWorker pid=7, ip=10.0.0.3)\x1b[0m [rank1]: boom": Prefixed(
        "boom", 1, "10.0.0.3", 7, source="ray"
    ),
    "(raylet, ip=10.0.0.3) A worker died": Prefixed("A worker died", None, "10.0.0.3", source="ray"),
    "\x1b[31m[rank1]:\x1b[0m red": Prefixed("red", 1, source="torchrun"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), FORMS.items(), ids=list(FORMS))
def test_a_form_is_read(line: str, expected: Prefixed) -> None:
    found = read_prefix(line, NOW)
    if expected.time is not None:
        assert found.time == pytest.approx(expected.time, abs=1e-3)
        found = Prefixed(
            found.text, found.rank, found.host, found.pid, expected.time, found.stream, found.source, found.level
        )
    assert found == expected


@pytest.mark.parametrize(
    "line",
    [
        "", "plain words", "12: foo", "[3] foo", "  4: bar 5", "12:30 is lunch", "[epoch:100] loss 0.3",
        "[train.py:123] start", "[0, 1, 2]", "[1,2,3]", "[ERROR] x", "[12/100] eta", "loss: 3", "Epoch 3: 100%",
        "3: 4: 5", "0: (480x640) 4 persons", "Error at 2026", "20 files", "2026 was a year", "E1121 words",
        "user@host:22 [ok]", "[I] x", "a:1:2 [0] other words", "(see pid=3 now) x", "(pid) x",
        "   indented", "1,2,3,4", "[[12345,0],0] ORTE",
    ],
)  # fmt: skip
def test_a_programs_own_words_stay(line: str) -> None:
    assert read_prefix(line, NOW) == Prefixed(line)


def test_labels_are_believed_where_the_log_has_them() -> None:
    assert read_prefix(" 3: foo", labelled=True) == Prefixed("foo", 3, source="srun")
    assert read_prefix("[3] foo", labelled=True) == Prefixed("foo", 3, source="mpich")
    assert read_prefix("3: 4: foo", labelled=True) == Prefixed("4: foo", 3, source="srun")
    labelled = [f"{rank}: step {step}" for step in range(3) for rank in range(4)]
    assert is_labelled(labelled) and is_labelled(["[0] a", "[1] b", "[0] c", "[1] d"])
    assert not is_labelled(f"{number}: {text}" for number, text in enumerate(labelled))
    assert not is_labelled([]) and not is_labelled(["a", "b", "c", "1: d", "1: e"])


def test_stamps_with_zones_and_without_a_year() -> None:
    utc = datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()
    assert read_prefix("2026-11-21T10:00:00Z x").time == utc
    assert read_prefix("2026-11-21T19:00:00.5+09:00 x").time == utc + 0.5
    january = time.mktime((2027, 1, 1, 0, 10, 0, 0, 0, -1))
    december = time.mktime((2026, 12, 31, 23, 59, 0, 0, 0, -1))
    assert read_prefix("I1231 23:59:00.000000 1 a.cc:1] x", january).time == december
    assert read_prefix("2026-13-41 10:00:00 x").time is None


PIECES = st.sampled_from(
    [*FORMS, "[", "]", ": ", "[1,", "<stdout>:", "9" * 400, "[1] " * 5000, "E1399 99:99:99.9 1 a:1] ", "\x1b[", "٣: "]
)


@given(st.lists(PIECES | st.text(max_size=30), max_size=8).map("".join), st.booleans(), st.floats(0, 1e10))
@example("9999-99-99 99:99:99 x", True, 0.0)
@example("0000-01-01 00:00:00+99:99 x", True, 0.0)
@example("I0229 10:00:00.1 1 a.cc:1] x", False, 1.0e9)
def test_nothing_raises_and_the_text_is_the_lines_end(line: str, labelled: bool, now: float) -> None:
    found = read_prefix(line, now, labelled=labelled)
    if "\x1b" not in line:
        assert line.endswith(found.text)
        assert (found.source == "") == (found.text == line)


def test_hosts_before_lines_are_those_of_pdsh() -> None:
    """pdsh labels what the hosts print (`%S: `); DeepSpeed's own lines come without a label, with the time first."""
    launcher = [
        "[2026-05-01 10:00:00,123] [INFO] [runner.py:568:main] cmd = /opt/env/bin/python -u -m deepspeed.launcher"
    ]
    lines = [
        "node02: Traceback (most recent call last):",
        "node02:     x = f()",
        "node03: step 1 loss 2.3",
        "node03: KeyError: 3",
    ]
    assert is_labelled([*launcher * 9, *lines])
    read = read_prefix("node02: [rank3]: KeyError: 3", labelled=True)
    assert (read.host, read.rank, read.text) == ("node02", 3, "KeyError: 3")
    # srun --label counts the torchrun of each node
    assert read_prefix("0: [rank3]: KeyError: 3", labelled=True).rank == 3
    assert not is_labelled(["epoch1: loss 0.3", "epoch2: loss 0.2", "epoch3: loss 0.1"])
    assert not is_labelled(["train.py: starting", "RuntimeError: x", "loss: 3"])
    assert read_prefix("node02: a", labelled=False).host == ""


@pytest.mark.parametrize("label", ["[0]:", "[0]: ", "[0] "])
def test_the_frames_of_a_stack_keep_their_indentation_behind_a_label(label: str) -> None:
    lines = ["Traceback (most recent call last):", '  File "train.py", line 3, in main', "ValueError: no"]
    labelled = [label + line for line in lines * 3]
    assert is_labelled(labelled)
    assert [read_prefix(line, labelled=True).text for line in labelled] == lines * 3
