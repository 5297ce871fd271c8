"""Recipes have no copies of each other's files, name what they share, and declare the options of their programs."""

import ast
import difflib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hackathon.config.load import load_recipe, shared_files
from support.paths import RECIPES, SHARED

NAMES = sorted(path.parent.name for path in RECIPES.glob("*/recipe.yaml"))
LINES_AT_MOST = 40
"""Lines of a block that may stand in two files."""


def equal_block(one: list[str], other: list[str]) -> int:
    """Return the lines of the longest block that stands in both texts."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size


def test_nothing_stands_twice() -> None:
    files = {path: path.read_text() for path in sorted(RECIPES.rglob("*.py")) if "runs" not in path.parts}
    lines = {path: text.splitlines() for path, text in files.items()}
    assert len(files) > 50
    twice = [
        f"{one.relative_to(RECIPES)} and {other.relative_to(RECIPES)}: {size} lines"
        for one, other in itertools.combinations(files, 2)
        if (size := equal_block(lines[one], lines[other])) > LINES_AT_MOST or files[one] == files[other]
    ]
    assert not twice, f"put it into recipes/shared: {twice}"


def test_a_block_that_stands_twice_is_found() -> None:
    block = [f"line {number}" for number in range(50)]
    assert equal_block(["a", *block, "b"], ["c", "d", *block]) == 50


def imported(path: Path) -> Iterator[str]:
    """Yield the top names of what a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_lists_the_shared_files_that_it_needs(name: str) -> None:
    """Those that its files import, directly or by each other; and data that a shared module opens by name."""
    recipe, folder = load_recipe(name)
    shared = shared_files(recipe, folder)
    own = {path.name: path for path in folder.glob("*.py")}
    assert own.keys().isdisjoint(shared)
    offered = {path.stem: path for path in SHARED.glob("*.py")}
    needed, waiting = set(), list(own.values())
    while waiting:
        file = waiting.pop()
        for module in imported(file):
            if f"{module}.py" not in own and module in offered and f"{module}.py" not in needed:
                needed.add(f"{module}.py")
                waiting.append(offered[module])
    texts = "".join(path.read_text() for path in (*own.values(), *(SHARED / each for each in needed)))
    needed |= {path.name for path in SHARED.iterdir() if path.suffix not in (".py", "") and f'"{path.name}"' in texts}
    assert sorted(needed) == recipe.shared


def test_every_shared_file_is_needed_by_several_recipes() -> None:
    users = {path.name: 0 for path in SHARED.iterdir() if path.is_file()}
    for name in NAMES:
        for file in load_recipe(name)[0].shared:
            users[file] += 1
    assert min(users.values()) > 1, users


def options_of(path: Path) -> Mapping[str, Mapping[str, object]]:
    """Return option → its default and choices, of the calls of `add_argument` in a program."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            words = {each.arg: each.value for each in node.keywords if each.arg in ("default", "choices")}
            name = str(ast.literal_eval(node.args[0])).removeprefix("--").replace("-", "_")
            found[name] = {str(key): ast.literal_eval(value) for key, value in words.items()}
    return found


@pytest.mark.parametrize(
    "name",
    [
        "allreduce",
        "chainermn-mnist",
        "horovod-keras",
        "horovod-torch",
        "preflight",
        "tensorflow-multiworker",
        "torch-ddp",
    ],
)
def test_recipe_yaml_says_what_the_program_takes(name: str) -> None:
    """Names, defaults and choices of the two files agree; and the program stays readable in ten minutes."""
    recipe, folder = load_recipe(name)
    assert len((folder / recipe.entry).read_text().splitlines()) <= 200
    options = options_of(folder / recipe.entry)
    assert options.keys() == recipe.parameters.keys()
    for option, values in options.items():
        declared = recipe.parameters[option]
        default = False if declared.type == "bool" else None
        assert values.get("default", default) == declared.default, option
        assert values.get("choices") == declared.choices, option
