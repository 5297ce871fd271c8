"""A plan made in the training program: what it measures, what it decides, and what it says if nothing fits."""

import copy
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

import torch

from hackathon.parallel import AutoParallel, plan_here
from hackathon.parallel.description.planning import link_of_ranks, memory_of
from hackathon.parallel.plan.devices import Devices
from hackathon.text.errors import RequestError
from support.partitioned_models import example
from support.patience import STRETCH

pytestmark = [pytest.mark.torch, pytest.mark.slow]
DEVICES = Devices(4, 1e9, 1e12, 0.0, 1e12, host_bandwidth=1e12)


def planned(name: str, replicas: list[int], devices: Devices = DEVICES, **options: Any) -> tuple[Any, dict[str, Any]]:
    model, batch, loss = example(name, 8)
    before = {key: each.clone() for key, each in model.state_dict().items()}
    plan = plan_here(
        model,
        batch,
        devices,
        loss=loss,
        micro_batches=4,
        replicas=replicas,
        seconds=1.0,
        search_seconds=STRETCH * 15.0,
        **options,
    )
    assert all(torch.equal(each, before[key]) for key, each in model.state_dict().items()) and model.training
    return (model, batch, loss), plan


@pytest.mark.parametrize(("name", "replicas"), [("chain", [1, 1]), ("gpt", [1, 2]), ("unet", [1])])
def test_plan_has_the_stages_that_were_asked_for(name: str, replicas: list[int]) -> None:
    _, plan = planned(name, replicas)
    assert plan["feasible"] and plan["objective"] == "step" and plan["micro_batches"] == 4
    assert [each["replicas"] for each in plan["stages"]] == replicas
    assert plan["value"] >= plan["bound"] > 0
    operators = [each for stage in plan["stages"] for each in stage["operators"]]
    assert len(set(operators)) == len(operators) > 5
    # forward and backward passes were measured: no stage takes no time
    assert all(each["forward"] > 0 and each["backward"] > 0 for each in plan["stages"])


def test_runtime_follows_the_plan() -> None:
    (model, batch, loss), plan = planned("gpt", [1], recompute="all", offload="all")
    assert [(each["recompute"], each["offload"]) for each in plan["stages"]] == [(True, True)]
    plain = copy.deepcopy(model)
    parallel = AutoParallel(
        model, loss=loss, optimizer=lambda each: torch.optim.SGD(each, 0.1), example=batch, plan=plan, seed=1
    )
    parallel.step(batch)
    assert parallel.streamed is not None
    memory = plan["stages"][0]["memory"]
    assert parallel.streamed.planned == memory["parameters"] + memory["gradients"] + memory["optimizer"]
    state = parallel.state_dict()
    assert any(not torch.equal(state[key], each) for key, each in plain.state_dict().items())


def test_model_that_does_not_fit_is_refused_with_its_operator() -> None:
    small = Devices(4, 1000.0, 1e12, 0.0, 1e12, host_bandwidth=1e12)
    with pytest.raises(RequestError) as refused:
        planned("chain", [1, 1], small)
    told = refused.value
    assert "no plan fits: operator" in told.message and told.hint is not None and "recompute=auto" in told.hint


def test_replicas_that_cannot_be_are_not_said_to_lack_memory() -> None:
    for replicas, identifier in (([3, 2], "plan.too_few_devices"), ([5], "plan.idle_replicas")):
        with pytest.raises(RequestError) as refused:
            planned("chain", replicas, Devices(4, 1e9, 1e12, 0.0, 1e12))
        assert refused.value.id == identifier and "{" not in refused.value.message


def test_machine_is_measured() -> None:
    cpu = torch.device("cpu")
    link = link_of_ranks(cpu)
    assert link.latency == 0 and link.bandwidth == link.host_bandwidth > 1e6
    assert 1e8 < memory_of(cpu, 2) == memory_of(cpu, 1) / 2
