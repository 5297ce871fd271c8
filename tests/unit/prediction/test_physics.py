"""A step of computing and a measured all-reduce: better than constant efficiency where the truth is simulated."""

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.network import Network, network_from
from hackathon.prediction.physics import Physics
from hackathon.prediction.rows import MeasuredValue, series
from support.predicted_steps import outcomes
from support.simulated_steps import Machine, Program


@pytest.mark.slow
@pytest.mark.parametrize("places", ["1", "node", "1 node"])
def test_a_simulated_truth_is_met_better_than_by_constant_efficiency(places: str) -> None:
    found = outcomes(places, 70, 3)
    assert statistics.mean(found.errors) < 0.5 * statistics.mean(found.constant)
    assert statistics.median(found.errors) < 0.7 * statistics.median(found.constant)
    assert found.held >= 0.88 and found.half_width < 0.13


@pytest.mark.slow
def test_rows_between_nodes_and_the_own_clock_of_the_program_help() -> None:
    without, told = (outcomes("1 node two", 60, 5, exposed=exposed) for exposed in (False, True))
    assert statistics.mean(told.errors) < 0.06 and told.held >= 0.88
    assert told.half_width <= 1.02 * without.half_width


LINE = {"alpha_us": 20.0, "beta_gb_s": 5.0, "to_bytes": 2**30}


def test_a_program_that_sends_nothing_loses_nothing_to_the_network() -> None:
    machine = Machine(4, (1e-6, 1e11), (1e-6, 1e10))
    network = network_from(machine.measured(random.Random(1)))
    rows = series("x", "weak", "img/s", [MeasuredValue(4, 400.0, 1)])
    light, heavy = (
        forecast(rows, [32], Knowledge(per_node=4, physics=Physics(network, size, 32.0)), advise=False).predictions[0]
        for size in (1e3, 2e9)
    )
    assert light["efficiency"] > 0.95 and heavy["efficiency"] < light["efficiency"] - 0.1


def test_the_time_of_a_collective_follows_what_was_measured() -> None:
    entry = {"processes": 4, "hosts": 1, "nodes": 1, "operations": {"all-reduce": {"fits": {"large": LINE}}}}
    network = network_from([entry])
    assert network.seconds(1e9, 4, 1) == pytest.approx((20e-6 + 0.2,))
    assert network.seconds(1e9, 1, 1) == (0.0,) and network.seconds(1e9, 8, 2) == ()
    tree, ring = network.seconds(1e9, 16, 1)
    assert tree == pytest.approx(40e-6 + 0.2 * (15 / 16) / (3 / 4)) and ring == pytest.approx(tree + 60e-6)
    assert network.ratio is None


@pytest.mark.parametrize("operations", [
    {}, {"all-reduce": 3}, {"all-reduce": {"fits": {}}}, {"all_reduce": {"fits": {"large": LINE}}},
    {"all-reduce": {"fits": {"large": {**LINE, "beta_gb_s": 0}}}},
    {"all-reduce": {"fits": {"large": {**LINE, "alpha_us": "x"}}}},
    {"all-reduce": {"fits": {"large": {**LINE, "alpha_us": 10**400}}}},
])  # fmt: skip
def test_what_is_no_measurement_is_no_network(operations: dict[str, object]) -> None:
    assert network_from([{"processes": 4, "hosts": 1, "nodes": 1, "operations": operations}]) == Network()


def test_the_bus_bandwidth_alone_is_enough() -> None:
    bus = {"processes": 2, "hosts": 1, "nodes": 1, "operations": {"all-reduce": {"busbw_gb_s": 10.0, "fits": {}}}}
    assert network_from([bus]).seconds(1e9, 2, 1) == pytest.approx((0.1,))


@settings(max_examples=40, deadline=None)
@given(
    st.floats(1e3, 1e12), st.floats(1e-3, 1e6), st.floats(1e-6, 1e9), st.integers(1, 4096), st.booleans(),
    st.sampled_from(["weak", "strong"]),
)  # fmt: skip
def test_any_bytes_and_batch_give_a_finite_answer(
    size: float, batch: float, rate: float, processes: int, several: bool, mode: str
) -> None:
    machine = Machine(4, (1e-6, 1e10), (1e-5, 1e9))
    network = network_from(machine.measured(random.Random(2)))
    lines = [MeasuredValue(1, rate, 1), *([MeasuredValue(4, 3.5 * rate, 1)] if several else [])]
    made = series("x", mode, "img/s", lines)
    known = Knowledge(per_node=4, physics=Physics(network, size, batch))
    (entry,) = forecast(made, [processes], known, advise=False).predictions
    assert 0 < entry["low"] <= entry["value"] <= entry["high"] < float("inf")


def test_the_order_of_events_of_the_simulation_is_plausible() -> None:
    machine = Machine(2, (0.0, 1e12), (0.0, 1e9))
    program = Program(0.1, 1e8, 60, 4, 0.0, 0.0)
    draw = random.Random(0)
    alone, _ = program.step(machine, 1, draw)
    inside, _ = program.step(machine, 2, draw)
    apart, waited = program.step(machine, 8, draw)
    assert alone == pytest.approx(0.1, rel=0.01) and inside == pytest.approx(alone, rel=0.01)
    assert apart > alone + 0.05 and waited == pytest.approx(apart - alone, rel=0.01)
