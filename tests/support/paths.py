"""Where things lie in the checkout that is tested."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
TESTS = ROOT / "tests"
SAMPLES = TESTS / "samples"
"""Logs of failures and of programs that are well."""
RECIPES = ROOT / "recipes"
