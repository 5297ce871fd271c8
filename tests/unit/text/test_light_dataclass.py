"""Light data classes behave like those of the standard library."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from hackathon.text import light_dataclass


@light_dataclass.dataclass(frozen=True)
class Light:
    """A record."""

    name: str
    count: int = 2
    words: tuple[str, ...] = dataclasses.field(default_factory=tuple)
    size: int = dataclasses.field(default=0, compare=False)
    notes: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)


@light_dataclass.dataclass(frozen=True)
class LightChild(Light):
    """A record with one field more."""

    last: int = 7

    def __str__(self) -> str:
        return "child"


@dataclasses.dataclass(frozen=True)
class Usual:
    """The same by the standard library."""

    name: str
    count: int = 2
    words: tuple[str, ...] = dataclasses.field(default_factory=tuple)
    size: int = dataclasses.field(default=0, compare=False)
    notes: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)


VALUES: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (("a",), {}), (("a", 3), {}), (("a",), {"count": 3}), ((), {"name": "a", "size": 9}), (("a",), {"words": ("x",)}),
    (("b", 2, (), 1, {"k": "v"}), {}),
)  # fmt: skip


@pytest.mark.parametrize(("values", "named"), VALUES)
def test_values_text_hash_and_copies_are_those_of_a_data_class(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    light, usual = Light(*values, **named), Usual(*values, **named)
    assert dataclasses.asdict(light) == dataclasses.asdict(usual)
    assert repr(light) == repr(usual).replace("Usual", "Light")
    assert hash(light) == hash(usual) and str(light) == repr(light)
    assert pickle.loads(pickle.dumps(light)) == copy.deepcopy(light) == dataclasses.replace(light) == light
    assert dataclasses.replace(light, count=8).count == 8


def test_equal_are_records_of_one_class_whose_compared_fields_are_equal() -> None:
    for left, values in enumerate(VALUES):
        for right, others in enumerate(VALUES):
            pair = [kind(*values[0], **values[1]) == kind(*others[0], **others[1]) for kind in (Light, Usual)]
            assert pair[0] is pair[1], (left, right)
    assert Light("a") != Usual("a") and LightChild("a") != Light("a") and LightChild("a") == LightChild("a", last=7)
    assert str(LightChild("a")) == "child" and repr(LightChild("a")).endswith("notes={}, last=7)")


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((), {"count": 1}), (("a",), {"name": "b"}), (("a",), {"other": 1}), (("a", 1, (), 0, {}, 5), {})],
)
def test_wrong_values_are_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Light, Usual):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_a_record_does_not_change() -> None:
    record = Light("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.count = 3  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del record.count
    assert record == Light("a") and Light("a").words is not None and Light("a").notes is not Light("a").notes
