"""Which packages are there, without importing them."""

import importlib.util

import pytest


def needs(*names: str) -> None:
    """Skip the module that calls this where a package is missing.

    Unlike `pytest.importorskip` it imports nothing: torch and scikit-learn cost every worker two seconds each.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed", allow_module_level=True)
