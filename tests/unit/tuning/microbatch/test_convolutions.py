"""Measured kernels of convolutions: whatever a file holds is read, and only what pays is split."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hackathon.runs.directory import RunDirectory
from hackathon.tuning.microbatch.convolutions import Layer, plan_layers, read_layers
from hackathon.tuning.microbatch.layers import Kernel


def layer(name: str, whole: float, half: float, workspace: int = 0, small: int = 0) -> Layer:
    return Layer(name, 8, {8: [Kernel(whole, workspace)], 4: [Kernel(half, small)]})


def test_only_what_saves_enough_is_split() -> None:
    layers = [layer("fast in halves", 1.0, 0.3), layer("a little", 1.0, 0.49), layer("slower", 1.0, 0.7)]
    plan = plan_layers(layers, math.inf)
    assert plan is not None and {name: split.sizes for name, split in plan.splits.items()} == {"fast in halves": (4, 4)}
    assert plan.seconds == 3.0 and plan.planned == pytest.approx(2.6)
    assert plan.option.settings == {"env.HACKATHON_LAYER_SPLITS": '{"fast in halves":[4,4]}'}
    json.dumps(plan.as_json(), allow_nan=False)


def test_a_limit_forces_a_slower_split_and_a_shared_one_chooses_where() -> None:
    layers = [layer("one", 1.0, 0.6, 100, 10), layer("two", 1.0, 0.9, 100, 10)]
    each = plan_layers(layers, 50)
    assert each is not None and set(each.splits) == {"one", "two"}
    together = plan_layers(layers, 110, shared=True)
    assert together is not None and set(together.splits) == {"one"}, "the cheaper one gives way"
    assert plan_layers(layers, 5) is None and plan_layers(layers, 15, shared=True) is None


def test_nothing_is_planned_for_a_program_without_layers() -> None:
    plan = plan_layers([], math.inf)
    assert plan is not None and plan.splits == {} and plan.seconds == 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
MEASURED = st.dictionaries(
    st.text(max_size=5),
    st.fixed_dictionaries(
        {"batch": VALUES | st.integers(1, 8), "kernels": st.dictionaries(st.sampled_from(["1", "4", "8", "x"]), VALUES)}
    ),
    max_size=3,
)


@given(value=VALUES | MEASURED)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_file_holds_is_read_or_left(value: Any, tmp_path: Path) -> None:
    slot = tmp_path / "slots" / "0000"
    slot.mkdir(parents=True, exist_ok=True)
    (slot / "layers.json").write_text(json.dumps(value))
    found = read_layers(RunDirectory(tmp_path))
    assert all(each.batch in each.kernels for each in found)
    plan_layers(found, math.inf)
