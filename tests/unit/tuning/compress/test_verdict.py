"""A gain is claimed only outside the noise and without a loss of accuracy; with nothing planted, nothing is claimed."""

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.tuning.compress.measurement import seeds_needed
from hackathon.tuning.compress.verdict import HookTable, final_metric, judge
from hackathon.tuning.options import Option
from hackathon.tuning.slots import TrainingStart

HOOKS = [Option(name, "compression", "rounding", {"hook": name}) for name in ("fp16", "topk", "onebit", "int8")]


def slots(
    draw: random.Random, rounds: int, speed: dict[str, float] | None = None, lost: dict[str, float] | None = None,
    noise: float = 0.05, metric: str = "accuracy",
) -> list[TrainingStart]:  # fmt: skip
    """Return the starts of all rounds: `speed` factors and `lost` accuracy are planted, all else is noise."""
    found = []
    for number in range(rounds):
        seeded = draw.gauss(0, 0.004)  # what the seed does to each training of a round
        for arm, name in enumerate(["none", *(hook.name for hook in HOOKS)]):
            value = 0.95 + seeded + draw.gauss(0, 0.004) - (lost or {}).get(name, 0.0)
            sent = 1000.0 if name == "none" else 500.0
            rate = 100 * (speed or {}).get(name, 1.0) * draw.lognormvariate(0, noise)
            found.append(
                TrainingStart(arm, number, rate, "samples_per_s", "samples/s",
                              numbers={metric: value, "sent_bytes": sent})
            )  # fmt: skip
    return found


def verdicts(table: HookTable) -> dict[str, str]:
    return {row.time.name: row.verdict for row in table.rows}


def test_a_planted_gain_is_found_and_only_that() -> None:
    count = seeds_needed(len(HOOKS))
    assert count == 8
    table = judge(slots(random.Random(1), count, {"fp16": 1.5, "onebit": 0.5}), HOOKS, "accuracy", True)
    assert verdicts(table) == {"fp16": "pays", "onebit": "slower", "topk": "none", "int8": "none"}
    assert table.applied == {"hook": "fp16"} and table.rows[0].time.name == "fp16"
    (fp16,) = (each for each in table.as_json()["hooks"] if each["name"] == "fp16")
    assert fp16["sent_ratio"] == 0.5 and fp16["low"] < 1.5 < fp16["high"] and fp16["accuracy_verdict"] == "same"


@pytest.mark.parametrize("count", [5, 8, 12])
def test_a_hook_that_hurts_is_caught_however_fast_it_is(count: int) -> None:
    caught = 0
    for seed in range(40):
        planted = slots(random.Random(seed), count, {"topk": 3.0}, {"topk": 0.06})
        table = judge(planted, HOOKS, "accuracy", True)
        assert table.applied == {} or "topk" not in table.applied.values()
        caught += verdicts(table)["topk"] == "accuracy"
    assert caught == 40


def test_a_small_loss_that_every_seed_shows_is_caught() -> None:
    draw = random.Random(5)
    starts = slots(draw, 10, {"topk": 2.0})
    for number, each in enumerate(starts):
        if each.arm == 2:
            base = next(one for one in starts if one.arm == 0 and one.round == each.round)
            starts[number] = TrainingStart(
                2, each.round, each.value, "samples_per_s", numbers={"accuracy": base.numbers["accuracy"] - 0.001}
            )
    assert verdicts(judge(starts, HOOKS, "accuracy", True))["topk"] == "accuracy"


def test_nothing_planted_claims_nothing() -> None:
    """Neither a gain nor a loss of accuracy in more tables than the promised share; nothing is applied in them."""
    tables, gains, losses = 300, 0, 0
    for seed in range(tables):
        table = judge(slots(random.Random(1000 + seed), 9), HOOKS, "accuracy", True)
        gains += bool(table.applied)
        losses += "accuracy" in verdicts(table).values()
    assert gains <= 0.05 * tables and losses <= 0.05 * tables, (gains, losses)


def test_few_seeds_claim_no_gain() -> None:
    table = judge(slots(random.Random(2), 5, {"fp16": 4.0}), HOOKS, "accuracy", True)
    assert verdicts(table)["fp16"] == "few" and table.applied == {}
    with_three = judge(slots(random.Random(2), 3, None, {"topk": 0.5}), HOOKS, "accuracy", True)
    assert with_three.as_json()["hooks"][0]["accuracy_verdict"] == "unknown"


def test_a_training_that_ends_in_nan_is_worse() -> None:
    starts = [
        TrainingStart(each.arm, each.round, each.value, "samples_per_s", numbers={"accuracy": math.nan})
        if each.arm == 1
        else each
        for each in slots(random.Random(3), 8, {"fp16": 2.0})
    ]
    table = judge(starts, HOOKS, "accuracy", True)
    assert verdicts(table)["fp16"] == "accuracy"
    assert '"difference": null' in json.dumps(table.as_json(), allow_nan=False)


def test_a_gain_without_a_metric_is_not_claimed() -> None:
    starts = slots(random.Random(4), 8, {"fp16": 2.0}, metric="other")
    assert final_metric(starts, None) == ("", True)
    table = judge(starts, HOOKS, "", True)
    assert verdicts(table)["fp16"] == "unclear" and table.applied == {} and table.as_json()["accuracy_metric"] is None


def test_a_failed_training_fails_its_hook() -> None:
    starts = slots(random.Random(6), 8, {"fp16": 2.0})
    starts[1] = TrainingStart(1, 0, None, failed=True, folder="slots/0001")
    table = judge(starts, HOOKS, "accuracy", True)
    assert verdicts(table)["fp16"] == "failed" and table.applied == {}


def test_the_metric_and_its_direction() -> None:
    starts = slots(random.Random(7), 8, metric="perplexity", lost={"topk": -0.1})
    assert final_metric(starts, {"metric": "perplexity", "at_most": 3.0}) == ("perplexity", False)
    assert final_metric(slots(random.Random(7), 2, metric="loss"), {"metric": "accuracy"}) == ("loss", False)
    table = judge(starts, HOOKS, "perplexity", False)
    assert verdicts(table)["topk"] == "accuracy", "a higher perplexity is worse"


@given(st.integers(0, 12), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_any_part_of_the_starts_is_judged(count: int, seed: int) -> None:
    draw = random.Random(seed)
    starts = slots(draw, count)
    kept = [each for each in starts if draw.random() < 0.7]
    table = judge(kept, HOOKS, "accuracy", True)
    assert len(table.rows) == len(HOOKS)
    json.dumps(table.as_json(), allow_nan=False)
