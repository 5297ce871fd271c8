"""What other studies lost beyond the node counts where this one has not been there."""

import math

import pytest

from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.rows import Kin, MeasuredValue, Series, series


def study(
    name: str, efficiencies: dict[int, float], *, cluster: str = "X", model: str = "", per_node: int = 4
) -> Series:
    lines = [MeasuredValue(p, 100 * p * e, math.ceil(p / per_node)) for p, e in efficiencies.items()]
    return series(name, "weak", "img/s", lines, kin=Kin(cluster, model or name, "torch"))


OWN = study("resnet own", {1: 1.0, 4: 0.98}, model="resnet50 ddp")
KIN = [
    study("resnet old", {1: 1.0, 4: 0.97, 8: 0.90, 16: 0.86}, model="resnet50 ddp fp32"),
    study("resnet older", {1: 1.0, 4: 0.98, 8: 0.91, 16: 0.87}, model="resnet50 ddp"),
    study("language model", {1: 1.0, 4: 0.80, 8: 0.50, 16: 0.3}, model="causal lm"),
]


def test_kin_on_the_same_cluster_tell_the_loss_over_the_boundary() -> None:
    (alone,) = forecast(OWN, [8], advise=False).predictions
    (found,) = forecast(OWN, [8], Knowledge(others=KIN), advise=False).predictions
    assert found["basis"] == "history" and found["efficiency"] == pytest.approx(0.91, abs=0.01)
    assert found["high"] - found["low"] < 0.7 * (alone["high"] - alone["low"])
    assert found["shapes"][0]["name"] == "history" and any(w.startswith("node-boundary: ") for w in found["warnings"])


def test_another_cluster_another_mode_and_the_study_itself_say_nothing() -> None:
    strangers = [
        study("far", {1: 1.0, 4: 0.97, 8: 0.5}, cluster="Y", model="resnet50 ddp"),
        study("copy", {1: 1.0, 4: 0.98, 8: 0.2}, model="resnet50 ddp"),  # holds every row of the study
        series("strong", "strong", "img/s", [MeasuredValue(4, 400, 1), MeasuredValue(8, 400, 2)], kin=Kin("X")),
    ]
    assert (
        forecast(OWN, [8], Knowledge(others=strangers), advise=False).predictions
        == forecast(OWN, [8], advise=False).predictions
    )


def test_a_history_of_several_clusters_needs_to_know_which() -> None:
    own = series("resnet", "weak", "img/s", [MeasuredValue(1, 100, 1), MeasuredValue(4, 392, 1)])
    others = [*KIN, study("far", {1: 1.0, 4: 0.97, 8: 0.5}, cluster="Y", model="resnet50 ddp")]
    (found,) = forecast(own, [8], Knowledge(others=others), advise=False).predictions
    assert any(each.startswith("cluster-unknown: ") for each in found["warnings"])
    (found,) = forecast(OWN, [8], Knowledge(others=others), advise=False).predictions
    assert not any(each.startswith("cluster-unknown: ") for each in found["warnings"])


def test_memory_weighs_less_the_more_was_measured() -> None:
    own = study("resnet own", {1: 1.0, 4: 0.99, 8: 0.985, 16: 0.984, 32: 0.98}, model="resnet50 ddp")
    others = [study("resnet old", {4: 0.97, 8: 0.6, 16: 0.4, 32: 0.3, 64: 0.2}, model="resnet50 ddp")]
    (found,) = forecast(own, [64], Knowledge(others=others), advise=False).predictions
    assert found["basis"] == "across-nodes" and found["efficiency"] > 0.9


def test_a_slow_row_of_another_study_is_not_believed() -> None:
    others = [study("old", {1: 1.0, 4: 0.97, 8: 0.5, 16: 0.95, 32: 0.94}, model="resnet50 ddp")]
    (found,) = forecast(OWN, [8], Knowledge(others=others), advise=False).predictions
    assert found["efficiency"] > 0.9


def test_of_a_size_on_few_and_on_many_nodes_the_better_one_tells_a_table_without_nodes() -> None:
    own = series("own", "weak", "img/s", [MeasuredValue(2, 20), MeasuredValue(4, 38.8)])
    lines = [MeasuredValue(2, 20, 1), MeasuredValue(4, 39, 1), MeasuredValue(8, 76, 2)]
    once = series("old", "weak", "img/s", [MeasuredValue(1, 10.1, 1), *lines])
    twice = series("old", "weak", "img/s", [MeasuredValue(1, 10.1, 1), *lines, MeasuredValue(8, 70, 4)])
    expected, found = (forecast(own, [8, 16], Knowledge(others=[each]), advise=False).predictions
                       for each in (once, twice))  # fmt: skip
    assert all("history" in [shape["name"] for shape in each["shapes"]] for each in found)
    assert [each["value"] for each in found] == pytest.approx([each["value"] for each in expected])
