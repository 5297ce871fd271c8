"""`hackathon shell --jupyter` and `--vscode`: on this machine, and in a job of the real Slurm at a terminal."""

import fcntl
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.backends import LONG, Backend, LocalBackend, Site, SlurmBackend

JUPYTER = """#!/bin/bash
for word; do case $word in --port=*) port=${word#*=} ;; esac; done
printf '%s\\n' "$@" >"$JUPYTER_NOTES"
printf 'token %s job %s\\n' "$JUPYTER_TOKEN" "$SLURM_JOB_ID" >>"$JUPYTER_NOTES"
"""


@pytest.fixture(params=["local", pytest.param("slurm", marks=[pytest.mark.slurm, pytest.mark.slow])])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    made = SlurmBackend(request.getfixturevalue("slurm")) if request.param == "slurm" else LocalBackend(tmp_path)
    yield made
    made.stop()


def interactive(backend: Backend, folder: Path, *words: str, jupyter: bool = True) -> tuple[str, Path]:
    """Return what a person sees at a terminal, and the notes of a stand-in for JupyterLab."""
    site = Site(backend, folder / "project")
    programs, notes = folder / "programs", folder / "notes"
    programs.mkdir()
    if jupyter:
        (programs / "jupyter").write_text(JUPYTER)
        (programs / "jupyter").chmod(0o755)
    for name in ("dirname", "grep", "hostname", "id", "od", "tr"):  # no others: this machine may have a jupyter
        (programs / name).symlink_to(str(shutil.which(name)))
    path = f'PATH="{programs}"'
    site.write_project("python program.py ranks", environment=[path, f"export JUPYTER_NOTES={notes}"])
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hackathon", "shell", *words], cwd=site.folder, env=backend.environment(),
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # salloc wants a terminal of its own
    )  # fmt: skip
    os.close(terminal)
    os.write(master, b"exit\n")  # where a shell comes up, it ends
    seen = b""
    try:
        while True:
            part = os.read(master, 65536)
            if not part:
                break
            seen += part
    except OSError:  # all who had the terminal are gone
        pass
    finally:
        os.close(master)
    process.wait(LONG)
    return seen.decode(errors="replace").replace("\r", ""), notes


def test_jupyterlab_runs_in_the_job_and_says_how_to_reach_it(backend: Backend, tmp_path: Path) -> None:
    seen, notes = interactive(backend, tmp_path, "--jupyter")
    arguments = notes.read_text().splitlines()
    token, job = re.fullmatch(r"token (\w+) job (.*)", arguments[-1]).groups()  # type: ignore[union-attr]
    port = next(word for word in arguments if word.startswith("--port=")).partition("=")[2]
    assert len(token) == 32 and not any(token in word for word in arguments[:-1]), "arguments are for everybody to see"
    assert f"http://127.0.0.1:{port}/lab?token={token}" in seen
    address = next(word for word in arguments if word.startswith("--ip=")).partition("=")[2]
    if backend.name == "slurm":
        assert job and re.search(rf"ssh -N -L {port}:{re.escape(address)}:{port} \S+@\S+", seen), seen
        assert address in backend.node_names or not backend.node_names
    else:
        assert address == "127.0.0.1" and "ssh -N" not in seen


def test_vs_code_gets_a_configuration_with_the_node(backend: Backend, tmp_path: Path) -> None:
    seen, _notes = interactive(backend, tmp_path, "--vscode")
    host = re.search(r"^Host hackathon-node\n  HostName (\S+)\n  User (\S+)\n((?:  ProxyJump \S+@\S+\n)?)", seen, re.M)
    assert host, seen
    assert bool(host[3]) == (backend.name == "slurm")
    if backend.node_names:
        assert host[1] in backend.node_names


def test_without_jupyter_the_job_ends_with_the_reason(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    seen, notes = interactive(backend, tmp_path, "--jupyter", jupyter=False)
    assert "jupyterlab" in seen and not notes.exists()
