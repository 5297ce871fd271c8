"""Translate the variables that a scheduler sets in a job; the rest of the commands stays as it is."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hackathon.schedulers.scripts import ScriptLanguage, ScriptRequest
from hackathon.text.messages import _


@dataclass(frozen=True)
class Translation:
    """The commands of a script for another scheduler."""

    lines: tuple[str, ...]
    changed: tuple[tuple[str, str], ...]
    """(variable, its replacement), once for each variable."""
    remaining: tuple[tuple[int, str, str], ...]
    """(line, counted from 1, variable, reason) without an equal one."""


def translated(
    lines: tuple[str, ...],
    source: ScriptLanguage,
    target: ScriptLanguage,
    request: ScriptRequest,
    differing: frozenset[str] = frozenset(),
    shift: int = 0,
) -> Translation:
    """Return the lines of a script with the other scheduler's variables; comments stay.

    A variable that the script sets itself is its own from there on. `differing`: meanings of variables that have other
    values in the new job. `shift`: by how much the numbers of an array's tasks are greater there.
    """
    if source.name == target.name or not source.variables:
        return Translation(lines, (), ())
    meanings = _meanings(source)
    names = {meaning: name for meaning, name in _names(source, target, request).items() if meaning not in differing}
    tasks = _alternatives(_tasks(source))
    number_of_task = f"$(({names.get('task')} - {shift}))"
    pattern = re.compile(rf"(\$\{{?[#!]?)?\b({_alternatives(meanings)}|{source.variables})\b")
    own = {pair.partition("=")[0] for pair in (request.variables or "").split(",")}
    result: list[str] = []
    changed: dict[str, str] = {}
    remaining: dict[tuple[int, str], str] = {}

    def replacement(match: re.Match[str]) -> str:
        dollar, name = match[1] or "", match[2]
        before, behind = match.string[: match.start()], match.string[match.end() :]
        is_word = (
            not re.fullmatch(source.variables, name) or re.search(r"[\w./-]\Z", before) or re.match(r"=(?!=)", behind)
        )
        if name in own or (not dollar and is_word):
            return match[0]
        meaning = meanings.get(name, "")
        other = names.get(meaning)
        if other is None:
            remaining[len(result) + 1, name] = _reason(meaning, target, request)
            return match[0]
        if other != name:
            changed[name] = other
        return f"{dollar}{other}"

    for line in lines:
        if not line.lstrip().startswith("#"):
            sets = re.findall(r"(?:^|[\s;])([A-Za-z_]\w*)\+?=|\b(?:for|read)\s+(\w+)", line)
            if shift:
                for task in re.findall(rf"\$\{{?({tasks})\b", line):
                    changed[task] = number_of_task
                line = re.sub(rf"\$(?:(?:{tasks})\b|\{{(?:{tasks})\}})", number_of_task, line)
            line = pattern.sub(replacement, line)
            own |= {name for pair in sets for name in pair if name}
        result.append(line)
    rows = tuple((number, name, reason) for (number, name), reason in remaining.items())
    return Translation(tuple(result), tuple(changed.items()), rows)


def _meanings(source: ScriptLanguage) -> Mapping[str, str]:
    return source.relatives.meanings if source.relatives else source.meanings


def _tasks(source: ScriptLanguage) -> list[str]:
    return [name for name, meaning in _meanings(source).items() if meaning == "task"]


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


def _names(source: ScriptLanguage, target: ScriptLanguage, request: ScriptRequest) -> dict[str, str]:
    """Return meaning → variable of the other scheduler, as far as the value is equal in this job."""
    names: dict[str, str] = {}
    for name, meaning in target.meanings.items():
        shared = request.array is not None and target.shared_id and meaning == "id"
        names.setdefault("id of the array" if shared else meaning, name)
    if request.array is not None and source.shared_id:
        names["id"] = names.get("id of the array", "")
    if request.per_node() in (None, 1):
        # one line per process is then one per node
        file = names.get("hosts") or names.get("nodes file")
        names |= {"hosts": file, "nodes file": file} if file else {}
    return {meaning: name for meaning, name in names.items() if name}


def shift_of_tasks(
    lines: tuple[str, ...], source: ScriptLanguage, target: ScriptLanguage, request: ScriptRequest
) -> int:
    """Return by how much the numbers of an array's tasks grow for a scheduler that counts from 1; 0 where they stay.

    They grow only if the commands use the number, and always in a form that can be replaced by a difference.
    """
    first = re.match(r"\d+", request.array or "")
    if first is None or int(first[0]) >= target.first_task:
        return 0
    code = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    tasks = _alternatives(_tasks(source))
    uses = re.findall(rf"\b(?:{tasks})\b", code)
    plain = re.findall(rf"\$(?:(?:{tasks})\b|\{{(?:{tasks})\}})", code)
    bounds = [name for name, meaning in _meanings(source).items() if meaning in ("first task", "last task")]
    others = bounds and re.search(rf"\b(?:{_alternatives(bounds)})\b", code)
    return target.first_task if uses and len(uses) == len(plain) and not others else 0


def _reason(meaning: str, target: ScriptLanguage, request: ScriptRequest) -> str:
    if meaning in ("hosts", "nodes file") and {"hosts", "nodes file"} & set(target.meanings.values()):
        return _(
            "{scheduler}'s file of nodes has another form when a node has several processes", scheduler=target.title
        )
    if meaning == "id" and request.array is not None:
        return _("in {scheduler} all tasks of an array have the same id", scheduler=target.title)
    return _("{scheduler} sets no equal variable", scheduler=target.title)
