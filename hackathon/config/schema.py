"""Describe the files that people write: JSON Schema for editors, and the table of all keys for the reference."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from hackathon.config.cluster import Cluster
from hackathon.config.event import Event
from hackathon.config.fields import Parsed
from hackathon.config.project import Defaults, Project
from hackathon.config.recipe import Recipe
from hackathon.config.records import options
from hackathon.config.rule import RuleFile
from hackathon.config.survey import Survey
from hackathon.text.units import format_size, format_walltime

RECORDS: dict[str, tuple[type, str]] = {
    "project": (Project, "project.yaml"),
    "recipe": (Recipe, "recipe.yaml"),
    "cluster": (Cluster, "templates/clusters/NAME.yaml"),
    "event": (Event, "hackathon.yaml"),
    "survey": (Survey, "survey.yaml"),
    "rule": (RuleFile, "templates/rules/NAME.yaml"),
    "user": (Defaults, "~/.config/hackathon/config.yaml"),
}
"""Name → (record, its file). `defaults` is another name of `user`."""
_FORMATS = {"walltime": format_walltime, "size": format_size}


@dataclass(frozen=True)
class FieldEntry:
    """A key of a file, for the reference."""

    key: str
    """The key path; `NAME` stands for any key, `[]` for the items of a list."""
    type: str
    """The allowed values."""
    default: str | None
    """The default value as JSON; None for a required key."""
    description: str
    """Its meaning."""


def json_schema(name: str, dialects: Mapping[str, type] | None = None) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a file, by a name of RECORDS or `defaults`; else raise KeyError.

    `dialects`: scheduler's name → its dialect class, for the profile of a cluster.
    """
    from pydantic import TypeAdapter

    record, file = RECORDS["user" if name == "defaults" else name]
    schema = TypeAdapter(record).json_schema()
    if record is Cluster:
        _with_dialects(schema, dialects or {})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": file}


def _with_dialects(schema: dict[str, Any], dialects: Mapping[str, type]) -> None:
    """Make a profile's `dialect` depend on its `scheduler`."""
    from pydantic import TypeAdapter

    cases = []
    for scheduler, kind in sorted(dialects.items()):
        part = TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
        schema.setdefault("$defs", {}).update({**part.pop("$defs", {}), kind.__name__: part})
        condition = {"properties": {"scheduler": {"const": scheduler}}, "required": ["scheduler"]}
        then = {"properties": {"dialect": {"$ref": f"#/$defs/{kind.__name__}"}}}
        cases.append({"if": condition, "then": then})
    if cases:
        schema["allOf"] = cases


def field_reference(name: str, dialects: Mapping[str, type] | None = None) -> list[FieldEntry]:
    """Return every key of a file, nested ones after the key that contains them, in the order of the records.

    The keys of a cluster's dialect are followed by the scheduler's name: `dialect.group (NAME)`.
    """
    schema = json_schema(name, dialects)
    definitions = schema.get("$defs", {})
    record, _ = RECORDS["user" if name == "defaults" else name]
    texts = {record.__name__: _descriptions(schema)}
    texts.update({title: _descriptions(definition) for title, definition in definitions.items()})
    entries = []
    for entry in _entries(record, "", texts):
        entries.append(entry)
        if record is Cluster and entry.key == "dialect":
            for scheduler, kind in sorted((dialects or {}).items()):
                entries += [
                    replace(entry, key=f"{entry.key} ({scheduler})") for entry in _entries(kind, "dialect.", texts)
                ]
    return entries


def _descriptions(schema: dict[str, Any]) -> dict[str, str]:
    return {key: " ".join(entry.get("description", "").split()) for key, entry in schema.get("properties", {}).items()}


def _entries(record: type, prefix: str, texts: dict[str, dict[str, str]]) -> Iterator[FieldEntry]:
    for field in fields(record):
        key = f"{prefix}{field.name}"
        yield FieldEntry(key, _type_text(field.type), _default_text(field), texts[record.__name__][field.name])
        for ending, inner in _records_in(field.type):
            yield from _entries(inner, f"{key}{ending}.", texts)


def _records_in(hint: Any) -> Iterator[tuple[str, type]]:
    """Yield (suffix of the key, record) for the records that a field may contain."""
    for option in options(hint):
        if is_dataclass(option) and isinstance(option, type):
            yield "", option
        elif get_origin(option) is dict:
            yield from ((f".NAME{ending}", inner) for ending, inner in _records_in(get_args(option)[1]))
        elif get_origin(option) is list:
            yield from ((f"[]{ending}", inner) for ending, inner in _records_in(get_args(option)[0]))


def _parsed(hint: Any) -> str | None:
    """Return `walltime` or `size` for such a field, also an optional one."""
    if get_origin(hint) is Annotated:
        return next((marker.kind for marker in get_args(hint)[1:] if isinstance(marker, Parsed)), None)
    return next((kind for part in get_args(hint) if (kind := _parsed(part))), None)


def _type_text(hint: Any) -> str:
    if kind := _parsed(hint):
        return kind
    words: list[str] = []
    for option in options(hint):
        if get_origin(option) is Literal:
            words += [str(choice) for choice in get_args(option)]
        elif get_origin(option) is dict:
            keys, inner = get_args(option)
            name = "NAME" if keys is str else " / ".join(get_args(keys))
            words.append(f"{{{name}: {_type_text(inner)}}}")
        elif get_origin(option) is list:
            words.append(f"[{_type_text(get_args(option)[0])}]")
        elif is_dataclass(option):
            words.append("{…}")
        elif option is Any:
            words.append("…")
        elif option is not NoneType:
            words.append(option.__name__)
    return " | ".join(words)


def _default_text(field: "Field[Any]") -> str | None:
    if field.default is MISSING and field.default_factory is MISSING:
        return None
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if is_dataclass(value):
        return "{}"
    kind = _parsed(field.type)
    if kind and isinstance(value, int):
        return _FORMATS[kind](value)
    return json.dumps(value, ensure_ascii=False)
