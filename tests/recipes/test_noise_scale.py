"""The noise scale of a training whose true one is known: it is found, or it is said to be at least so large."""

import importlib.util
import math
import os
import subprocess
from pathlib import Path
from statistics import median
from types import ModuleType

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.paths import RUNTIME, SHARED

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
SMALL, NUMBERS, TRIALS = 16, 40, 60


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shared_noise_scale", SHARED / "noise_scale.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOISE = _module()


def norms(draw: numpy.random.Generator, scale: float, processes: int, steps: int) -> list[list[float]]:
    """Return what ranks see of gradients around one of length 1 whose samples have the variance `scale` in all."""
    mean = numpy.eye(NUMBERS)[0]
    own = mean + draw.standard_normal((steps, processes, NUMBERS)) * math.sqrt(scale / NUMBERS / SMALL)
    squares = (own**2).sum(2).mean(1), (own.mean(1) ** 2).sum(1)
    return [list(each) for each in zip(*map(numpy.ndarray.tolist, squares), strict=True)]


@pytest.mark.parametrize("processes", [2, 8])
@pytest.mark.parametrize("scale", [0.0, 4.0, 30.0, 120.0])
def test_a_noise_scale_that_the_steps_tell_is_found(scale: float, processes: int) -> None:
    draw = numpy.random.default_rng(1)
    found = [NOISE.estimated(norms(draw, scale, processes, 100), SMALL, SMALL * processes) for _ in range(TRIALS)]
    assert median(each.value for each in found) == pytest.approx(scale, rel=0.1, abs=1e-3)
    # 95 % of 60 are 57, and less than 49 are as good as impossible
    assert sum(each.low - 1e-9 <= scale <= each.high + 1e-9 for each in found) >= 49
    assert median(each.high - each.low for each in found) < max(1.0, 1.2 * scale)


def test_a_noise_scale_far_beyond_the_batch_is_at_least_so_large_and_no_number() -> None:
    draw = numpy.random.default_rng(2)
    found = [NOISE.estimated(norms(draw, 20_000.0, 2, 100), SMALL, 2 * SMALL) for _ in range(TRIALS)]
    assert sum(each.value is None and each.high is None for each in found) >= 49
    assert sum(each.low <= 20_000 for each in found) >= 55
    assert median(each.low for each in found) > 8 * SMALL


def test_few_steps_and_gradients_of_nothing_say_nothing() -> None:
    draw = numpy.random.default_rng(3)
    assert NOISE.estimated(norms(draw, 4.0, 2, NOISE.FEWEST - 1), SMALL, 2 * SMALL) is None
    assert NOISE.estimated([[0.0, 0.0]] * 50, SMALL, 2 * SMALL) is None
    pairs = norms(draw, 4.0, 2, 100)
    overflowed = NOISE.estimated([*pairs, [math.inf, 1.0], [1.0, math.nan]], SMALL, 2 * SMALL)
    assert overflowed == NOISE.estimated(pairs, SMALL, 2 * SMALL) and overflowed.steps == 100


def test_the_unit_of_the_loss_does_not_matter() -> None:
    pairs = norms(numpy.random.default_rng(4), 30.0, 2, 100)
    plain = NOISE.estimated(pairs, SMALL, 2 * SMALL)
    for factor in (1e-200, 1e200):
        scaled = NOISE.estimated([[factor * each for each in pair] for pair in pairs], SMALL, 2 * SMALL)
        assert scaled.numbers() == pytest.approx(plain.numbers())


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=30), st.integers(1, 50), st.integers(2, 9))
def test_whatever_the_norms_are_the_numbers_are_in_order(pairs: list[list[float]], small: int, times: int) -> None:
    found = NOISE.estimated(pairs * 3, small, small * times)
    if found is not None:
        assert found.low >= 0 and (found.high is None or found.high >= found.low)
        assert (found.value is None) == (found.high is None)


PROGRAM = """
import json, os, sys
import torch
import torch.distributed as dist
from noise_scale import NoiseScale
from torch.nn.parallel import DistributedDataParallel

rank, folder, processes = int(sys.argv[1]), sys.argv[2], 2
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=processes)

def trained(measured, scale, steps, samples=8, width=40):
    '''The loss of a sample is -x·w: its gradient is -x, around one of length 1, with the variance `scale` in all.'''
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(width, 1, bias=False))
    model = DistributedDataParallel(net, bucket_cap_mb=1)
    noise = NoiseScale(model, samples) if measured else None
    if noise:  # a pass before the training counts nowhere
        (1e6 * model(torch.ones(samples, width))).mean().backward()
        net.zero_grad()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    draw = torch.Generator().manual_seed(10 * int(scale) + rank)
    mean = torch.eye(width)[0]
    for _ in range(steps):
        x = mean + torch.randn(samples, width, generator=draw) * (scale / width) ** 0.5
        optimizer.zero_grad()
        (-model(x)).mean().backward()
        if noise:
            noise.step()
            noise.step()  # without a pass in between nothing is noted twice
        optimizer.step()
    found = noise.estimate() if noise else None
    return found, [each.tolist() for each in net.parameters()]

told, weights = trained(True, 24.0, 150)
_, plain = trained(False, 24.0, 150)
beyond, _ = trained(True, 20000.0, 150)
few, _ = trained(True, 24.0, 10)
same, _ = trained(True, 0.0, 30)
text = json.dumps({"told": told, "beyond": beyond, "few": few, "none": same, "equal": weights == plain})
open(f"{folder}/told-{rank}.json", "w").write(text)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_find_it_and_train_as_without(tmp_path: Path, warm_python: str) -> None:
    import json

    (tmp_path / "program.py").write_text(PROGRAM)
    ranks = [
        subprocess.Popen(
            [warm_python, tmp_path / "program.py", str(rank), str(tmp_path)], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": f"{SHARED}:{RUNTIME.parent}", "OMP_NUM_THREADS": "1"},
        )
        for rank in range(2)
    ]  # fmt: skip
    for each in ranks:
        assert each.wait(timeout=600) == 0, each.communicate()[1]
    one, other = (json.loads((tmp_path / f"told-{rank}.json").read_text()) for rank in range(2))
    assert one == other and one["equal"] and one["few"] is None
    value, low, high, steps = one["told"]
    assert low <= 24 <= high and value == pytest.approx(24, rel=0.5) and steps == 150
    value, low, high, _ = one["beyond"]
    assert value is None and high is None and 40 < low <= 20_000
    assert one["none"][:3] == pytest.approx([0, 0, 0], abs=1e-3)
