"""JSON Schema of the JSON that commands print, made of types: dataclasses, typed dicts and what they contain."""

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def type_schema(kind: Any, title: str, version: int) -> dict[str, Any]:
    """Return the schema of objects of a type, or of one of several types, with `schema_version` `version`.

    `kind`: a dataclass, a typed dict, a union or a list of them; a tuple stands for types whose keys are in one object.
    Other keys are allowed, because adding one keeps the version.
    """
    definitions: dict[str, Any] = {}
    kinds = kind if isinstance(kind, list) else get_args(kind) if get_origin(kind) in (Union, UnionType) else [kind]
    objects = [_top(entry, version, definitions) for entry in kinds]
    body = objects[0] if len(objects) == 1 else {"anyOf": objects}
    return {"$schema": DRAFT, "title": title, **body, **({"$defs": definitions} if definitions else {})}


def _top(kind: Any, version: int, definitions: dict[str, Any]) -> dict[str, Any]:
    records = [_record(part, definitions) for part in (kind if isinstance(kind, tuple) else (kind,))]
    properties = {"schema_version": {"const": version}}
    for record in records:
        properties = {**record["properties"], **properties}
    required = [name for record in records for name in record["required"]]
    return {**records[0], "properties": properties, "required": list(dict.fromkeys([*required, "schema_version"]))}


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required, Annotated):
        return _schema(parts[0], definitions)
    if origin in (Union, UnionType):
        return _either([_schema(part, definitions) for part in parts])
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (list, tuple):
        members = [part for part in dict.fromkeys(parts) if part is not Ellipsis]
        items = [_schema(member, definitions) for member in members]
        return {"type": "array", "items": items[0] if len(items) == 1 else _either(items)}
    if hint is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        parts = parts or (str, Any)
        return {"type": "object", "additionalProperties": _schema(parts[1], definitions) or True}
    if isinstance(hint, type) and (is_dataclass(hint) or is_typeddict(hint)):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # a record may hold others of its kind
            definitions[hint.__name__] = _record(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return {"type": _TYPES[hint]} if hint in _TYPES else {}


def _either(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of values that fit one of some; plain types become one list."""
    plain = [schema["type"] for schema in schemas if set(schema) == {"type"}]
    other = [schema for schema in schemas if set(schema) != {"type"}]
    if not other:
        return {"type": plain}
    types = [{"type": plain[0] if len(plain) == 1 else plain}] if plain else []
    return {"anyOf": [*other, *types]}


def _record(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a dataclass, whose fields with a default may be absent, or of a typed dict."""
    texts = _descriptions(kind)
    if is_dataclass(kind):
        entries = [entry for entry in fields(kind) if entry.metadata.get("json", True)]
        required = [entry.name for entry in entries if entry.default is MISSING and entry.default_factory is MISSING]
        names = {entry.name for entry in entries}
    else:
        names = set(kind.__annotations__)
        required = [name for name in kind.__annotations__ if name in kind.__required_keys__]
    hints = get_type_hints(kind, include_extras=True)
    properties = {}
    for name in hints:
        if name in names:
            about = {"description": texts[name]} if name in texts else {}
            properties[name] = {**_schema(hints[name], definitions), **about}
    schema = {"type": "object", "properties": properties, "required": required}
    document = (kind.__doc__ or "").strip()
    return {"description": inspect.cleandoc(document), **schema} if document else schema


@functools.cache
def _descriptions(kind: Any) -> dict[str, str]:
    """Return field → its docstring, from the source of a type and of those that it extends."""
    texts: dict[str, str] = {}
    bases = getattr(kind, "__orig_bases__", ()) if is_typeddict(kind) else kind.__mro__[1:]
    for base in bases:
        if is_dataclass(base) or is_typeddict(base):
            texts |= _descriptions(base)
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):  # a type without source
        return texts
    for definition in ast.parse(source).body:
        for entry, following in itertools.pairwise(getattr(definition, "body", ())):
            match entry, following:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[name] = " ".join(inspect.cleandoc(text).split())
    return texts
