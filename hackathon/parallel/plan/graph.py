"""The model as a graph of operators with their costs: graph.json, read and validated."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hackathon.parallel.plan.fields import FieldReader, read_object
from hackathon.text.messages import N_


@dataclass(frozen=True)
class Operator:
    """One operator: seconds per micro-batch on one device, and bytes."""

    name: str
    forward: float
    backward: float
    parameters: float
    frozen: float
    buffers: float
    saved: float
    workspace: float
    checkpointed: float = 0.0
    """1 if its stage must recompute because the user's program does, else 0."""


@dataclass(frozen=True)
class Tensor:
    """The one output of an operator that others read: positions in `Graph.operators`, and bytes."""

    producer: int
    readers: tuple[int, ...]
    bytes: float
    gradient_bytes: float


@dataclass(frozen=True)
class Alias:
    """A parameter of `bytes` bytes that several operators share."""

    operators: tuple[int, ...]
    bytes: float


@dataclass(frozen=True)
class Graph:
    """Operators in a topological order, their tensors, shared parameters and sets that stay in one stage."""

    operators: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]
    aliases: tuple[Alias, ...]
    glued: tuple[tuple[int, ...], ...]

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of the graph's content, independent of the order in the file."""
        names = [operator.name for operator in self.operators]
        value = [
            sorted(
                [*operator.__dict__.values()][: None if operator.checkpointed else -1] for operator in self.operators
            ),
            sorted(
                [names[t.producer], sorted(names[r] for r in t.readers), t.bytes, t.gradient_bytes]
                for t in self.tensors
            ),
            sorted([sorted(names[o] for o in a.operators), a.bytes] for a in self.aliases),
            sorted(sorted(names[o] for o in group) for group in self.glued),
        ]
        return hashlib.sha256(json.dumps(value).encode()).hexdigest()


_OPERATOR = (
    "name", "forward", "backward", "parameters", "frozen", "buffers", "module", "saved", "workspace",
    "checkpointed",
)  # fmt: skip
_EDGE = ("from", "to", "bytes", "gradient_bytes")


def read_graph(path: Path) -> Graph:
    """Return the graph in a file. Raises RequestError naming file and field for an invalid graph."""
    return graph_of(read_object(path), str(path))


def graph_of(value: Mapping[str, Any], file: str) -> Graph:
    """Return the graph in a JSON object. Raises RequestError naming the wrong field."""
    reader = FieldReader(file)
    reader.known(value, ("schema_version", "operators", "edges", "aliases", "glued"), "")
    reader.version(value)
    if "operators" not in value:
        raise reader.refuse("operators", N_("missing"))
    rows = reader.listing(value["operators"], "operators")
    if not rows:
        raise reader.refuse("operators", N_("must not be empty"))
    entries = [_operator(reader, row, f"operators[{number}]") for number, row in enumerate(rows)]
    numbers: dict[str, int] = {}
    for number, entry in enumerate(entries):
        if entry.name in numbers:
            raise reader.refuse(f"operators[{number}].name", N_("{name} is listed twice"), name=entry.name)
        numbers[entry.name] = number
    edges = _edges(reader, value, entries, numbers)
    order = _order(reader, entries, edges)
    position = {number: at for at, number in enumerate(order)}
    tensors = [
        Tensor(
            position[producer],
            tuple(sorted({position[reader_] for reader_, _, _ in outs})),
            max(size for _, size, _ in outs),
            max(gradient for _, _, gradient in outs),
        )
        for producer, outs in edges.items()
    ]
    operators = tuple(entries[number] for number in order)
    return Graph(
        operators,
        tuple(sorted(tensors, key=lambda tensor: tensor.producer)),
        _aliases(reader, value, numbers, position, operators),
        _glued(reader, value, numbers, position),
    )


def _operator(reader: FieldReader, row: object, field: str) -> Operator:
    value = reader.mapping(row, field)
    if "name" not in value:
        raise reader.refuse(f"{field}.name", N_("missing"))
    reader.known(value, _OPERATOR, field)
    return Operator(
        reader.name(value["name"], f"{field}.name"),
        reader.number(value, "forward", field),
        reader.number(value, "backward", field),
        reader.number(value, "parameters", field),
        reader.number(value, "frozen", field, 0.0),
        reader.number(value, "buffers", field, 0.0),
        reader.number(value, "saved", field),
        reader.number(value, "workspace", field),
        float(value.get("checkpointed") is True),
    )


def _named(reader: FieldReader, value: object, numbers: Mapping[str, int], field: str) -> int:
    name = reader.name(value, field)
    if name not in numbers:
        raise reader.refuse(field, N_("no operator is named {name}"), name=name)
    return numbers[name]


def _edges(
    reader: FieldReader, value: Mapping[str, Any], operators: Sequence[Operator], numbers: Mapping[str, int]
) -> dict[int, list[tuple[int, float, float]]]:
    """Return producer → (reader, bytes, gradient bytes) of each of its edges."""
    edges: dict[int, list[tuple[int, float, float]]] = {}
    for number, row in enumerate(reader.listing(value.get("edges", []), "edges")):
        field = f"edges[{number}]"
        edge = reader.mapping(row, field)
        reader.known(edge, _EDGE, field)
        for end in ("from", "to", "bytes"):
            if end not in edge:
                raise reader.refuse(f"{field}.{end}", N_("missing"))
        start = _named(reader, edge["from"], numbers, f"{field}.from")
        stop = _named(reader, edge["to"], numbers, f"{field}.to")
        size = reader.number(edge, "bytes", field)
        default = size if operators[start].backward > 0 else 0.0
        gradient = reader.number(edge, "gradient_bytes", field, default)
        edges.setdefault(start, []).append((stop, size, gradient))
    return edges


def _order(
    reader: FieldReader, operators: Sequence[Operator], edges: Mapping[int, Sequence[tuple[int, float, float]]]
) -> list[int]:
    """Return a topological order that depends on names and edges only. Raises RequestError for a cycle."""
    waiting = [0] * len(operators)
    successors = [sorted({stop for stop, _, _ in edges.get(number, ())}) for number in range(len(operators))]
    for stops in successors:
        for stop in stops:
            waiting[stop] += 1
    ready = sorted((n for n in range(len(operators)) if not waiting[n]), key=lambda n: operators[n].name, reverse=True)
    order: list[int] = []
    while ready:
        number = ready.pop()  # depth first: a branch is finished before the next begins, so cuts cross few tensors
        order.append(number)
        freed = []
        for stop in successors[number]:
            waiting[stop] -= 1
            if not waiting[stop]:
                freed.append(stop)
        ready += sorted(freed, key=lambda n: operators[n].name, reverse=True)
    if len(order) < len(operators):
        stuck = min(operators[n].name for n in range(len(operators)) if waiting[n])
        raise reader.refuse("edges", N_("the edges form a cycle through {name}"), name=stuck)
    return order


def _aliases(
    reader: FieldReader, value: Mapping[str, Any], numbers: Mapping[str, int], position: Mapping[int, int],
    operators: Sequence[Operator],
) -> tuple[Alias, ...]:  # fmt: skip
    shared = [0.0] * len(operators)
    aliases = []
    for number, row in enumerate(reader.listing(value.get("aliases", []), "aliases")):
        field = f"aliases[{number}]"
        alias = reader.mapping(row, field)
        reader.known(alias, ("operators", "bytes"), field)
        for name in ("operators", "bytes"):
            if name not in alias:
                raise reader.refuse(f"{field}.{name}", N_("missing"))
        members = _members(reader, alias["operators"], numbers, position, f"{field}.operators")
        size = reader.number(alias, "bytes", field)
        for member in members:
            shared[member] += size
            if shared[member] > operators[member].parameters * (1 + 1e-12):
                raise reader.refuse(
                    f"{field}.bytes", N_("larger than the parameters of operator {name}"), name=operators[member].name
                )
        aliases.append(Alias(members, size))
    return tuple(sorted(aliases, key=lambda alias: (alias.operators, alias.bytes)))


def _members(
    reader: FieldReader, value: object, numbers: Mapping[str, int], position: Mapping[int, int], field: str
) -> tuple[int, ...]:
    rows = reader.listing(value, field)
    if not rows:
        raise reader.refuse(field, N_("must not be empty"))
    members = [position[_named(reader, row, numbers, f"{field}[{at}]")] for at, row in enumerate(rows)]
    for at, member in enumerate(members):
        if member in members[:at]:
            raise reader.refuse(f"{field}[{at}]", N_("{name} is listed twice"), name=rows[at])
    return tuple(sorted(members))


def _glued(
    reader: FieldReader, value: Mapping[str, Any], numbers: Mapping[str, int], position: Mapping[int, int]
) -> tuple[tuple[int, ...], ...]:
    rows = reader.listing(value.get("glued", []), "glued")
    return tuple(
        sorted(_members(reader, row, numbers, position, f"glued[{number}]") for number, row in enumerate(rows))
    )
