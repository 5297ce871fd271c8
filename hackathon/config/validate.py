"""Check a YAML document against a record, and say in plain words what is wrong."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from hackathon import __version__
from hackathon.config import records
from hackathon.config.check import check_record
from hackathon.config.cluster import Cluster
from hackathon.config.problems import MOST_NAMED, ConfigError, Problem, listing, nearest, shown
from hackathon.config.records import LEAST_MEMORY, KeyPath, Mismatch, below, options
from hackathon.config.yaml import WIDE_KEY, Document
from hackathon.text.messages import Message, _
from hackathon.text.units import clear_walltimes, parse_size, with_unit

_KINDS = {
    str: Message("config.kind_text", "text"),
    int: Message("config.kind_int", "a whole number"),
    float: Message("config.kind_number", "a number"),
    bool: Message("config.kind_bool", "true or false"),
}
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
        identifier = (
            Message("config.yaml_wide_colon", "the colon and the space after a key must be half-width: write `{key}: `")
            if wide
            else Message("config.not_mapping", "the file must consist of `key: value` lines")
        )
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
                problems = [*problems, *_of_other_schedulers(checked_record, document, dialects)]
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


def _of_other_schedulers(
    cluster: Cluster, document: Document, dialects: Callable[[str], type | None]
) -> Iterator[Problem]:
    """Yield the problem of a QOS, partition or constraint in the profile of a scheduler whose jobs have none."""
    fields = getattr(dialects(cluster.scheduler), "patterns", {})
    paths: list[KeyPath] = [] if "constraint" in fields or not cluster.constraint else [("constraint",)]
    for name, queue in cluster.queues.items() if "qos" not in fields else ():
        paths += [("queues", name, key) for key in ("partition", "qos") if getattr(queue, key)]
    for path in paths:
        yield Problem(
            Message("config.of_other_scheduler", "jobs of {scheduler} have no {name}"),
            document.path,
            document.line(path),
            path,
            {"scheduler": cluster.scheduler, "name": path[-1]},
        )


def _checked(record: type, document: Document, name: str | None) -> _Checked:
    # copy the values: shared ones could not be changed individually
    value = json.loads(json.dumps(document.value or {}))
    _infer_parameter_types(value)
    built, errors = records.checked(record, value)
    if errors and _texts_as_written(value, errors, document):
        built, errors = records.checked(record, value)
    errors.sort(key=lambda error: document.line(error.path))
    problems = [_problem(error, record, document) for error in errors[:MOST_NAMED]]
    if errors:
        # valid values may still contradict each other: check the record without its invalid values
        for error in errors:
            _remove(value, error.path)
        built, again = records.checked(record, value)
        if again and all(error.rule == "missing" for error in again):
            for error in again:
                _parent(value, error.path)[error.path[-1]] = "x"
            built, __ = records.checked(record, value)
    if built is not None:
        wrong = {error.path for error in errors}
        for problem in check_record(built, document, name):
            if not any(problem.path[:length] in wrong for length in range(len(problem.path) + 1)):
                problems.append(problem)
    return _Checked(built, value, problems, len(errors[MOST_NAMED:]))


def _problem(error: Mismatch, record: type, document: Document) -> Problem:
    """Return a mismatch in our words."""
    identifier, values = _words(error, record)
    return Problem(identifier, document.path, document.line(error.path), error.path, values)


def _words(error: Mismatch, record: type) -> tuple[str, dict[str, Any]]:
    match error.rule:
        case "missing":
            return Message("config.missing", "is missing"), {}
        case "unknown":
            keys = _known_keys(record, error.path[:-1])
            near = nearest(str(error.path[-1]), keys)
            if near:
                return Message("config.unknown_key_near", "unknown key; did you mean `{near}`?"), {"near": near}
            return Message(
                "config.unknown_key",
                "hackathon {version} does not know this key (the file may be for a newer version); known keys: {known}",
            ), {"known": listing(keys), "version": __version__}
        case "walltime":
            return Message("config.bad_walltime", "{value} is not a walltime such as 00:30:00, 90m or 2h"), {
                "value": shown(error.value)
            }
        case "ambiguous":
            return _ambiguous_words(error.value)
        case "size":
            return _size_words(error.value)
        case "small":
            return Message("config.too_small", "must be at least {limit}"), {"limit": f"{error.hint:g}"}
        case "not_finite":
            return Message("config.not_finite", "must be a finite number"), {}
        case "not_utf8":
            return Message("config.wrong_value", "{value} is not allowed here ({kind})"), {
                "value": shown(error.value),
                "kind": "UTF-8",
            }
        case _:
            return _wrong_kind(error)


def _wrong_kind(error: Mismatch) -> tuple[str, dict[str, Any]]:
    """Return the words for a value, or a key, that is of no type that may stand there."""
    kinds: dict[str, None] = {}
    choices: list[str] = []
    for option in options(error.hint):
        kind = _kind(option)
        if kind:
            kinds[kind] = None
        elif option is not NoneType:
            choices += get_args(option) if get_origin(option) is Literal else [str(option)]
    if not kinds:
        values = {"value": shown(error.value), "choices": listing(choices)}
        near = nearest(error.value, choices) if isinstance(error.value, str) else None
        return (
            (
                Message("config.choice_near", "{value} is not one of: {choices}; did you mean `{near}`?"),
                {**values, "near": near},
            )
            if near
            else (Message("config.choice", "{value} is not one of: {choices}"), values)
        )
    if [*kinds] == [_KINDS[bool]] and not choices and str(error.value).lower() in _ELEVEN_BOOL:
        return Message("config.not_bool", "{value} is text in YAML 1.2; write true or false"), {
            "value": shown(error.value)
        }
    plain = _plain_number(error.value) if isinstance(error.value, str) else None
    if plain is not None and plain != error.value and kinds.keys() & {"config.kind_int", "config.kind_number"}:
        return Message(
            "config.odd_number",
            "a number has half-width digits and no leading zeros; instead of {value}, write {plain}",
        ), {"value": shown(error.value), "plain": plain}
    identifier = (
        Message("config.wrong_kind", "{value} is not {expected}")
        if plain is None
        else Message("config.quoted_number", "{value} is text because it is quoted; write {expected} without quotes")
    )
    return identifier, {"expected": _Kinds(tuple(kinds), tuple(choices)), "value": shown(error.value)}


def _kind(option: Any) -> str | None:
    """Return the message id of what a type is called; None for choices and for nothing."""
    if is_dataclass(option) or get_origin(option) is dict:
        return Message("config.kind_mapping", "a mapping (key: value)")
    return Message("config.kind_list", "a list") if get_origin(option) is list else _KINDS.get(option)


@dataclass(frozen=True)
class _Kinds:
    """Names of kinds of values, rendered on display in the current language."""

    kinds: tuple[str, ...]
    choices: tuple[str, ...]

    def __str__(self) -> str:
        words = [*(_(kind) for kind in self.kinds), *self.choices]
        return _(" or ").join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _ambiguous_words(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the id and the values of the message for a walltime that schedulers read differently."""
    short, long = clear_walltimes(value) or ("", "")
    return Message("config.ambiguous_walltime", "{value} is ambiguous as a time limit; write {short} or {long}"), {
        "value": shown(value),
        "short": short,
        "long": long,
    }


def _size_words(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the id and the values of the message for an invalid memory size."""
    meant = with_unit(value)
    if meant is not None:
        return Message("config.size_unit", "{value} without a unit would be bytes; write a unit, e.g. {meant}"), {
            "value": shown(value),
            "meant": meant,
        }
    try:
        small = parse_size(value) < LEAST_MEMORY
    except ValueError:
        small = False
    return (
        (Message("config.too_small", "must be at least {limit}"), {"limit": "1 MiB"})
        if small
        else (Message("config.bad_size", "{value} is not a size such as 256 GB or 16 GiB"), {"value": shown(value)})
    )


def _plain_number(text: str) -> str | None:
    """Return a number as YAML reads it: full-width digits converted, leading zeros removed. None: not a number."""
    import unicodedata

    match = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text))
    return f"{match[1]}{match[2].lstrip('0') or '0'}{match[3]}" if match else None


def _known_keys(record: type, path: KeyPath) -> list[str]:
    hint: Any = record
    for part in path:
        hint = below(hint, part)
    return [entry.name for option in options(hint) if is_dataclass(option) for entry in fields(option)]


def _texts_as_written(value: Any, errors: list[Mismatch], document: Document) -> bool:
    """Put the written text where a text is wanted and YAML sees a number (`group: 12`, `version: 1.10`).

    Returns True when something was changed.
    """
    changed = False
    for error in errors:
        if error.rule == "kind" and str in options(error.hint) and error.path in document.words:
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
