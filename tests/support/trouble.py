"""What the tests of faults share: the command line as real processes, and commands that stand in for a scheduler."""

import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import warm
from support.backends import Site
from support.paths import ROOT
from support.patience import STRETCH

PYTHON = Path(sys.executable).parent
CLUSTER = {
    "name": "lab",
    "scheduler": "slurm",
    "node": {"cores": 4, "gpus": 0},
    "processes_per_node": 2,
    "threads": 1,
    "launchers": ["local", "torchrun", "mpirun", "srun"],
    "starter": "srun",
    "telemetry_seconds": 0,
    "environment": [f'PATH="{PYTHON}:$PATH"'],
}
"""A profile of the cluster `lab` without limits; a test changes what it needs."""


@dataclass(frozen=True)
class Said:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        """Both streams."""
        return self.out + self.err

    def json(self) -> Any:
        """The value on stdout."""
        return json.loads(self.out)


def ask(site: Site, *words: str | bytes, seconds: float = 120, **more: str) -> Said:
    """Return what `hackathon …` said in the project; no command may ever show a traceback or die of a signal."""
    process = start(site, *words, **more)
    try:
        out, err = process.communicate(timeout=STRETCH * seconds)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    said = Said(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    assert "Traceback" not in said.all, said.all
    assert said.code >= 0, (words, said)
    return said


def start(site: Site, *words: str | bytes, **more: str) -> "subprocess.Popen[bytes]":
    """Start `hackathon …` in the project, in a session of its own."""
    return subprocess.Popen(
        [warm.with_toolkit(), "-m", "hackathon", *words],
        cwd=site.folder,
        env={**site.backend.environment(), **site.more, **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def refused_to_wait(site: Site, *words: str) -> None:
    """Check that a job that is to wait for another one's success is refused, before any run is made."""
    before = runs_in(site.folder)
    said = ask(site, *words)
    assert said.code == 2 and "only after another one has succeeded" in said.err, said
    assert runs_in(site.folder) == before


def in_both_languages(site: Site, *words: str | bytes, code: int, **more: str) -> tuple[Said, Said]:
    """Return what a command said in English and in Japanese: same exit code, different words, no traceback."""
    english, japanese = (ask(site, *words, HACKATHON_LANG=lang, **more) for lang in ("en", "ja"))
    assert (english.code, japanese.code) == (code, code), (english, japanese)
    assert "error: " in english.err.lower(), english.err
    assert any("぀" <= letter <= "ヿ" for letter in japanese.err), japanese.err
    return english, japanese


def write_project(folder: Path, command: str = "true", profile: dict[str, Any] | None = None, **keys: Any) -> None:
    """Write `project.yaml` and the profile of the cluster `lab` (JSON is YAML)."""
    clusters = folder / "templates" / "clusters"
    clusters.mkdir(parents=True, exist_ok=True)
    values = {"name": "small", "command": command, "cluster": "lab", "walltime": "600s", "launcher": "local", **keys}
    (folder / "project.yaml").write_text(json.dumps(values, ensure_ascii=False))
    (clusters / "lab.yaml").write_text(json.dumps({**CLUSTER, **(profile or {})}))


def later() -> None:
    """Forget the scheduler's answers that are kept for 30 s, as if that time had passed."""
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]) / "hackathon" / "status", ignore_errors=True)


def runs_in(folder: Path) -> list[Path]:
    """Return the complete run directories of a project."""
    return sorted(path for path in (folder / "runs").glob("[!.]*") if path.is_dir())


def hidden_in(folder: Path) -> list[str]:
    """Return what lies half-made beside them."""
    return sorted(path.name for path in (folder / "runs").glob(".*"))


class Stand:
    """A folder of commands that comes first on PATH; each call is a line of `calls`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("bash", "sh", "cat", "sleep", "touch", "timeout", "env"):
            target = shutil.which(name)
            assert target is not None
            (folder / name).symlink_to(target)

    def write(self, name: str, body: str) -> None:
        """Let a command be this bash text."""
        path = self.folder / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def calls(self, name: str) -> list[str]:
        """Return the calls of one command."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.split(" ")[0] == name]

    def environment(self) -> dict[str, str]:
        """Return an environment that has no scheduler but these commands, also where a real one is installed."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PBS_"))},
            "PATH": f"{self.folder}:{PYTHON}",
            "PYTHONPATH": str(ROOT),
        }
