"""The planners of layers' splits give what trying everything gives, for one limit and for a shared one."""

import random
from itertools import combinations_with_replacement, product

import pytest

from hackathon.text.errors import RequestError
from hackathon.tuning.microbatch import layers
from hackathon.tuning.microbatch.layers import Kernel, Kernels, fastest_split, shared_split

INSTANCES = 200


def drawn(draw: random.Random, batch: int) -> Kernels:
    """Return kernels as they are measured: some sizes are missing, some are slower for more samples than two halves."""
    found: dict[int, list[Kernel]] = {}
    for size in range(1, batch + 1):
        if draw.random() < 0.35 and size > 1:
            continue
        found[size] = [
            Kernel(round(draw.uniform(0.2, 1.5) * size + draw.uniform(0, 2), 6), draw.randrange(0, 12) * size)
            for _ in range(draw.randint(1, 3))
        ]
    if draw.random() < 0.3:
        found.pop(1, None)
    return found


def every_split(kernels: Kernels, batch: int) -> list[tuple[float, int]]:
    """Return (seconds, workspace) of each choice of parts and kernels that makes up the batch."""
    steps = [(size, kernel) for size, measured in kernels.items() for kernel in measured]
    found = []
    for count in range(1, batch + 1):
        for chosen in combinations_with_replacement(steps, count):
            if sum(size for size, _ in chosen) == batch:
                found.append((sum(k.seconds for _, k in chosen), max(k.workspace for _, k in chosen)))
    return found


def test_one_limit_is_as_good_as_trying_everything() -> None:
    draw, infeasible, split = random.Random(7), 0, 0
    for number in range(INSTANCES):
        batch = draw.randint(1, 5)
        kernels, limit = drawn(draw, batch), draw.randrange(0, 40)
        best = min((seconds for seconds, need in every_split(kernels, batch) if need <= limit), default=None)
        found = fastest_split(kernels, batch, limit)
        if best is None:
            assert found is None, number
            infeasible += 1
            continue
        assert found is not None and found.seconds == pytest.approx(best, abs=1e-9), number
        assert sum(found.sizes) == batch and found.workspace <= limit, number
        split += len(found.sizes) > 1
    assert infeasible > 10 and split > 30, "the instances hold both kinds"


def shared_instance(draw: random.Random) -> tuple[list[tuple[Kernels, int]], int]:
    made = []
    for _ in range(draw.randint(1, 4)):
        batch = draw.randint(1, 4)
        made.append((drawn(draw, batch), batch))
    return made, draw.randrange(0, 90)


def best_shared(instance: list[tuple[Kernels, int]], limit: int) -> float | None:
    each = [sorted(set(every_split(kernels, batch))) for kernels, batch in instance]
    kept = []
    for splits in each:  # the same needs: the fastest
        fastest: dict[int, float] = {}
        for seconds, need in splits:
            fastest[need] = min(fastest.get(need, seconds), seconds)
        kept.append(list(fastest.items()))
    sums = [sum(s for _, s in chosen) for chosen in product(*kept) if sum(need for need, _ in chosen) <= limit]
    return min(sums, default=None)


def test_a_shared_limit_is_as_good_as_trying_everything() -> None:
    draw, infeasible, binding = random.Random(11), 0, 0
    for number in range(INSTANCES):
        instance, limit = shared_instance(draw)
        best, found = best_shared(instance, limit), shared_split(instance, limit)
        if best is None:
            assert found is None, number
            infeasible += 1
            continue
        assert found is not None and found.method == "exact" and found.workspace <= limit, number
        assert found.seconds == pytest.approx(best, abs=1e-9), number
        unlimited = shared_split(instance, 10**9)
        assert unlimited is not None
        binding += found.seconds > unlimited.seconds
    assert infeasible > 10 and binding > 15, "the instances hold both kinds"


def test_the_solver_of_integer_programs_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    draw = random.Random(13)
    monkeypatch.setattr(layers, "_by_sums", lambda choices, limit: None)
    seen = 0
    for number in range(INSTANCES):
        instance, limit = shared_instance(draw)
        scaled = [
            ({n: [Kernel(k.seconds * 1e-4, k.workspace << 20) for k in ks] for n, ks in kernels.items()}, batch)
            for kernels, batch in instance
        ]
        best, found = best_shared(scaled, limit << 20), shared_split(scaled, limit << 20)
        if best is None:
            assert found is None, number
            continue
        assert found is not None and found.method == "milp" and found.workspace <= limit << 20, number
        assert found.seconds == pytest.approx(best, rel=1e-9), number
        seen += 1
    assert seen > 100


def test_without_the_solver_nothing_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: Kernels = {1: [Kernel(1.0, 10), Kernel(2.0, 0)]}
    monkeypatch.setattr(layers, "_by_sums", lambda choices, limit: None)
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", None)
    with pytest.raises(RequestError, match="SciPy"):
        shared_split([(kernels, 1)], 10)


def test_edges() -> None:
    assert shared_split([], 0) == layers.SharedSplit((), "exact")
    assert fastest_split({}, 3, 10) is None and shared_split([({}, 3)], 10) is None
    odd: Kernels = {2: [Kernel(1.0, 0)]}
    assert fastest_split(odd, 3, 10) is None, "three samples are not made of twos"
    whole: Kernels = {1: [Kernel(1.0, 0)], 2: [Kernel(2.0, 0)]}
    split = fastest_split(whole, 2, 0)
    assert split is not None and split.sizes == (2,), "of equally fast ones the fewest parts"
    many: list[tuple[Kernels, int]] = [({1: [Kernel(2.0, 1)]}, 1) for _ in range(400)]
    found = shared_split(many, 400)
    assert found is not None and found.workspace == 400 and shared_split(many, 399) is None


def test_real_sizes_are_quick() -> None:
    """ResNet-50 has 53 convolutions; kernels for each power of two and their halves."""
    draw = random.Random(3)
    instance = []
    for _ in range(53):
        kernels: Kernels = {
            size: [Kernel(draw.uniform(0.8, 1.2) * size * 1e-5, draw.randrange(1, 64) * size << 14) for _ in range(3)]
            for size in (1, 2, 4, 8, 16, 32, 64, 128, 256)
        }
        instance.append((kernels, 256))
    found = shared_split(instance, 8 << 30)
    assert found is not None and found.workspace <= 8 << 30


def test_for_even_times_the_fewest_parts_are_the_fastest() -> None:
    """What `hackathon microbatch` plans for whole models is what the planner finds for their times."""
    for batch, largest in ((600, 77), (64, 64), (100, 33), (7, 1)):
        kernels: Kernels = {size: [Kernel(0.5 + 0.01 * size, size)] for size in range(1, batch + 1)}
        split = fastest_split(kernels, batch, largest)
        assert split is not None and len(split.sizes) == -(-batch // largest)
