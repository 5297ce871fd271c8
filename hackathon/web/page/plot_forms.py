"""Shorten the specifications of pictures: store only the difference from a form that similar pictures share.

A form is a template of `templates/plots/` with the theme. A difference is JSON, read by `plots.js` (`whole` there):

- anything but an object: the value itself
- `{"=": value}`: the value itself, if it is an object
- `{"|": {column: [values]}}`: rows, `[{column: value}, …]`
- `{"@": [entry, …]}`: a list; an entry is an index in the form's list, `[index, difference]`, or `[value]`
- any other object: differences by key; keys under `-` are left out
"""

import functools
import json
from collections.abc import Mapping
from typing import Any

from hackathon.scaling.plot import PANELS, panel
from hackathon.text.paths import shipped
from hackathon.web.page.figures import themed

ABSENT = object()
AUTOSIZE = {"type": "fit", "contains": "padding"}
_SIGNS = frozenset("=|@-")
_OF = {
    "speedup": ("scaling-0", "overview-0"), "efficiency": ("scaling-1", "overview-1"),
    "all": ("overview-0", "overview-1"), "progress": ("progress",), "telemetry": ("telemetry",),
    "shares": ("shares",), "ratings": ("survey",), "trial": ("trials",),
}  # fmt: skip
"""Prefix of a figure's name → its possible forms."""
_LEFT_OUT = ("$schema", "title", "spacing", "datasets")


@functools.cache
def forms() -> dict[str, dict[str, Any]]:
    """Return the forms by name; the part that all share has the empty name."""
    specs: dict[str, dict[str, Any]] = {"": {**themed({}), "padding": 2, "autosize": AUTOSIZE}}
    for name in ("scaling", "overview", "progress", "telemetry", "shares", "survey", "trials"):
        spec = json.loads(shipped("templates", "plots", f"{name}.vl.json").read_text(encoding="utf-8"))
        parts = {name: spec}
        if "hconcat" in spec:
            parts = {f"{name}-{order}": panel(spec, title) for order, title in enumerate(PANELS)}
        for key, part in parts.items():
            own = {entry: value for entry, value in part.items() if entry not in _LEFT_OUT}
            specs[key] = {entry: value for entry, value in own.items() if specs[""].get(entry) != value}
    return specs


def forms_file() -> str:
    """Return the script that defines the forms."""
    return f"window.hackathonForms={_text(forms())};\n"


def form_of(name: str) -> dict[str, Any]:
    """Return a complete form."""
    return {**forms()[""], **forms()[name]}


def shortened(figure: str, spec: Mapping[str, Any]) -> list[Any]:
    """Return `[form, difference]` for a figure's specification; the form's name is empty if none matches."""
    shortest: list[Any] = ["", difference(form_of(""), spec)]
    names = [form for part, names in _OF.items() if part in figure.split("-") for form in names]
    for name in names:
        other = [name, difference(form_of(name), spec)]
        if len(_text(other)) < len(_text(shortest)):
            shortest = other
    return shortest


def difference(form: Any, value: Any) -> Any:
    """Return the difference that turns `form` into `value`; ABSENT if they are equal."""
    if isinstance(value, dict):
        change = _of_mapping(form if isinstance(form, dict) else {}, value)
        return ABSENT if isinstance(form, dict) and change == {} else change
    if isinstance(value, list):
        return ABSENT if _same(form, value) else _of_list(form, value)
    return ABSENT if type(form) is type(value) and repr(form) == repr(value) else value


def whole(form: Any, change: Any) -> Any:
    """Return the value that a difference makes of a form."""
    if not isinstance(change, dict):
        return change
    if "=" in change:
        return change["="]
    if "|" in change:
        columns = change["|"]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if "@" in change:
        return [_entry(form, entry) for entry in change["@"]]
    value = dict(form) if isinstance(form, dict) else {}
    for name in change.get("-", ()):
        value.pop(name, None)
    return {**value, **{name: whole(value.get(name), part) for name, part in change.items() if name != "-"}}


def _same(value: Any, other: Any) -> bool:
    """Return whether two values are the same JSON, regardless of the order of keys."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(_same(entry, other[name]) for name, entry in value.items())
    if isinstance(value, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return repr(value) == repr(other)


def _entry(form: Any, change: Any) -> Any:
    if not isinstance(change, list):
        return form[change]
    return change[0] if len(change) == 1 else whole(form[change[0]], change[1])


def _of_mapping(form: dict[str, Any], value: dict[str, Any]) -> Any:
    if _SIGNS & value.keys():
        return {} if _same(form, value) else {"=": value}
    changes = {name: difference(form.get(name, ABSENT), entry) for name, entry in value.items()}
    changes = {name: change for name, change in changes.items() if change is not ABSENT}
    gone = [name for name in form if name not in value]
    return {**changes, **({"-": gone} if gone else {})}


def _of_list(form: Any, value: list[Any]) -> Any:
    if not value or not all(isinstance(entry, dict) for entry in value):
        return value
    names = list(value[0])
    if names and all(list(row) == names for row in value) and all(_flat(row) for row in value):
        return {"|": {name: [row[name] for row in value] for name in names}}
    if not isinstance(form, list) or not form:
        return value
    return {"@": [_nearest(form, entry) for entry in value]}


def _flat(row: Mapping[str, Any]) -> bool:
    return not any(isinstance(cell, (dict, list)) for cell in row.values())


def _nearest(form: list[Any], entry: Any) -> Any:
    for index, candidate in enumerate(form):
        if _same(candidate, entry):
            return index
    nearest: Any = [entry]
    least = len(_text(nearest))
    for index, candidate in enumerate(form):
        size = len(_text(other := [index, difference(candidate, entry)]))
        if size < least:
            nearest, least = other, size
    return nearest


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
