"""recipes/shared has the only sources of files that several recipes carry; `make recipes` writes the copies."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
WRITER: dict[str, Any] = runpy.run_path(str(ROOT / "recipes" / "shared" / "write_copies.py"))


def test_every_copy_is_what_make_recipes_writes() -> None:
    wrong = [str(path) for path, content in WRITER["copies"]().items() if path.read_bytes() != content]
    assert not wrong, f"run `make recipes`: {wrong}"


def test_every_shared_file_is_carried_by_several_recipes() -> None:
    shared = {path.name for path in (ROOT / "recipes" / "shared").glob("*.py")} - {"write_copies.py"}
    assert shared == set(WRITER["COPIES"])
    assert all(len(recipes) > 1 for recipes in WRITER["COPIES"].values())


def test_no_file_stands_twice_without_being_shared() -> None:
    """Also every recipe has the runtime, and nothing claims to be a copy that is none."""
    copies = set(WRITER["copies"]())
    seen: dict[bytes, Path] = {}
    for path in sorted(ROOT.glob("recipes/*/*.py")):
        content = path.read_bytes()
        assert content.startswith(b"# Copy of recipes/shared/") == (path in copies), path
        if path not in copies:
            assert content not in seen, f"{path} and {seen[content]}: put it into recipes/shared"
            seen[content] = path
    recipes = {path.parent.name for path in ROOT.glob("recipes/*/recipe.yaml")}
    assert set(WRITER["COPIES"]["hackathon_runtime.py"]) == recipes


@pytest.mark.parametrize("name", sorted(WRITER["COPIES"]))
def test_a_copy_tells_where_it_is_edited(name: str) -> None:
    recipe = WRITER["COPIES"][name][0]
    first = (ROOT / "recipes" / recipe / name).read_text().splitlines()[0]
    assert first == f"# Copy of recipes/shared/{name}, written by `make recipes`; edit it there."
