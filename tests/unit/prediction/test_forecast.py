"""Predictions: exact where rows are clean, honest where they are not, and said to be what they are."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.network import MeasuredCollective, Network
from hackathon.prediction.physics import Physics
from hackathon.prediction.rows import MeasuredValue, Series, series
from hackathon.prediction.shapes import SHAPES
from hackathon.text.errors import RequestError

LAWS = (*SHAPES, "power", "serial")
Law = Callable[[int], float]


def law(name: str, mode: str, per_node: int, size: float, base: int) -> Law:
    """Return the cost over processes that one shape gives."""

    def cost(processes: int) -> float:
        nodes = max(1, processes // per_node)
        if name == "power":
            return float(processes**size)
        if name == "serial":
            return 1 + size / 4 * (processes / base - 1)
        part = size / 4 if name == "linear" else size
        return 1 + part * SHAPES[name](nodes) * (1.0 if mode == "weak" else processes / base / 4)

    return cost


def made(cost: Law, sizes: list[int], mode: str = "weak", per_node: int = 1, noise: float = 0, seed: int = 0) -> Series:
    draw = random.Random(seed)
    return series("x", mode, "img/s", [
        MeasuredValue(p, 100 * p / cost(p) * (1 + draw.gauss(0, noise)), max(1, p // per_node)) for p in sizes
    ])  # fmt: skip


def entry(found: Series, size: int, known: Knowledge | None = None) -> dict[str, object]:
    (only,) = forecast(found, [size], known or Knowledge(), advise=False).predictions
    return only


@pytest.mark.parametrize("mode", ["weak", "strong"])
@pytest.mark.parametrize("name", LAWS)
def test_clean_rows_of_any_shape_give_twice_the_largest_size_within_one_percent(name: str, mode: str) -> None:
    for sizes, per_node in (([1, 2, 4, 8, 16], 1), ([1, 2, 4, 8, 16, 32], 4), ([4, 8, 16, 32, 64], 1)):
        for size in (0.02, 0.1, 0.3):
            cost = law(name, mode, per_node, size, sizes[0])
            target = 2 * sizes[-1]
            found = entry(made(cost, sizes, mode, per_node), target)
            assert found["value"] == pytest.approx(100 * target / cost(target), rel=0.01), (sizes, per_node, size)


@pytest.mark.slow
def test_intervals_of_noisy_series_hold_as_often_as_they_say() -> None:
    draw = random.Random(3)
    held = inside = 0
    for number in range(200):
        mode, name, per_node = draw.choice(["weak", "strong"]), draw.choice(LAWS), draw.choice([1, 1, 4])
        base, count, noise = draw.choice([1, 4]), draw.randint(5, 7), draw.choice([0.01, 0.02, 0.03])
        sizes = [base * 2**step for step in range(count)]
        cost = law(name, mode, per_node, draw.uniform(0.02, 0.2), base)
        found = entry(made(cost, sizes, mode, per_node, noise, number), 2 * sizes[-1])
        truth = 100 * 2 * sizes[-1] / cost(2 * sizes[-1])
        held += float(str(found["low"])) <= truth <= float(str(found["high"]))
        inside += float(str(found["low"])) <= truth * (1 + draw.gauss(0, noise)) <= float(str(found["high"]))
    assert held >= 0.85 * 200 and 0.80 * 200 <= inside <= 0.97 * 200


ROWS = st.lists(
    st.tuples(st.integers(0, 7), st.floats(0.2, 1.2)), min_size=1, max_size=7, unique_by=lambda row: row[0]
)  # fmt: skip


@settings(deadline=None, max_examples=25)
@given(ROWS, st.floats(-9, 9), st.sampled_from(["weak", "strong"]), st.booleans())
@example([(1, 1.0), (2, 1.0)], 7.875, "weak", False)  # rounding alone makes a shape
@pytest.mark.slow
def test_scale_order_and_copies_change_nothing(
    rows: list[tuple[int, float]], scale: float, mode: str, nodes: bool
) -> None:
    lines = [MeasuredValue(2**p, 2**p * e, max(1, 2**p // 4) if nodes else None) for p, e in rows]
    factor = 10**scale
    other = [MeasuredValue(each.processes, each.value * factor, each.nodes) for each in lines]
    plain = forecast(series("x", mode, "img/s", lines), [16, 300]).json
    scaled = forecast(series("x", mode, "img/s", other[::-1]), [16, 300]).json
    copied = forecast(series("x", mode, "img/s", [*lines, lines[0], *lines]), [16, 300]).json
    for one, two, three in zip(plain["predictions"], scaled["predictions"], copied["predictions"], strict=True):
        assert one == three
        for key in ("value", "low", "high"):
            assert two[key] == pytest.approx(factor * one[key], rel=1e-6)
        assert two["efficiency"] == pytest.approx(one["efficiency"], rel=1e-6) and one["basis"] == two["basis"]
        assert one["low"] <= one["value"] <= one["high"] and math.isclose(sum(e["weight"] for e in one["shapes"]), 1)
    others = [flag for flag in copied["flags"] if flag["kind"] != "duplicate"]
    assert others == plain["flags"] and len(others) < len(copied["flags"])


def test_a_time_is_predicted_as_the_rate_it_is() -> None:
    sizes = [1, 2, 4, 8]
    rate = series("x", "strong", "img/s", [MeasuredValue(p, p**0.9) for p in sizes])
    time = series("x", "strong", "s", [MeasuredValue(p, p**-0.9) for p in sizes])
    one, two = entry(rate, 16), entry(time, 16)
    assert two["value"] == pytest.approx(1 / float(str(one["value"])))
    assert two["low"] == pytest.approx(1 / float(str(one["high"]))) and two["seconds"] == two["value"]
    assert one["efficiency"] == pytest.approx(two["efficiency"]) and one["seconds"] is None


def test_a_measured_size_gives_the_measured_value() -> None:
    found = entry(made(lambda p: p**0.1, [1, 2, 4, 8]), 4)
    assert found["value"] == pytest.approx(400 / 4**0.1) and found["basis"] == "measured"
    assert float(str(found["low"])) < float(str(found["value"])) < float(str(found["high"]))


def warned(found: dict[str, object]) -> set[str]:
    warnings = found["warnings"]
    assert isinstance(warnings, list)
    return {str(each).partition(": ")[0] for each in warnings}


def test_one_row_is_constant_efficiency_with_a_wide_interval() -> None:
    found = entry(made(lambda p: 1.0, [4]), 16)
    assert found["value"] == pytest.approx(1600) and found["basis"] == "baseline" and "one-row" in warned(found)
    assert (float(str(found["high"])) - float(str(found["low"]))) / 2 / 1600 > 0.1


def test_inside_a_node_across_nodes_and_over_the_boundary() -> None:
    flat = made(lambda p: 1 + 0.01 * math.log2(p), [1, 2, 4], per_node=8)
    inside = entry(flat, 8, Knowledge(per_node=8))
    over = entry(flat, 16, Knowledge(per_node=8))
    assert inside["basis"] == "in-node" and not warned(inside) & {"node-boundary", "node-boundary-unknown"}
    assert over["basis"] == "in-node" and "node-boundary" in warned(over)
    assert width(over) > 1.7 * width(inside)
    several = entry(made(lambda p: 1 + 0.01 * p, [1, 2, 4, 8, 16], per_node=4), 32)
    assert several["basis"] == "across-nodes" and not warned(several) & {"node-boundary", "node-boundary-unknown"}
    unknown = series("x", "weak", "img/s", [MeasuredValue(p, 100 * p) for p in (1, 2, 4)])
    assert "node-boundary-unknown" in warned(entry(unknown, 8))


def width(found: dict[str, object]) -> float:
    return (float(str(found["high"])) - float(str(found["low"]))) / float(str(found["value"]))


def test_a_measured_network_narrows_the_step_over_the_boundary() -> None:
    flat = made(lambda p: 1 + 0.01 * math.log2(p), [1, 2, 4], per_node=4)
    inside = MeasuredCollective(4, 1, 1e-5, 10e9)
    networks = [Network((inside, MeasuredCollective(8, 2, 1e-5, rate * 6 / 7))) for rate in (1e9, 10e9)]
    assert [each.ratio for each in networks] == pytest.approx([10.0, 1.0])
    slow, fast = (entry(flat, 8, Knowledge(per_node=4, physics=Physics(network))) for network in networks)
    assert slow["basis"] == "physics" and "physics" in warned(slow)
    assert float(str(slow["efficiency"])) < float(str(fast["efficiency"]))
    assert width(fast) < width(entry(flat, 8, Knowledge(per_node=4)))


def test_far_sizes_and_low_efficiency_are_told() -> None:
    found = entry(made(lambda p: 1 + 0.1 * p, [1, 2, 4, 8]), 64)
    assert {"extrapolation", "below-target"} <= warned(found)


def test_an_outlier_changes_nothing_but_the_flags() -> None:
    cost = law("log", "weak", 1, 0.03, 1)
    clean = made(cost, [1, 4, 8, 16])
    planted = series("x", "weak", "img/s", [
        *(MeasuredValue(p, 100 * p / cost(p), p) for p in (1, 4, 8, 16)), MeasuredValue(2, 164, 2),
    ])  # fmt: skip
    one, two = entry(clean, 32), entry(planted, 32)
    assert one["value"] == two["value"] and "outlier" in warned(two)


def test_an_outlier_does_not_say_how_many_processes_a_node_holds() -> None:
    rows = [MeasuredValue(8, 8, 8), MeasuredValue(16, 15.24, 16), MeasuredValue(32, 29.09, 32)]
    slow = series("x", "weak", "img/s", [*rows, MeasuredValue(24, 16, 1)])  # the densest row of all
    one, two = (forecast(each, [64]).predictions[0] for each in (series("x", "weak", "img/s", rows), slow))
    assert one["value"] == two["value"] and "outlier" in warned(two) and two["basis"] == "across-nodes"
    full = series("x", "weak", "img/s", [*rows, MeasuredValue(24, 22.3, 1)])  # it counts, and 64 fit on three such
    assert full.per_node == 24 and forecast(full, [64]).predictions[0]["value"] > 0


def test_the_next_run_narrows_the_interval_as_it_says() -> None:
    cost = law("straggler", "weak", 4, 0.05, 1)
    found = forecast(made(cost, [1, 2, 4], per_node=4), [32], Knowledge(per_node=4))
    advised = found.json["next_run"]
    assert advised["nodes"] * 4 == advised["processes"] < 32 and advised["seconds"] == 300
    assert advised["half_width_after"] < 0.7 * advised["half_width_before"]
    sizes = [1, 2, 4, advised["processes"]]
    after = forecast(made(cost, sizes, per_node=4), [32], Knowledge(per_node=4), advise=False)
    assert width(after.predictions[0]) / 2 < 0.8 * advised["half_width_before"]


def test_the_json_has_what_the_contract_says() -> None:
    told = forecast(made(lambda p: p**0.05, [1, 2, 4, 8]), [16, 32, 4]).json
    assert list(told) == [
        "schema_version", "series", "base_processes", "predictions", "flags", "next_run", "advice", "beside",
    ]  # fmt: skip
    assert [each["processes"] for each in told["predictions"]] == [16, 32, 4]
    assert list(told["predictions"][0]) == [
        "processes", "value", "low", "high", "efficiency", "level", "basis", "seconds", "tokens", "shapes", "warnings",
        "training",
    ]  # fmt: skip
    assert list(told["beside"]) == ["amdahl", "gustafson", "usl", "constant_efficiency"]
    assert all(len(values) == 3 for values in told["beside"].values())
    assert told["beside"]["constant_efficiency"][0] == pytest.approx(1600 / 8**0.05)


def test_laws_find_their_own_curves() -> None:
    amdahl = forecast(made(lambda p: 1 + 0.02 * (p - 1), [1, 2, 4, 8, 16]), [64], advise=False).json["beside"]
    assert amdahl["amdahl"][0] == pytest.approx(6400 / (1 + 0.02 * 63)) == amdahl["usl"][0]
    gustafson = forecast(made(lambda p: 1 / (0.9 + 0.1 / p), [1, 2, 4, 8]), [64], advise=False).json["beside"]
    assert gustafson["gustafson"][0] == pytest.approx(6400 * (0.9 + 0.1 / 64))
    usl = forecast(made(lambda p: 1 + 0.02 * (p - 1) + 0.001 * p * (p - 1), [1, 2, 4, 8, 16]), [64], advise=False)
    assert usl.json["beside"]["usl"][0] == pytest.approx(6400 / (1 + 0.02 * 63 + 0.001 * 64 * 63))


def test_sizes_and_values_without_sense_give_numbers_or_an_error() -> None:
    wild = series("x", "strong", "img/s", [MeasuredValue(1, 9e99), MeasuredValue(2, 2e-99), MeasuredValue(4, 2e-99)])
    for found in forecast(wild, [3, 10**9], advise=False).predictions:
        assert 0 < float(str(found["low"])) <= float(str(found["value"])) <= float(str(found["high"])) < math.inf
    with pytest.raises(RequestError, match="at most"):
        forecast(wild, [10**400])


def test_no_row_is_an_error() -> None:
    with pytest.raises(RequestError) as told:
        forecast(series("x", "weak", "img/s", []), [4])
    assert told.value.exit_code == 2
