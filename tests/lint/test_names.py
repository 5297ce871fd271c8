"""One word means one thing: no two public classes of the toolkit have the same name."""

import ast

from support import sources
from support.paths import ROOT


def test_each_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in sources.modules():
        for node in sources.tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(where)}" for name, where in twice.items())
