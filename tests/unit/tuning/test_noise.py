"""The noise scale against problems whose answer is known; above the larger batch only a bound is told."""

import json
import random
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.tuning import observer
from hackathon.tuning.batches import BatchProbe, LargestBatch
from hackathon.tuning.noise import NoiseScale, noise_scale
from hackathon.tuning.observer import Observer
from hackathon.tuning.sentences import largest_sentences

DIMENSIONS, SMALL, STEPS = 20, 8, 16


def known(sigma: float, distance: float = 1.0) -> float:
    """Return S/|G|² of linear regression on normal inputs with noise sigma, at a distance from the true weights.

    The gradient of a sample is (x·Δ − ε) x, with the mean Δ and E|g|² = |Δ|² (d + 2) + σ² d.
    """
    return DIMENSIONS + 1 + sigma**2 * DIMENSIONS / distance**2


@given(st.integers(1, 100), st.integers(2, 50), st.floats(0.1, 1e6), st.floats(1e-3, 1e3))
def test_exact_norms_give_the_exact_scale_up_to_the_larger_batch(
    small: int, times: int, noise: float, signal: float
) -> None:
    large = small * times
    scale = noise_scale(small, signal + noise / small, large, signal + noise / large)
    if noise / signal <= 0.99 * large:
        assert scale == pytest.approx(max(noise / signal, 1.0), rel=1e-3)
    if noise / signal >= 1.01 * large:
        assert scale is None


def test_norms_that_tell_nothing_give_a_bound() -> None:
    assert noise_scale(8, 100.0, 128, 1.0) is None, "the large gradient is smaller than noise alone makes it"
    found = NoiseScale.of_norms({"small": 8, "large": 128, "small_square": 100.0, "large_square": 1.0})
    assert found is not None and found.samples is None and found.bound == 128
    for value in (None, [], {}, {"small": 8, "large": 8, "small_square": 1, "large_square": 1},
                  {"small": 8, "large": 16, "small_square": None, "large_square": 1},
                  {"small": True, "large": 16, "small_square": 1, "large_square": float("nan")}):  # fmt: skip
        assert NoiseScale.of_norms(value) is None


KEYS = st.sampled_from(["small", "large", "samples", "small_square", "large_square"])
VALUES = st.none() | st.integers() | st.floats() | st.text(max_size=3)


@given(VALUES | st.lists(VALUES, max_size=3) | st.dictionaries(KEYS, VALUES, max_size=5))
def test_whatever_is_kept_is_a_scale_or_nothing(value: object) -> None:
    for found in (NoiseScale.from_json(value), NoiseScale.of_norms(value)):
        assert found is None or (found.bound > 0 and found.rate_factor(8, 16) > 0)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 2.0])
def test_linear_regression_has_the_scale_that_algebra_says(sigma: float) -> None:
    found = []
    for seed in range(60):
        draw = random.Random(seed)
        total, squares = [0.0] * DIMENSIONS, 0.0
        for _ in range(STEPS):
            mine = [0.0] * DIMENSIONS
            for _ in range(SMALL):
                x = [draw.gauss(0, 1) for _ in range(DIMENSIONS)]
                error = x[0] - draw.gauss(0, sigma)  # Δ is the first unit vector
                mine = [each + error * part / SMALL for each, part in zip(mine, x, strict=True)]
            squares += sum(each**2 for each in mine) / STEPS
            total = [each + part / STEPS for each, part in zip(total, mine, strict=True)]
        scale = noise_scale(SMALL, squares, SMALL * STEPS, sum(each**2 for each in total))
        found.append(float("inf") if scale is None else scale)
    assert median(found) == pytest.approx(known(sigma), rel=0.2)


def test_what_is_said_of_a_learning_rate_is_measured() -> None:
    def said(noise: NoiseScale | None) -> str:
        probe = BatchProbe(91, "confirm", True, 1 << 30, 1.0)
        found = LargestBatch("batch_size", 32, 1 << 33, 96, 96, 91, True, (probe,), noise=noise)
        again = LargestBatch.from_json(json.loads(json.dumps(found.as_json())))
        assert again is not None and again.noise == noise
        return "\n".join(largest_sentences(again, "r"))

    assert "2.84 times the rate" in said(None) and "was not measured" in said(None)
    measured = said(NoiseScale(50.0, 32, 512))
    assert "about 50 samples" in measured and "1.65 times the rate" in measured  # (1 + 50/32) / (1 + 50/91)
    bound = said(NoiseScale(None, 32, 512))
    assert "at least 512 samples" in bound and "2.84 times the rate" in bound


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_an_observed_program_has_the_known_scale(sigma: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = pytest.importorskip("torch")
    from hackathon.tuning import fake_step

    monkeypatch.setitem(sys.modules, observer.BESIDE, fake_step)
    (tmp_path / "observe").write_text(json.dumps({"limit": 2, "memory": 1}))
    found = []
    for seed in range(12):
        torch.manual_seed(seed)
        net = torch.nn.Linear(DIMENSIONS, 1, bias=False)
        with torch.no_grad():
            net.weight.zero_()
        true = torch.zeros(DIMENSIONS)
        true[0] = 1.0
        slot = tmp_path / str(seed)
        slot.mkdir()
        (slot / "observe").write_text(json.dumps({"limit": 2, "memory": 1}))
        watched = Observer(slot, SMALL)
        watched.largest = lambda *args: 1  # type: ignore[method-assign] # memory is not what is measured here
        optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
        optimizer.step()
        watched.stepped(optimizer)
        for step in range(STEPS + 2):
            x = torch.randn(SMALL, DIMENSIONS)
            y = x @ true + sigma * torch.randn(SMALL)
            optimizer.zero_grad()
            ((net(x)[:, 0] - y).square().mean() / 2).backward()
            if step == 3:
                with torch.no_grad():  # the program learns meanwhile: all gradients are taken at the weights of before
                    net.weight.copy_(true)
            optimizer.step()
            watched.stepped(optimizer)
        told = json.loads((slot / "noise.json").read_text())
        assert (told["small"], told["large"], told["steps"]) == (SMALL, SMALL * STEPS, STEPS) and not told["reason"]
        scale = NoiseScale.of_norms(told)
        assert scale is not None
        found.append(scale.bound)
    assert median(found) == pytest.approx(known(sigma), rel=0.35)
