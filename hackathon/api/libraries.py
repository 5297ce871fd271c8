"""Packages of the user's own Python that are imported only when they are needed."""

import importlib
from typing import Any

from hackathon.text.errors import RequestError


def library(name: str, package: str = "") -> Any:
    """Return a module. `package`: what pip calls it, if that differs. Raises RequestError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or name).split(".")[0] != name:  # it is installed, and something that it needs is not
            raise
        raise RequestError(
            "api.no_library",
            "{library} is not installed in this Python",
            hint="Install it: pip install {package}. Without a network: on a machine with one, pip download {package} "
            "-d wheelhouse; copy the folder; pip install --no-index --find-links wheelhouse {package}",
            library=name,
            package=package or name,
        ) from None
