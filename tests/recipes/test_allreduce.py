"""The recipe allreduce: bandwidths by hand-computed numbers, the fit finds what made the times, results are checked."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hackathon.config import load
from support.paths import RECIPES
from support.patience import STRETCH
from support.recipes import copy_recipe
from support.warm import with_torch

RECIPE = RECIPES / "allreduce"
SMALL = ("--min-size", "1000", "--max-size", "64KiB", "--split", "16KiB", "--warmup", "1", "--iterations", "3")
COLLECTIVES = ["all-reduce", "all-gather", "reduce-scatter", "broadcast"]
pytestmark = pytest.mark.timeout(200)
torch = pytest.mark.torch
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")


def _model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("allreduce_model", RECIPE / "model.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


model = _model()


class Place:
    """A copy of the recipe and a run directory as a job has them."""

    def __init__(self, folder: Path) -> None:
        self.run, self.source = folder / "run", folder / "source"
        (self.run / "metrics").mkdir(parents=True)
        copy_recipe("allreduce", self.source)
        foreign = ("HK_", "SLURM_", "OMPI_", "PMI", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ = kept | {
            "HK_RUN": str(self.run), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip

    def torchrun(self, processes: int, *options: str) -> subprocess.CompletedProcess[str]:
        words = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        python = with_torch()
        return self.call([python, *words, "bench.py", *SMALL, *options], PYTHON_EXEC=python)

    def alone(self, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return self.call([sys.executable, "bench.py", *SMALL, *options], **environ)

    def mpirun(self, processes: int, *options: str) -> subprocess.CompletedProcess[str]:
        mpirun = shutil.which("mpirun", path=self.environ["PATH"])
        if mpirun is None:
            pytest.skip("no mpirun")
        pytest.importorskip("mpi4py")
        # no fork: MPI belongs to the process that mpirun starts, and the number of its parent decides on Gloo's port
        words = [mpirun, "--oversubscribe", "-np", str(processes), sys.executable, "bench.py"]
        return self.call([*words, *SMALL, *options])

    def call(self, argv: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
        limit, environ = STRETCH * 150, self.environ | environ
        return subprocess.run(
            argv, cwd=self.source, env=environ, capture_output=True, text=True, timeout=limit, check=False
        )

    def final(self, rank: int = 0) -> dict[str, Any]:
        line: dict[str, Any] = json.loads((self.run / f"metrics/rank-{rank}.jsonl").read_text().splitlines()[-1])
        assert line["final"] is True
        return line

    def result(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.run / "allreduce.json").read_text())
        return value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _good(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def _examine(place: Place, processes: int, backend: str, operations: list[str]) -> None:
    """Every complete run has all sizes, bandwidths that belong to its times, no wrong number and these metrics."""
    result, final = place.result(), place.final()
    assert (result["backend"], result["processes"], result["nodes"]) == (backend, processes, 1)
    assert result["errors"] == final["errors"] == 0
    assert final["rank_sum"] == processes * (processes + 1) // 2
    assert list(result["operations"]) == operations
    unit = 4 * processes
    for name, found in result["operations"].items():
        assert [row["bytes"] for row in found["rows"]] == [
            size // unit * unit for size in (1000, 4000, 16000, 64000, 65536)
        ]
        for row in found["rows"]:
            assert row["time_us"] > 0 and row["errors"] == 0
            assert row["algbw_gb_s"] == pytest.approx(row["bytes"] / row["time_us"] / 1000)
            assert row["busbw_gb_s"] == pytest.approx(row["algbw_gb_s"] * model.bus_factor(name, processes))
        assert (found["fits"]["small"]["to_bytes"], found["fits"]["large"]["from_bytes"]) == (
            16000,
            64000 // unit * unit,
        )
    first = result["operations"][operations[0]]
    assert final["busbw_gb_s"] == first["rows"][-1]["busbw_gb_s"]
    assert final["latency_us"] == first["rows"][0]["time_us"]
    assert final["alpha_us"] == first["fits"]["small"]["alpha_us"]
    assert final["beta_gb_s"] == first["fits"]["large"]["beta_gb_s"]


@pytest.mark.parametrize(
    ("operation", "processes", "bus"),
    [
        ("all-reduce", 2, 5.0), ("all-reduce", 4, 7.5), ("all-reduce", 8, 8.75),
        ("all-gather", 2, 2.5), ("all-gather", 4, 3.75), ("reduce-scatter", 4, 3.75), ("reduce-scatter", 8, 4.375),
        ("broadcast", 2, 5.0), ("broadcast", 8, 5.0), ("copy", 1, 5.0),
    ],
)  # fmt: skip
def test_bandwidths_are_those_of_nccl_tests(operation: str, processes: int, bus: float) -> None:
    """10⁹ bytes in 0.2 s are 5 GB/s; the bus factors are computed by hand from PERFORMANCE.md."""
    algorithm, found = model.bandwidths(operation, 10**9, 0.2, processes)
    assert (algorithm, found) == (pytest.approx(5.0), pytest.approx(bus))


@given(alpha=some.floats(1e-7, 1e-2), gigabytes=some.floats(0.01, 1000), steps=some.integers(2, 9))
def test_fit_finds_the_line_that_made_the_times(alpha: float, gigabytes: float, steps: int) -> None:
    sizes = [4096 * 4**step for step in range(steps)]
    seconds = [alpha + size / (gigabytes * 1e9) for size in sizes]
    found = model.fit(sizes, seconds)
    # where one part vanishes beside the other, the line is still right though that part is not
    for size, time in zip(sizes, seconds, strict=True):
        assert found[0] + found[1] * size == pytest.approx(time, rel=1e-6)
    if 0.01 < alpha * gigabytes * 1e9 / sizes[-1] < 100:
        assert found == (pytest.approx(alpha, rel=1e-4), pytest.approx(1 / (gigabytes * 1e9), rel=1e-4))


def test_fit_weighs_small_messages_like_large_ones_and_is_never_negative() -> None:
    assert model.fit([4096], [1.0]) is None
    assert model.fit([4096, 4096], [1.0, 2.0]) is None
    assert model.fit([1, 2, 4], [4.0, 2.0, 1.0])[1] == 0.0  # faster when larger: no bandwidth can be told
    assert model.fit([1, 2, 4], [1.0, 4.0, 16.0])[0] == 0.0  # would begin below zero
    # 10 % more on the smallest message moves α by about that, although it is a 10⁻⁴ of the largest time
    alpha, beta = model.fit([10, 10**7], [1.1e-6, 1e-6 + 1e-2])
    assert alpha == pytest.approx(1.1e-6, rel=1e-2) and beta == pytest.approx(1e-9, rel=1e-3)


def test_each_range_is_fitted_by_itself() -> None:
    sizes = [1024, 4096, 16384, 65536]
    seconds = [10e-6 + m / 1e9 for m in sizes[:2]] + [50e-6 + m / 4e9 for m in sizes[2:]]
    found = model.fits(sizes, seconds, 8192)
    assert found["small"] == pytest.approx(
        {"from_bytes": 1024, "to_bytes": 4096, "alpha_us": 10, "beta_gb_s": 1, "relative_error": 0}, abs=1e-6
    )
    assert (found["large"]["alpha_us"], found["large"]["beta_gb_s"]) == (pytest.approx(50), pytest.approx(4))
    assert list(model.fits(sizes, seconds, 1024)) == ["large"]


@torch
@needs_torch
@pytest.mark.slow
def test_two_processes_time_every_operation(place: Place) -> None:
    done = place.torchrun(2, "--operation", "all")
    _good(done)
    _examine(place, 2, "gloo", COLLECTIVES)
    assert place.final(1)["busbw_gb_s"] == place.final(0)["busbw_gb_s"]
    assert done.stdout.count("algorithm") == 4, "one table an operation, by rank 0 alone"
    assert "deprecated" not in done.stderr


@torch
@needs_torch
@pytest.mark.slow
def test_three_processes_have_shares_that_are_not_powers_of_two(place: Place) -> None:
    _good(place.torchrun(3, "--operation", "reduce-scatter"))
    rows = place.result()["operations"]["reduce-scatter"]["rows"]
    assert all(row["bytes"] % 12 == 0 and row["errors"] == 0 for row in rows)
    assert rows[0]["busbw_gb_s"] == pytest.approx(rows[0]["algbw_gb_s"] * 2 / 3)


@pytest.mark.slow
@torch
@needs_torch
def test_alone_copies_and_says_so(place: Place) -> None:
    done = place.alone()
    _good(done)
    assert "communication cannot be measured" in done.stdout
    _examine(place, 1, "gloo", ["copy"])


@torch
@needs_torch
@pytest.mark.slow
def test_wrong_results_are_noticed(place: Place) -> None:
    """The test of the test: a copy of the program in which a communication library gets one number wrong."""
    begins = '        """Do the operation; on a GPU it is only begun."""\n'
    wrong = "        self._start(operation, send, receive)\n        receive[-1] += self.rank\n\n"
    _change(place, begins, f"{begins}{wrong}    def _start(self, operation, send, receive):\n")
    done = place.torchrun(2, "--operation", "all")
    assert done.returncode != 0
    # four operations, five sizes, each examined twice, one number on rank 1
    assert "40 numbers came out wrong" in done.stderr
    assert place.final()["errors"] == place.result()["errors"] == 40


@torch
@needs_torch
@pytest.mark.slow
def test_without_communication_it_fails(place: Place) -> None:
    begins = 'if operation == "all-reduce":\n            self._dist'
    _change(place, begins, "if True:\n            return\n            self._dist")
    done = place.torchrun(2, "--operation", "all")
    assert done.returncode != 0
    assert "numbers came out wrong" in done.stderr
    found = place.result()["operations"]
    assert all(row["errors"] > 0 for operation in COLLECTIVES for row in found[operation]["rows"])


def _change(place: Place, old: str, new: str) -> None:
    program = place.source / "backends.py"
    text = program.read_text()
    assert text.count(old) == 1
    program.write_text(text.replace(old, new))


@pytest.mark.slow
@torch
@needs_torch
@pytest.mark.mpi
def test_plain_mpirun_with_gloo(place: Place) -> None:
    _good(place.mpirun(2, "--backend", "gloo"))
    _examine(place, 2, "gloo", ["all-reduce"])


@pytest.mark.mpi
def test_mpi(place: Place) -> None:
    _good(place.mpirun(2, "--operation", "all", "--backend", "mpi"))
    _examine(place, 2, "mpi", COLLECTIVES)


@pytest.mark.slow
@pytest.mark.mpi
def test_mpi_notices_wrong_results(place: Place) -> None:
    _change(place, "self._comm.Allreduce(self._mpi.IN_PLACE, receive)", "receive[:] = send")
    done = place.mpirun(2, "--backend", "mpi")
    assert done.returncode != 0
    assert "numbers came out wrong" in done.stderr and place.final()["errors"] > 0


@pytest.mark.mpi
def test_mpi_without_mpirun_is_refused(place: Place) -> None:
    pytest.importorskip("mpi4py")
    done = place.alone("--backend", "mpi", RANK="0", WORLD_SIZE="2", LOCAL_RANK="0")
    assert done.returncode == 1
    assert "wants the launcher mpirun" in done.stderr and "Traceback" not in done.stderr


@torch
@needs_torch
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--max-size", "much"], "'much' is not a size"), (["--max-size", "0"], "is not a size"),
        (["--factor", "1"], "--factor ≥ 2"), (["--max-size", "4"], "--min-size ≤ --max-size"),
    ],
)  # fmt: skip
def test_wrong_options_are_told(place: Place, options: list[str], words: str) -> None:
    done = place.alone(*options)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr


def test_recipe_is_valid() -> None:
    recipes, problems = load.list_recipes([])
    assert not problems
    assert "allreduce" in [recipe.name for recipe in recipes]
