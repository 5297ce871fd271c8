"""Which way a metric is better, and for which it is not known."""

import pytest

from hackathon.scaling.directions import known_direction


@pytest.mark.parametrize(
    ("metric", "unit", "more"),
    [
        ("samples_per_s", "samples/s", True), ("samples_per_s", "", True), ("tokens", "tokens/s/GPU", True),
        ("speed", "ns/day", True), ("val_accuracy", "", True), ("accuracy", "%", True), ("BLEU", "", True),
        ("epoch_time", "s", False), ("step", "ms", False), ("x", "s/step", False), ("val_loss", "", False),
        ("perplexity", "", False), ("top5_err", "", False), ("word error", "%", False),
        ("communication", "%", None), ("gradient_bytes", "bytes", None), ("epoch", "", None), ("accumulated", "", None),
        ("glossary", "", None), ("memory", "GiB", None),
    ],
)  # fmt: skip
def test_by_unit_and_name(metric: str, unit: str, more: bool | None) -> None:
    assert known_direction(metric, None, unit) is more


def test_a_check_decides() -> None:
    assert known_direction("score", {"metric": "score", "at_least": 1.0, "at_most": None}) is True
    assert known_direction("accuracy", {"metric": "accuracy", "at_least": None, "at_most": 1.0}) is False
    assert known_direction("score", {"metric": "score", "at_least": 0.5, "at_most": 1.0}) is None
    assert known_direction("score", {"metric": "other", "at_least": 0.5, "at_most": None}) is None
