"""Describe the files that users write: JSON Schema for editors, and the table of all keys for the reference."""

import ast
import functools
import inspect
import itertools
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hackathon.config.cluster import Cluster
from hackathon.config.event import Event
from hackathon.config.project import Project, UserSettings
from hackathon.config.recipe import Recipe
from hackathon.config.records import Least, Parsed, options
from hackathon.config.reference import ReferenceFile
from hackathon.config.rule import RuleFile
from hackathon.config.survey import Survey
from hackathon.text.units import format_size, format_walltime

RECORDS: dict[str, tuple[type, str]] = {
    "project": (Project, "project.yaml"),
    "recipe": (Recipe, "recipe.yaml"),
    "cluster": (Cluster, "templates/clusters/NAME.yaml"),
    "event": (Event, "hackathon.yaml"),
    "survey": (Survey, "survey.yaml"),
    "reference": (ReferenceFile, "reference.yaml"),
    "rule": (RuleFile, "templates/rules/NAME.yaml"),
    "user": (UserSettings, "~/.config/hackathon/config.yaml"),
}
"""Name → (record, the file that it describes). `defaults` is another name of `user`."""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}
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
    """Return the JSON Schema (draft 2020-12) of a file; `name` is one of RECORDS or `defaults`, else KeyError.

    `dialects`: scheduler → its dialect class, for the profile of a cluster.
    """
    record, file = RECORDS["user" if name == "defaults" else name]
    definitions: dict[str, Any] = {}
    schema = {**_object(record, definitions), "title": file}
    cases = []
    for scheduler, kind in sorted((dialects or {}).items()) if record is Cluster else ():
        # a profile's `dialect` depends on its `scheduler`
        condition = {"properties": {"scheduler": {"const": scheduler}}, "required": ["scheduler"]}
        cases.append({"if": condition, "then": {"properties": {"dialect": _value(kind, definitions)}}})
    if cases:
        schema["allOf"] = cases
    if definitions:
        schema["$defs"] = definitions
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _object(record: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record; put the schemas of the records in it into `definitions`."""
    texts, properties, required = _descriptions(record), {}, []
    for field in fields(record):
        properties[field.name] = {**_value(field.type, definitions), "description": texts.get(field.name, "")}
        if field.default is not MISSING:
            properties[field.name]["default"] = field.default
        elif field.default_factory is MISSING:
            required.append(field.name)
    schema = {"type": "object", "description": inspect.getdoc(record) or "", "properties": properties}
    return {**schema, **({"required": required} if required else {}), "additionalProperties": False}


def _value(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the values of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        marker = parts[1]
        if isinstance(marker, Parsed):
            text = {"type": "string"}
            kinds = text if marker.kind == "walltime" else {"anyOf": [text, {"type": "integer"}]}
            return {**kinds, "examples": [marker.example]}
        bound = {"minimum": marker.least} if isinstance(marker, Least) else {}
        return {**_value(parts[0], definitions), **bound}
    if origin in (Union, UnionType):
        return {"anyOf": [_value(part, definitions) for part in parts]}
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _value(parts[0], definitions)}
    if origin is dict:
        names = {} if parts[0] is str else {"propertyNames": {"enum": list(get_args(parts[0]))}}
        return {"type": "object", **names, "additionalProperties": _value(parts[1], definitions) or True}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # a record may hold others of its kind
            definitions[hint.__name__] = {**_object(hint, definitions), "title": hint.__name__}
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return {"type": _TYPES[hint]} if hint in _TYPES else {}


@functools.cache
def _descriptions(record: type) -> dict[str, str]:
    """Return field → its docstring, from the source of the record or of its parent classes."""
    texts: dict[str, str] = {}
    for kind in reversed(record.__mro__):
        try:
            source = textwrap.dedent(inspect.getsource(kind)) if is_dataclass(kind) else ""
        except (OSError, TypeError):  # a plug-in without source, or a class made by a program
            continue
        for definition in ast.parse(source).body:
            for entry, following in itertools.pairwise(getattr(definition, "body", ())):
                match entry, following:
                    case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        texts[name] = inspect.cleandoc(text)
    return texts


def field_reference(name: str, dialects: Mapping[str, type] | None = None) -> list[FieldEntry]:
    """Return every key of a file, nested ones after the key that contains them, in the order of the records.

    The keys of a cluster's dialect are followed by the scheduler's name: `dialect.group (NAME)`.
    """
    record, _ = RECORDS["user" if name == "defaults" else name]
    entries = []
    for entry in _entries(record, ""):
        entries.append(entry)
        if record is Cluster and entry.key == "dialect":
            for scheduler, kind in sorted((dialects or {}).items()):
                entries += [replace(entry, key=f"{entry.key} ({scheduler})") for entry in _entries(kind, "dialect.")]
    return entries


def _entries(record: type, prefix: str) -> Iterator[FieldEntry]:
    for field in fields(record):
        key, text = f"{prefix}{field.name}", " ".join(_descriptions(record).get(field.name, "").split())
        yield FieldEntry(key, _type_text(field.type), _default_text(field), text)
        for ending, inner in _records_in(field.type):
            yield from _entries(inner, f"{key}{ending}.")


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
    """Return `walltime` or `size` for a field that is parsed as one, also an optional field."""
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
