"""Programs of other frameworks train alike with and without the recorder, which counts their steps: for real."""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from support.paths import TESTS
from support.ports import free_port
from support.stacks import BUILDING, frameworks, stack, stack_environ

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(BUILDING)]

PROGRAMS = Path(__file__).parent / "own_code" / "losses"


class Case(NamedTuple):
    """A program and what is true of it."""

    stack: str
    processes: int
    world: int
    losses: int
    work: int
    """Samples of a step of one process."""
    steps: int = 80


CASES = {
    "lightning": Case("own-code", 2, 2, 40, 16, 40),
    "accelerate": Case("own-code", 2, 2, 80, 16, 40),
    "keras": Case("tensorflow-multiworker", 1, 0, 80, 16),
    "chainer": Case("chainermn-mnist", 1, 0, 80, 16),
    "horovod": Case("horovod-torch", 1, 1, 80, 16),
}


def losses(case: Case, program: Path, folder: Path, recorder: bool) -> list[list[str]]:
    """Return the losses that each process printed."""
    own = case.stack == "own-code"
    python = (frameworks() if own else stack(case.stack)) / "bin" / "python"
    active = dict(os.environ) if own else stack_environ(case.stack)
    if (python.parent / "orted").exists():  # this Open MPI was built for another folder
        active |= {"OPAL_PREFIX": str(python.parent.parent), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    port = str(free_port())
    started = []
    for rank in range(case.processes):
        group = {
            "RANK": str(rank), "WORLD_SIZE": str(case.processes), "LOCAL_RANK": "0", "NODE_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
        }  # fmt: skip
        words = [TESTS / "support" / "with_recorder.py", folder / f"rank-{rank}.json"] if recorder else []
        environ = {**active, "OMP_NUM_THREADS": "1", **(group if case.processes > 1 else {})}
        started.append(
            subprocess.Popen(
                [str(python), *map(str, words), str(program)],
                env=environ,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    printed = []
    for process in started:
        printed.append(process.communicate()[0])
        if process.returncode:  # the others would wait for it for half an hour
            for other in started:
                other.kill()
    assert [process.returncode for process in started] == [0] * case.processes, "\n".join(printed)
    return [[line for line in text.splitlines() if line.startswith("loss ")] for text in printed]


@pytest.mark.parametrize("name", CASES)
def test_losses_are_equal_to_the_bit_and_steps_are_counted(tmp_path: Path, name: str) -> None:
    case, program = CASES[name], PROGRAMS / f"{name}_losses.py"
    recorded = losses(case, program, tmp_path, True)
    assert [len(curve) for curve in recorded] == [case.losses] * case.processes
    assert recorded == losses(case, program, tmp_path, False)
    for rank in range(case.processes):
        record = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert (record["steps"], record["group"]["world"]) == (case.steps, case.world)
        assert {tuple(work[:3]) for work in record["work"]} == {(case.work, 0, True)}
