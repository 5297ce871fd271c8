"""Recipes as a run has them: with the files that they share beside the program."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hackathon.config.load import load_recipe, shared_files
from support.paths import RECIPES, module_folders


def copy_recipe(name: str, target: Path) -> Path:
    """Copy a recipe's files and those that it shares into a new folder, and return it."""
    shutil.copytree(RECIPES / name, target, ignore=shutil.ignore_patterns("runs", "checkpoints", "__pycache__"))
    recipe, folder = load_recipe(name)
    for file, path in shared_files(recipe, folder).items():
        shutil.copyfile(path, target / file)
    return target


@contextmanager
def imported(recipe: str, *names: str) -> Iterator[list[ModuleType]]:
    """Give modules of a recipe; none of its modules is left behind for other recipes' tests."""
    folders, path = module_folders(recipe), list(sys.path)
    former = {name: sys.modules.pop(name) for name, module in list(sys.modules.items()) if _lies_in(module, RECIPES)}
    sys.path[:0] = folders
    try:
        yield [importlib.import_module(name) for name in names]
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if any(_lies_in(module, folder) for folder in folders):
                del sys.modules[name]
        sys.modules |= former


def _lies_in(module: ModuleType, folder: str | Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)
