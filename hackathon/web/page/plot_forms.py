"""The specifications of pictures in few bytes: what sets one apart from the form that pictures of its kind share.

A form is a template of `templates/plots/` with the theme. A difference is JSON, read by `plots.js` (`whole` there):

- anything but an object: the value itself
- `{"=": value}`: the value itself, where it is an object
- `{"|": {column: [values]}}`: rows, `[{column: value}, …]`
- `{"@": [entry, …]}`: a list; an entry is a place in the form's list, `[place, difference]`, or `[value]`
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
"""Part of a figure's name → forms that it may have."""
_LEFT_OUT = ("$schema", "title", "spacing", "datasets")


@functools.cache
def forms() -> dict[str, dict[str, Any]]:
    """Return the forms by name; what all share stands under the empty name."""
    found: dict[str, dict[str, Any]] = {"": {**themed({}), "padding": 2, "autosize": AUTOSIZE}}
    for name in ("scaling", "overview", "progress", "telemetry", "shares", "survey", "trials"):
        spec = json.loads(shipped("templates", "plots", f"{name}.vl.json").read_text(encoding="utf-8"))
        parts = {name: spec}
        if "hconcat" in spec:
            parts = {f"{name}-{order}": panel(spec, each) for order, each in enumerate(PANELS)}
        for key, part in parts.items():
            own = {entry: value for entry, value in part.items() if entry not in _LEFT_OUT}
            found[key] = {entry: value for entry, value in own.items() if found[""].get(entry) != value}
    return found


def forms_file() -> str:
    """Return the script that holds the forms."""
    return f"window.hackathonForms={_text(forms())};\n"


def form_of(name: str) -> dict[str, Any]:
    """Return a whole form."""
    return {**forms()[""], **forms()[name]}


def shortened(figure: str, spec: Mapping[str, Any]) -> list[Any]:
    """Return `[form, difference]` for the specification of a figure; the form is empty where none fits."""
    told: list[Any] = ["", difference(form_of(""), spec)]
    names = [form for part, names in _OF.items() if part in figure.split("-") for form in names]
    for name in names:
        other = [name, difference(form_of(name), spec)]
        if len(_text(other)) < len(_text(told)):
            told = other
    return told


def difference(form: Any, value: Any) -> Any:
    """Return what makes `value` of `form`; ABSENT where they are equal."""
    if isinstance(value, dict):
        told = _of_mapping(form if isinstance(form, dict) else {}, value)
        return ABSENT if isinstance(form, dict) and told == {} else told
    if isinstance(value, list):
        return ABSENT if _same(form, value) else _of_list(form, value)
    return ABSENT if type(form) is type(value) and repr(form) == repr(value) else value


def whole(form: Any, told: Any) -> Any:
    """Return the value that a difference makes of a form."""
    if not isinstance(told, dict):
        return told
    if "=" in told:
        return told["="]
    if "|" in told:
        columns = told["|"]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if "@" in told:
        return [_entry(form, each) for each in told["@"]]
    made = dict(form) if isinstance(form, dict) else {}
    for name in told.get("-", ()):
        made.pop(name, None)
    return {**made, **{name: whole(made.get(name), each) for name, each in told.items() if name != "-"}}


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON, but for the order of keys."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(each, other[name]) for name, each in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other)


def _entry(form: Any, told: Any) -> Any:
    if not isinstance(told, list):
        return form[told]
    return told[0] if len(told) == 1 else whole(form[told[0]], told[1])


def _of_mapping(form: dict[str, Any], value: dict[str, Any]) -> Any:
    if _SIGNS & value.keys():
        return {} if _same(form, value) else {"=": value}
    told = {name: difference(form.get(name, ABSENT), entry) for name, entry in value.items()}
    told = {name: each for name, each in told.items() if each is not ABSENT}
    gone = [name for name in form if name not in value]
    return {**told, **({"-": gone} if gone else {})}


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
    return not any(isinstance(each, (dict, list)) for each in row.values())


def _nearest(form: list[Any], entry: Any) -> Any:
    for place, each in enumerate(form):
        if _same(each, entry):
            return place
    told: Any = [entry]
    least = len(_text(told))
    for place, each in enumerate(form):
        size = len(_text(other := [place, difference(each, entry)]))
        if size < least:
            told, least = other, size
    return told


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
