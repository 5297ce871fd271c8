"""Write a new profile from the answers of a person and the scheduler; other values are marked as guesses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hackathon.config.yaml_edit import inline
from hackathon.schedulers import registry
from hackathon.schedulers.comparison import Machine, limits, shape
from hackathon.schedulers.dialect import Dialect
from hackathon.text.messages import _, ngettext

ASKED, TOLD, GUESSED = "asked", "told", "guess"
"""Ids of the sources: the scheduler, the person, neither."""
QUESTIONS = ("group", "gpu_request")
"""Keys of dialects that every job needs but no scheduler reports."""


@dataclass(frozen=True)
class ProfileAnswers:
    """A person's answers about the machine; None: unknown, so a marked guess is written."""

    scheduler: str
    title: str | None = None
    gpus: int | None = None
    processes_per_node: int | None = None
    starter: str | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the scheduler's dialect."""
    environment: tuple[str, ...] = ()
    visible_from_nodes: tuple[str, ...] = ()


def open_questions(scheduler: str) -> list[str]:
    """Return the keys of a scheduler's dialect that a person must answer."""
    kind = registry.dialect_type(scheduler) or Dialect
    return [entry.name for entry in fields(kind) if entry.name in QUESTIONS]


def counted_keys(scheduler: str, dialect: Mapping[str, Any], machine: Machine | None) -> Mapping[str, str]:
    """Return the keys of a scheduler's dialect that request the GPUs which it counts on the machine's nodes.

    `dialect`: the keys that a person gave.
    """
    counted = [group for group in machine.nodes if group.gpus] if machine is not None else []
    return registry.load_dialect(scheduler, dialect).keys_for_gpus(counted[0]) if counted else {}


def likely_starter(scheduler: str) -> str:
    """Return the likely command that starts a process on every node."""
    dialect = registry.load_dialect(scheduler)
    return "local" if dialect.this_machine else "srun" if dialect.has_launcher("srun") else "mpirun"


def draft(name: str, answers: ProfileAnswers, machine: Machine | None, commands: list[str], day: str) -> str:
    """Return the text of a profile.

    `machine`: the scheduler's report, from `commands`; None: it was not queried.
    """
    cited: dict[str, str] = {"scheduler": TOLD}
    lines = [f"name: {inline(name)}", f"title: {inline(answers.title or name)}", f"scheduler: {answers.scheduler}"]
    if machine is not None:
        machine = _with_gpus_first(machine)
    lines += _dialect(answers, machine, cited)
    lines += _node(answers, machine, cited)
    lines += _queues(machine, cited, day)
    cited["starter"] = TOLD if answers.starter else GUESSED
    lines.append(f"starter: {answers.starter or likely_starter(answers.scheduler)}")
    for key in ("environment", "visible_from_nodes"):
        values = getattr(answers, key)
        if values:
            cited[key] = TOLD
            lines += [f"{key}:", *(f"  - {inline(value)}" for value in values)]
    if not answers.environment:
        lines += [
            "# environment:   " + _("what the site's own job examples begin with, e.g."),
            "#   - . /etc/profile.d/modules.sh",
        ]
    guessed = [key for key, source in cited.items() if source == GUESSED or (key == "node.cores" and _threads(machine))]
    if guessed:
        lines += ["unverified:", *(f"  - {key}" for key in guessed)]
    titles = {
        ASKED: _("asked of the scheduler: {commands}", commands=", ".join(f"`{command}`" for command in commands)),
        TOLD: _("who wrote the profile"),
        GUESSED: _("a guess of `hackathon clusters new`"),
    }
    lines.append("sources:")
    for source, title in titles.items():
        if source in cited.values():
            unsure = {"confirmed": False} if source == GUESSED else {}
            lines.append(f"  {source}: {inline({'title': title, 'date': day, **unsure})}")
    lines += ["evidence:", *(f"  {key}: {source}" for key, source in cited.items())]
    return "\n".join(lines) + "\n"


def _threads(machine: Machine | None) -> bool:
    """Return whether the cores are the scheduler's CPUs, which may be hardware threads."""
    return bool(machine and machine.nodes and machine.nodes[0].cores is None)


def _with_gpus_first(machine: Machine) -> Machine:
    """Return the machine with the most frequent nodes that have GPUs first: a profile describes one kind of node."""
    return replace(machine, nodes=sorted(machine.nodes, key=lambda group: not group.gpus))


def _dialect(answers: ProfileAnswers, machine: Machine | None, cited: dict[str, str]) -> Iterator[str]:
    default = registry.load_dialect(answers.scheduler)
    counted = dict(counted_keys(answers.scheduler, answers.dialect, machine))
    if machine is not None and any(queue.scatters is False for queue in machine.queues):
        counted |= default.keys_to_scatter()
    values = {key: getattr(default, key) for key in open_questions(answers.scheduler)} | counted
    values |= dict(answers.dialect)
    for key in values:
        cited[f"dialect.{key}"] = TOLD if key in answers.dialect else ASKED if key in counted else GUESSED
    if values:
        yield f"dialect: {inline(values)}"


def _node(answers: ProfileAnswers, machine: Machine | None, cited: dict[str, str]) -> Iterator[str]:
    """Yield the shape of a node: the most frequent kind, and a comment on the others."""
    if registry.load_dialect(answers.scheduler).this_machine:
        cited |= {"node": GUESSED, "processes_per_node": GUESSED}
        yield "node: {cores: auto, gpus: auto}   # " + _("counted when a job is made")
        yield "processes_per_node: auto"
        return
    groups = machine.nodes if machine else []
    node = shape(groups[0]) if groups else {}
    cited |= {f"node.{key}": ASKED for key in node}
    for key, guess in (("cores", "auto"), ("gpus", 0)):
        if key not in node:
            node[key] = guess
            cited[f"node.{key}"] = GUESSED
    if answers.gpus is not None:
        node["gpus"], cited["node.gpus"] = answers.gpus, TOLD
    for group in groups[1:]:
        queues = ", ".join(group.queues)
        yield "# " + ngettext(
            "{nodes} other node: {shape}; queues: {queues}",
            "{nodes} other nodes: {shape}; queues: {queues}",
            group.nodes,
            nodes=group.nodes,
            shape=inline(shape(group)),
            queues=queues or "–",
        )
    if groups and groups[0].gpus is None and answers.gpus is None:
        several = groups[0].gpu_resource
        yield "# " + (
            _("GPUs: not known: each of these resources may stand for them: {names}", names=several)
            if several
            else _("GPUs: not known: the scheduler does not tell")
        )
    if groups and groups[0].gpu:
        node["gpu"], cited["node.gpu"] = groups[0].gpu, ASKED
    yield f"node: {inline(node)}"
    ranks = answers.processes_per_node
    cited["processes_per_node"] = TOLD if ranks else GUESSED
    yield f"processes_per_node: {ranks or node['gpus'] or 1}"


def _queues(machine: Machine | None, cited: dict[str, str], day: str) -> Iterator[str]:
    """Yield the queues with their limits, the open ones first: the first one is the default."""
    if machine is None or not machine.queues:
        cited["queues"] = GUESSED
        yield "queues: {}"
        return
    cited["queues"] = ASKED
    node = machine.nodes[0] if machine.nodes else None
    others = [queue.name for queue in machine.queues if node and node.gpus and queue.name not in node.queues]
    if not node or not node.queues or len(others) == len(machine.queues):
        others = []
    if others:
        yield "# " + _("queues without these nodes, for a profile of their own: {queues}", queues=", ".join(others))
    yield "queues:"
    for queue in sorted(machine.queues, key=lambda queue: not queue.enabled):
        if queue.name in others:
            continue
        note = {} if queue.enabled else {"note": _("closed on {day}", day=day)}
        yield f"  {inline(queue.name)}: {inline({**limits(queue), **note})}"
