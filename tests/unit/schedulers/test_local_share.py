"""Parts of an allocation: no two jobs have a core or a GPU in common, and what a dead job had is free at once."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.logs.collapse import ranks_text
from hackathon.schedulers.dialect import Header
from hackathon.schedulers.local.commands import Local
from hackathon.schedulers.local.dialect import LocalDialect
from hackathon.schedulers.local.share import Part, UnitTicket, units
from hackathon.text.errors import RequestError
from support.local_machine import Machine, until

HEADER = Header(None, None, None, 1, 1, 1, 1, 0, 60)
CORES = sorted(os.sched_getaffinity(0))


@given(st.sets(st.integers(0, 300)))
def test_lists_of_cores_are_read_as_they_were_written(numbers: set[int]) -> None:
    assert units(ranks_text(sorted(numbers))) == [str(number) for number in sorted(numbers)]


@given(st.text(max_size=30))
def test_no_text_breaks_the_list(text: str) -> None:
    assert all(len(name) <= 80 and "/" not in name and ".." not in name for name in units(text))


@pytest.mark.parametrize("text", ["3-1", "0-999999", "../x", "a b", ",", "1,,2", "-1", "é"])
def test_what_is_no_list_has_no_units(text: str) -> None:
    assert units(text) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--cores=0-3", "--cores-each=5"], ["--cores=0-3", "--cores-each=0"], ["--cores=0", "--gpus-each=1"],
        [], ["--cores=0", "--cores=1"], ["--cores"], ["--nice=3"], ["--step-of=x; rm"], ["--cores=/etc"],
    ],
)  # fmt: skip
def test_a_part_that_cannot_be_is_refused(words: list[str]) -> None:
    with pytest.raises(RequestError):
        Part.of(words)


def test_a_dialect_says_what_the_command_reads() -> None:
    dialect = LocalDialect("0-3", 2, "0,1", 1)
    assert Part.of(dialect.command_options(HEADER)) == Part("0-3", 2, "0,1", 1)
    assert Part.of(LocalDialect(cores_each=2, step_of="17").command_options(HEADER)) == Part(
        "", 2, step_of="17"
    )  # fmt: skip
    assert LocalDialect().command_options(HEADER) == []


def test_nothing_is_given_twice_and_all_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "units"
    first, second, third = (UnitTicket(folder, Part("0-3", 2, "0-2", 1)) for _ in range(3))
    large = UnitTicket(folder, Part("0-3", 1, "0-2", 3))
    assert first.join() and first.start(1) and second.start(1)
    assert {*first.cores} | {*second.cores} == {"0", "1", "2", "3"} and {*first.gpus} & {*second.gpus} == set()
    assert not third.start(1) and not third.cores and not third.gpus, "it has nothing while it waits"
    first.leave()
    assert not large.start(1) and third.start(1), "who waited with nothing kept nobody from it"
    assert third.variables()["CUDA_VISIBLE_DEVICES"] == ",".join(third.gpus)
    assert "CUDA_VISIBLE_DEVICES" not in UnitTicket(folder, Part("0")).variables()


def test_a_step_is_left_to_slurm(tmp_path: Path) -> None:
    share = UnitTicket(tmp_path / "units", Part("", 4, "", 2, "17"))
    assert share.start(1) and not share.variables()
    words = share.argv(["bash", "script"], "hk-1", "/run")
    assert words[:3] == ["srun", "--jobid=17", "--exact"] and words[-2:] == ["bash", "script"]
    assert {"--cpus-per-task=4", "--gres=gpu:2", "--mem=0", "--chdir=/run"} <= set(words)
    assert "--gres=none" in UnitTicket(tmp_path, Part(cores_each=1, step_of="17")).argv([], "", "")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    for name, value in {"DIR": tmp_path / "local", "SLOTS_DIR": tmp_path / "slots", "SLOTS": 1, "GRACE": 0.3}.items():
        monkeypatch.setenv(f"HACKATHON_LOCAL_{name}", str(value))
    made = Machine(tmp_path)
    made.scheduler = Local(LocalDialect(ranks_text(CORES[:1]), 1, "GPU-a1,GPU-b2", 1))
    made.options = tuple(made.scheduler.dialect.command_options(HEADER))
    yield made
    made.close()


SAY = 'echo "$CUDA_VISIBLE_DEVICES $(taskset -cp $$ | grep -o "[0-9,-]*$")" >share; exec sleep 300'


def test_a_killed_job_frees_its_part_at_once(machine: Machine) -> None:
    first = machine.submit(SAY)
    share = machine.folder / "run-0" / "share"
    until(lambda: share.exists() and share.read_text().endswith("\n"), "the first job has its part")
    second = machine.submit(SAY)
    said = share.read_text().split()
    assert said == ["GPU-a1", str(CORES[0])]
    assert machine.state(second).state == "QUEUED"
    now = json.loads((machine.path(first) / "state.json").read_text())
    assert (now["cores"], now["gpus"]) == ([str(CORES[0])], ["GPU-a1"])
    os.kill(machine.supervisor(first), signal.SIGKILL)  # nobody says goodbye
    until((machine.folder / "run-1" / "share").exists, "the second job has the part of the first")
    assert machine.state(first).state == "NODE_FAILED" and machine.state(second).state == "RUNNING"
