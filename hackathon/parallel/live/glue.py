"""Find the operators of a captured graph that must stay in one stage."""

import operator
from collections.abc import Iterable, Iterator

import torch
from torch import fx

_HIDDEN_WRITES = {"aten.batch_norm.default": (3, 4), "aten.instance_norm.default": (3, 4)}
"""Operators that change buffers without a mark in their signature → positions of these arguments."""


class Sets:
    """Disjoint sets that are joined (union–find)."""

    def __init__(self) -> None:
        self._parent: dict[fx.Node, fx.Node] = {}

    def find(self, node: fx.Node) -> fx.Node:
        """Return the representative of a node's set."""
        parent = self._parent.setdefault(node, node)
        while parent is not self._parent[parent]:
            self._parent[parent] = self._parent[self._parent[parent]]
            parent = self._parent[parent]
        self._parent[node] = parent
        return parent

    def join(self, nodes: Iterable[fx.Node]) -> None:
        """Join the sets of all these nodes."""
        first: fx.Node | None = None
        for node in nodes:
            if first is None:
                first = self.find(node)
            else:
                self._parent[self.find(node)] = self.find(first)


def glued_groups(graph: fx.Graph) -> tuple[tuple[str, ...], ...]:
    """Return the sets of operators, each with at least two, that a cut must not separate, in the order of the graph.

    A value other than a single tensor stays with its users. A tensor that an operator changes in place stays, with all
    its readers up to the last change, in the stage of that operator; a changed buffer, with all its readers.
    """
    nodes = list(graph.nodes)
    position = {node: at for at, node in enumerate(nodes)}
    glue, storage = Sets(), Sets()
    for node in nodes:
        if node.op != "call_function":
            continue
        glue.find(node)
        if not isinstance(node.meta.get("val"), torch.Tensor):
            glue.join([node, *_operators(node.users)])
        storage.join([node, *shared_with(node)])
    written: dict[fx.Node, int] = {}
    for node in nodes:
        if node.op == "call_function":
            for changed in writes(node):
                root = storage.find(changed)
                written[root] = max(written.get(root, 0), position[node])
    for node in nodes:
        root = storage.find(node)
        if root not in written:
            continue
        members = [member for member in nodes if storage.find(member) is root]
        lasting = any(member.op == "get_attr" for member in members)
        readers = {user for member in members for user in member.users}
        bound = [reader for reader in readers if lasting or position[reader] <= written[root]]
        within = [member for member in members if lasting or position[member] <= written[root]]
        glue.join(_operators([*within, *bound]))
        del written[root]
    groups: dict[fx.Node, list[str]] = {}
    for node in nodes:
        if node.op == "call_function":
            groups.setdefault(glue.find(node), []).append(node.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _operators(nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
    return (node for node in nodes if node.op == "call_function")


def _arguments(node: fx.Node) -> Iterator[tuple[object, object]]:
    """Yield (the signature's entry for an argument, the argument)."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return
    for at, argument in enumerate(schema.arguments):
        if at < len(node.args) and not argument.kwarg_only:
            yield argument.alias_info, node.args[at]
        elif argument.name in node.kwargs:
            yield argument.alias_info, node.kwargs[argument.name]


def _nodes_in(value: object) -> Iterator[fx.Node]:
    nodes: list[fx.Node] = []
    fx.node.map_arg(value, nodes.append)  # type: ignore[type-var]
    return iter(nodes)


def writes(node: fx.Node) -> list[fx.Node]:
    """Return the values that an operator changes in place."""
    changes = [source for alias, value in _arguments(node) if alias is not None and alias.is_write  # type: ignore[attr-defined]
             for source in _nodes_in(value)]  # fmt: skip
    for at in _HIDDEN_WRITES.get(str(node.target), ()):
        if at < len(node.args) and isinstance(node.args[at], fx.Node) and _in_training(node):
            changes.append(node.args[at])  # type: ignore[arg-type]
    return changes


def _in_training(node: fx.Node) -> bool:
    return len(node.args) > 5 and bool(node.args[5])


def shared_with(node: fx.Node) -> list[fx.Node]:
    """Return the values with which the result of an operator may share memory."""
    if node.target is operator.getitem:
        return list(node.all_input_nodes)
    schema = getattr(node.target, "_schema", None)
    if schema is None or not any(result.alias_info is not None for result in schema.returns):
        return []
    return [source for alias, value in _arguments(node) if alias is not None for source in _nodes_in(value)]
