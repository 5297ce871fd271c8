"""What tests with several real Unix users begin with: a Python and a checkout that other accounts can reach."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def python_for_others() -> tuple[str, str]:
    """Return a Python that other accounts can run and the PYTHONPATH that it needs; skip where there can be none."""
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("two users need root and useradd")
    packages = ":".join([str(REPOSITORY), *(path for path in sys.path if path.endswith("-packages"))])
    environment = {"PYTHONPATH": packages, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    options: dict[str, Any] = {"user": 64001, "group": 64000, "extra_groups": []}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        command = [python, "-c", "import click, pydantic, yaml, hackathon"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, env=environment, cwd="/", capture_output=True, **options).returncode == 0:
                return python, packages
    pytest.skip("other users can not reach this Python or this checkout")
