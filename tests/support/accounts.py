"""What tests with several real Unix users begin with: a Python and a checkout that other accounts can reach."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.ownership import look
from hackathon.access.trust_record import FILE, TRUST, Decision
from support import warm
from support.paths import ROOT
from support.patience import until


def python_for_others() -> tuple[str, str]:
    """Return a Python that other accounts can run and the PYTHONPATH that it needs; skip where there can be none.

    It has imported the toolkit (`support.warm`): not for tests that look at the processes themselves.
    """
    python, packages = interpreter_for_others()
    return warm.with_toolkit(python, packages), packages


@functools.cache
def interpreter_for_others() -> tuple[str, str]:
    """As `python_for_others`, a plain interpreter."""
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("two users need root and useradd")
    packages = ":".join([str(ROOT), *(path for path in sys.path if path.endswith("-packages"))])
    environment = {"PYTHONPATH": packages, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    options: dict[str, Any] = {"user": 64001, "group": 64000, "extra_groups": []}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        command = [python, "-c", "import click, yaml, starlette, uvicorn, hackathon"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, env=environment, cwd="/", capture_output=True, **options).returncode == 0:
                return python, packages
    pytest.skip("other users can not reach this Python or this checkout")


def change_accounts(*words: str) -> None:
    """Run `useradd …` or its like, again while somebody else has locked the accounts: it waits for 15 s only itself."""

    def changed() -> bool:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "lock" in done.stderr, f"{words}: {done.stderr}"
        return done.returncode == 0

    until(changed, " ".join(words))


def trust_event(event: Path, homes: Mapping[Path, int]) -> None:
    """Let accounts (home → uid) trust an event, as `hackathon trust` does, without a process for each."""
    found = look(event / "hackathon.yaml")
    entry = Decision(str(event.resolve()), found.folder.st_ino, found.owner, TRUST)
    for home, uid in homes.items():
        path = home / ".config" / "hackathon" / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schema_version": 1, "entries": [vars(entry)]}))
        path.chmod(0o600)
        for each in (path, path.parent, path.parent.parent):
            os.chown(each, uid, uid)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that everybody reaches: pytest's own are closed to others."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o005 != 0o005 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that everybody reaches, also while another session of pytest closes the folder of all sessions."""
    folder = Path(tempfile.mkdtemp(prefix="hk-public-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
