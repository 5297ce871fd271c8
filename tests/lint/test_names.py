"""Names say what a thing is, and one word means one thing."""

import ast

from support import sources
from support.paths import ROOT

EMPTY = frozenset(
    [
        "each",
        "found",
        "told",
        "held",
        "kept",
        "made",
        "wanted",
        "shown",
        "given",
        "asked",
        "said",
        "seen",
        "known",
        "there",
        "here",
        "place",
        "places",
        "ways",
        "whole",
        "thing",
        "things",
        "stuff",
        "what",
        "which",
        "who",
        "where",
        "so",
        "such",
        "it",
        "one",
        "ones",
        "another",
        "others",
        "rest",
    ]
)
"""Words that say nothing about a value. What is left of them are fields of records and public keyword parameters."""
MOST = 0.005
"""Share of all bindings that may have such a name."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def test_each_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in sources.modules():
        for node in sources.tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(where)}" for name, where in twice.items())


def test_bindings_are_nouns_of_the_field() -> None:
    """A variable or parameter is called after what it holds: `run`, `matches`, `deadline`."""
    bindings: list[tuple[str, str]] = []
    for path in sources.modules():
        for node in sources.nodes(path):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bindings.append((node.id, f"{path.relative_to(ROOT)}:{node.lineno}"))
            elif isinstance(node, FUNCTIONS):
                arguments = node.args
                bindings += [
                    (argument.arg, f"{path.relative_to(ROOT)}:{argument.lineno}")
                    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
                ]
    empty = [f"{where}: {name}" for name, where in bindings if name in EMPTY]
    assert len(empty) <= MOST * len(bindings), "\n".join(empty)
