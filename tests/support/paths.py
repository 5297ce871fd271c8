"""Where things lie in the checkout that is tested."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
TESTS = ROOT / "tests"
SAMPLES = TESTS / "samples"
"""Logs of failures and of programs that are well."""
RECIPES = ROOT / "recipes"
SHARED = RECIPES / "shared"
"""Files that several recipes use."""
RUNTIME = ROOT / "hackathon" / "runtime" / "hackathon_runtime.py"


def module_folders(recipe: str) -> list[str]:
    """Return the folders in which a recipe's modules lie in the checkout, its own first."""
    return [str(RECIPES / recipe), str(RUNTIME.parent), str(SHARED)]
