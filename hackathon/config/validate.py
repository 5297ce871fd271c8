"""Check a YAML document against a record, and describe its problems. A valid document does not need pydantic."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from hackathon import __version__
from hackathon.config.check import check_record
from hackathon.config.cluster import Cluster
from hackathon.config.fields import LEAST_MEMORY
from hackathon.config.problems import MOST_NAMED, ConfigError, KeyPath, Problem, listing, nearest, shown
from hackathon.config.records import below, options, rebuild
from hackathon.config.yaml import WIDE_KEY, Document
from hackathon.text.messages import message
from hackathon.text.units import parse_size, with_unit

_EXPECTED = {
    "string_type": "config.kind_text",
    "int_type": "config.kind_int",
    "int_from_float": "config.kind_int",
    "float_type": "config.kind_number",
    "bool_type": "config.kind_bool",
    "list_type": "config.kind_list",
    "dict_type": "config.kind_mapping",
    "dataclass_type": "config.kind_mapping",
}
_UNKNOWN_KEY = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_keyword_only_argument")
_ELEVEN_BOOL = frozenset({"yes", "no", "on", "off", "y", "n"})
_NUMBER = re.compile(r"([-+]?)([0-9]+)((?:\.[0-9]+)?)")


def validate(
    record: type, document: Document, name: str | None = None, dialects: Callable[[str], type | None] | None = None
) -> Any:
    """Return the record for a document; `name`: the name required by the file's location.

    `dialects`: scheduler's name → the class that a cluster's `dialect` is checked against; the record contains the
    dialect as written. Raises ConfigError with all problems.
    """
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        wide = WIDE_KEY.match(value) if isinstance(value, str) else None
        identifier = "config.yaml_wide_colon" if wide else "config.not_mapping"
        values = {"key": wide[1].strip()} if wide else {}
        raise ConfigError([Problem(identifier, document.path, document.line(()), values=values)])
    checked = _checked(record, document, name)
    checked_record, problems, more = checked.record, checked.problems, checked.more
    if record is Cluster and dialects is not None:
        dialect = _dialect(value, document, dialects)
        if dialect is not None:
            problems = [*problems, *(replace(problem, path=("dialect", *problem.path)) for problem in dialect.problems)]
            more += dialect.more
            if checked_record is not None:
                checked_record = replace(checked_record, dialect=dialect.value)
    if problems:
        raise ConfigError(problems, more)
    return checked_record


@dataclass(frozen=True)
class _Checked:
    """The result of checking a document."""

    record: Any
    """The record, without invalid values; None when none can be created."""
    value: dict[str, Any]
    """The document's value, from which the record is created."""
    problems: list[Problem]
    more: int
    """Problems without a message, because there are too many before them."""


def _dialect(value: dict[str, Any], document: Document, dialects: Callable[[str], type | None]) -> _Checked | None:
    """Return a cluster's dialect as its scheduler reads it, None for an unavailable scheduler."""
    scheduler, dialect = value.get("scheduler"), value.get("dialect", {})
    kind = dialects(scheduler) if isinstance(scheduler, str) else None
    if kind is None or not isinstance(dialect, dict):
        return None
    return _checked(kind, document.below("dialect"), None)


def _checked(record: type, document: Document, name: str | None) -> _Checked:
    # copy the values: shared ones could not be changed individually
    value = json.loads(json.dumps(document.value or {}))
    _infer_parameter_types(value)
    built, errors = _attempt(record, value)
    if errors and _texts_as_written(value, errors, document):
        built, errors = _attempt(record, value)
    errors.sort(key=lambda error: document.line(error.path))
    problems = [error.problem(record, document) for error in errors[:MOST_NAMED]]
    if errors:
        # valid values may still contradict each other: check the record without its invalid values
        for error in errors:
            _remove(value, error.path)
        built, again = _attempt(record, value)
        if again and all(error.kinds[0] in _MISSING for error in again):
            for error in again:
                _parent(value, error.path)[error.path[-1]] = "x"
            built, _ = _attempt(record, value)
    if built is not None:
        wrong = {error.path for error in errors}
        for problem in check_record(built, document, name):
            if not any(problem.path[:length] in wrong for length in range(len(problem.path) + 1)):
                problems.append(problem)
    return _Checked(built, value, problems, len(errors[MOST_NAMED:]))


@dataclass(frozen=True)
class _Error:
    """pydantic's errors about one place, combined."""

    path: KeyPath
    kinds: tuple[str, ...]
    value: Any
    about_key: bool
    contexts: tuple[Mapping[str, Any], ...]

    def problem(self, record: type, document: Document) -> Problem:
        """Return it as our problem."""
        identifier, values = self._words(record)
        return Problem(identifier, document.path, document.line(self.path), self.path, values)

    def _words(self, record: type) -> tuple[str, dict[str, Any]]:
        kind = self.kinds[0]
        context = self.contexts[0]
        if kind in _MISSING:
            return "config.missing", {}
        if kind in _UNKNOWN_KEY:
            keys = _known_keys(record, self.path[:-1])
            near = nearest(str(self.path[-1]), keys)
            if near:
                return "config.unknown_key_near", {"near": near}
            return "config.unknown_key", {"known": listing(keys), "version": __version__}
        if kind == "walltime":
            return "config.bad_walltime", {"value": shown(self.value)}
        if kind == "size":
            return _size_words(self.value)
        if kind in ("greater_than_equal", "less_than_equal"):
            bound = context.get("ge", context.get("le"))
            return ("config.too_small" if kind.startswith("g") else "config.too_large"), {"limit": f"{bound:g}"}
        if kind == "finite_number":
            return "config.not_finite", {}
        expected = " ".join(str(context.get("expected", "")) for context in self.contexts)
        choices = tuple(re.findall(r"'([^']*)'", expected))
        if self.kinds == ("literal_error",):
            values = {"value": shown(self.path[-1] if self.about_key else self.value), "choices": listing(choices)}
            near = nearest(str(self.value), choices) if isinstance(self.value, str) else None
            return ("config.choice_near", {**values, "near": near}) if near else ("config.choice", values)
        if all(kind_of_error in _EXPECTED or kind_of_error == "literal_error" for kind_of_error in self.kinds):
            if self.kinds == ("bool_type",) and str(self.value).lower() in _ELEVEN_BOOL:
                return "config.not_bool", {"value": shown(self.value)}
            kinds = tuple(
                dict.fromkeys(_EXPECTED[kind_of_error] for kind_of_error in self.kinds if kind_of_error in _EXPECTED)
            )
            plain = _plain_number(self.value) if isinstance(self.value, str) else None
            if plain is not None and plain != self.value and {"int_type", "float_type"} & {*self.kinds}:
                return "config.odd_number", {"value": shown(self.value), "plain": plain}
            identifier = "config.wrong_kind" if plain is None else "config.quoted_number"
            return identifier, {"expected": _Kinds(kinds, choices), "value": shown(self.value)}
        return "config.wrong_value", {"value": shown(self.value), "kind": kind}


@dataclass(frozen=True)
class _Kinds:
    """Names of kinds of values, rendered on display in the current language."""

    kinds: tuple[str, ...]
    choices: tuple[str, ...]

    def __str__(self) -> str:
        words = [*(message(kind) for kind in self.kinds), *self.choices]
        return message("config.or").join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _size_words(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the id and the values of the message for an invalid memory size."""
    meant = with_unit(value)
    if meant is not None:
        return "config.size_unit", {"value": shown(value), "meant": meant}
    try:
        small = parse_size(value) < LEAST_MEMORY
    except ValueError:
        small = False
    return ("config.too_small", {"limit": "1 MiB"}) if small else ("config.bad_size", {"value": shown(value)})


def _plain_number(text: str) -> str | None:
    """Return a number as YAML reads it: full-width digits converted, leading zeros removed. None: not a number."""
    import unicodedata

    match = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text))
    return f"{match[1]}{match[2].lstrip('0') or '0'}{match[3]}" if match else None


def _attempt(record: type, value: Any) -> tuple[Any, list[_Error]]:
    try:
        return rebuild(record, value), []
    except ValueError:
        # importing pydantic and building its validators takes longer than everything else in a command: use it only for
        # errors
        pass
    from pydantic import TypeAdapter, ValidationError

    # through JSON, because only there pydantic's strict mode accepts dicts for records
    try:
        return TypeAdapter(record).validate_json(json.dumps(value), strict=True), []
    except ValidationError as error:
        return None, _grouped(value, error.errors(include_url=False))


def _grouped(value: Any, errors: list[Any]) -> list[_Error]:
    """Return one error for each place, without branches of a union that do not fit the kind of the value."""
    by_place: dict[tuple[KeyPath, bool], list[Any]] = {}
    for error in errors:
        by_place.setdefault(_place(value, error), []).append(error)
    above = {path[:length] for path, _ in by_place for length in range(len(path))}
    result = []
    for (path, about_key), group in by_place.items():
        exact = [error for error in group if error["type"] not in _EXPECTED and error["type"] != "literal_error"]
        keyed = not about_key and (path, True) in by_place
        if not exact and (path in above or keyed):
            continue
        chosen = exact or group
        result.append(
            _Error(
                path,
                tuple(dict.fromkeys(error["type"] for error in chosen)),
                chosen[0].get("input"),
                about_key,
                tuple(error.get("ctx") or {} for error in chosen),
            )
        )
    return result


def _place(value: Any, error: Any) -> tuple[KeyPath, bool]:
    """Return an error's key path in the file, and whether it is about the key itself.

    pydantic's location also contains the branches of unions; those are not keys and are removed.
    """
    path: list[str | int] = []
    location = error["loc"]
    for index, part in enumerate(location):
        named = isinstance(value, dict) and part in value
        counted = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if named or counted:
            path.append(part)
            value = value[part]
        elif index == len(location) - 1 and error["type"] in (*_MISSING, *_UNKNOWN_KEY):
            path.append(part)
    return tuple(path), location[-1:] == ("[key]",)


def _known_keys(record: type, path: KeyPath) -> list[str]:
    hint: Any = record
    for part in path:
        hint = below(hint, part)
    return [entry.name for option in options(hint) if is_dataclass(option) for entry in fields(option)]


def _texts_as_written(value: Any, errors: list[_Error], document: Document) -> bool:
    """Replace a number by its written text if a text is required (`group: 12`, `version: 1.10`).

    Returns True when something was changed.
    """
    changed = False
    for error in errors:
        if "string_type" in error.kinds and "finite_number" not in error.kinds and error.path in document.words:
            _parent(value, error.path)[error.path[-1]] = document.words[error.path]
            changed = True
    return changed


def _infer_parameter_types(value: dict[str, Any]) -> None:
    """Give parameters without a type the type of their default and choices.

    A limit with a fraction makes whole numbers floats.
    """
    parameters = value.get("parameters")
    for entry in parameters.values() if isinstance(parameters, dict) else ():
        if not isinstance(entry, dict) or "type" in entry:
            continue
        choices = entry.get("choices")
        kinds = {type(entry) for entry in [entry.get("default"), *(choices if isinstance(choices, list) else [])]}
        kinds.discard(type(None))
        if kinds == {int} and float in (type(entry.get("min")), type(entry.get("max"))):
            kinds = {float}
        if kinds == {bool}:
            entry["type"] = "bool"
        elif kinds and kinds <= {int, float}:
            entry["type"] = "float" if float in kinds else "int"


def _parent(value: Any, path: KeyPath) -> Any:
    for part in path[:-1]:
        value = value[part]
    return value


def _remove(value: Any, path: KeyPath) -> None:
    """Remove an invalid value; in a list it becomes None, so that the other indices stay."""
    if not path:
        return
    try:
        parent, last = _parent(value, path), path[-1]
        if isinstance(parent, list) and isinstance(last, int):
            parent[last] = None
        else:
            parent.pop(last, None)
    except (LookupError, TypeError, AttributeError):
        return
