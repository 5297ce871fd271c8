"""A run that was published is done again by somebody who has nothing but its crate: it ends with the same weights."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.config.event import Publish
from hackathon.web.crate.crate import write_crate
from hackathon.web.masking.mask import Mask
from support import warm
from support.backends import LocalBackend
from support.paths import ROOT
from support.patience import STRETCH

pytestmark = pytest.mark.timeout(600)
NOBODY = 65534
# Interpreters of developers often lie below a home that others can not enter: the other user may read, not write.
_DROP = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
_MAY_READ = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


@functools.cache
def _other_user() -> tuple[str, ...]:
    """Return the words that run a command as another Unix user; () where this process may not, or Python is hidden."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return ()
    for words in (_DROP, (*_DROP, *_MAY_READ)):
        # to open the packages' files says as much as to import them, which takes seconds
        child = (
            "import hackathon, importlib.util as util; [open(util.find_spec(name).origin) for name in "
            "('torch', 'sklearn')]"
        )
        # a child of the child: setpriv itself still finds what the new user can not reach
        program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
        probe = [*words, sys.executable, "-c", program]
        environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        if subprocess.run(probe, env=environment, cwd="/", capture_output=True, timeout=STRETCH * 200).returncode == 0:
            return words
    return ()


class Person:
    """Somebody with a home and a folder of their own, who types commands."""

    def __init__(self, folder: Path, words: tuple[str, ...] = ()) -> None:
        self.folder, self.words = folder / "work", words
        self.backend = LocalBackend(folder)
        # what runs in a warm Python belongs to who runs the tests; with an environment active jobs find it
        self.backend.trains = not words
        self.python = sys.executable if words else warm.with_toolkit()
        self.folder.mkdir(parents=True)
        kept = {name: value for name, value in self.backend.environment().items() if not name.startswith("XDG_")}
        self.environment = {**kept, "HOME": str(folder), "HACKATHON_LANG": "en", "OMP_NUM_THREADS": "1",
                            "TMPDIR": str(folder), **({} if words else {"VIRTUAL_ENV": sys.prefix})}  # fmt: skip
        if words:
            for path in (folder, self.folder):
                os.chown(path, NOBODY, NOBODY)

    def call(self, *arguments: str, folder: Path | None = None, codes: tuple[int, ...] = (0,)) -> tuple[str, str]:
        done = subprocess.run(
            [*self.words, self.python, "-m", "hackathon", *arguments], cwd=folder or self.folder,
            env=self.environment, capture_output=True, text=True, timeout=STRETCH * 300, check=False,
        )  # fmt: skip
        assert done.returncode in codes, done.stdout + done.stderr
        return done.stdout, done.stderr


def _final(run: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in (run / "metrics" / "rank-0.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    return {"loss": losses[-1], **{name: lines[-1][name] for name in ("accuracy", "weights", "epochs")}}


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.torch
@pytest.mark.slow
def test_a_published_run_is_done_again_by_a_stranger(place: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    team = Person(place / "team")
    event = team.folder / "event"
    (event / "aurora").mkdir(parents=True)
    (event / "hackathon.yaml").write_text("title: A hackathon\nteams: [{name: aurora, group: gz01}]\n")
    (event / "aurora" / "project.yaml").write_text(
        "name: digits\nteam: aurora\nrecipe: torch-ddp\ncluster: laptop\nthreads: 1\nparameters: {epochs: 1, seed: 7}\n"
    )
    team.call("scale", "--processes", "1", "--wait", folder=event / "aurora")
    (first,) = (event / "aurora" / "runs").iterdir()
    then = _final(first)
    assert then["epochs"] == 1 and then["weights"].startswith("sha256:")
    team.call("publish", "--to", str(place / "site"), "--no-ask", folder=event)
    (published,) = (place / "site").rglob("*.zip")

    stranger = Person(place / "stranger", _other_user())
    crate = stranger.folder / "downloaded.zip"
    shutil.copy(published, crate)
    crate.chmod(0o644)
    shutil.rmtree(event)  # nothing of the event is left
    shutil.rmtree(place / "site")
    shown, said = stranger.call("rerun", "downloaded.zip", "--cluster", "laptop", "--dry-run", "--json")
    assert json.loads(shown)["request"]["parameters"]["seed"] == 7 and not (stranger.folder / "runs").exists()
    shown, said = stranger.call("rerun", "downloaded.zip", "--cluster", "laptop", "--wait", "--json", "--yes")
    assert json.loads(shown)["runs"][0]["state"] == "SUCCEEDED", said
    (again,) = (stranger.folder / "runs").iterdir()
    if stranger.words:
        assert again.stat().st_uid == NOBODY
    assert _final(again) == then
    record, origin = (json.loads((again / name).read_text()) for name in ("request.json", "client/origin.json"))
    assert record["parent"] == origin["run"] == first.name and record["team"] is None
    assert origin["crate"] == "downloaded.zip" and origin["source_digest"] == origin["source_digest_as_run"]
    assert json.loads((again / "source.json").read_text())["digest"] == origin["source_digest_as_run"]

    shown, _ = stranger.call("compare", "downloaded.zip", again.name, "--json", codes=(0, 1))
    (point,) = json.loads(shown)["points"]
    assert point["texts"] == {"weights": True} and not point["quality"]["differs"]
    assert point["verdict"] in ("same", "faster", "slower")
    for person in (team, stranger):
        person.backend.stop()


PROGRAM = """\
import hashlib, os, subprocess, sys
from hackathon_runtime import Meter

assert os.environ["MODE"] == "quick" and os.path.islink("alias.py")
seed = subprocess.check_output(["./lib/seed.sh"], text=True).strip()  # of tanaka07
meter = Meter(warmup=0)
for step in range(3):
    meter.step(samples=100, loss=1.0 / (step + 1))
meter.final(accuracy=0.99, weights="sha256:" + hashlib.sha256((seed + sys.argv[1]).encode()).hexdigest())
"""


@pytest.mark.slow
def test_a_teams_own_program_comes_with_its_crate(place: Path) -> None:
    """As published with `source: true`: an executable file, a link, a variable of the project; also unpacked."""
    team, stranger = Person(place / "team"), Person(place / "stranger")
    project = team.folder
    (project / "lib").mkdir()
    (project / "lib" / "seed.sh").write_text("#!/bin/sh\necho 42\n")
    (project / "lib" / "seed.sh").chmod(0o755)
    (project / "train.py").write_text(PROGRAM)
    (project / "alias.py").symlink_to("train.py")
    (project / "project.yaml").write_text(
        "name: own\ncommand: python train.py {salt}\nparameters: {salt: {default: 1}}\n"
        "cluster: laptop\nprocesses: 1\nthreads: 1\nlauncher: local\n"
        "variables: {MODE: quick}\nenvironment: ['export PATH=$PATH:/nowhere']\n"
    )
    team.call("submit", "--wait")
    (first,) = (project / "runs").iterdir()
    packed = stranger.folder / "own.zip"
    write_crate(first, packed, mask=Mask(["tanaka07"]), publish=Publish(source=True))
    shutil.rmtree(project)
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(stranger.folder / "unpacked")  # this forgets what is executable
    for name in ("own.zip", "unpacked"):
        _, said = stranger.call("rerun", name, "--cluster", "laptop", "--wait", "--note", name, "--yes")
        assert "names were replaced in files of the program" in said and "train.py" in said and "/nowhere" in said
    runs = list((stranger.folder / "runs").iterdir())
    assert len(runs) == 2
    shown, _ = stranger.call("compare", "own.zip", ",".join(run.name for run in runs), "--json", codes=(0, 1))
    (point,) = json.loads(shown)["points"]
    assert point["texts"] == {"weights": True} and point["runs"] == [1, 2]
    assert point["speed"]["method"] == "prediction"
    for run in runs:
        again = run / "source"
        assert b"# of user" in (again / "train.py").read_bytes() and (again / "alias.py").is_symlink()
        assert json.loads((run / "client" / "origin.json").read_text())["masked"] == ["train.py"]
    # with another parameter it ends with other weights
    stranger.call("rerun", "own.zip", "--cluster", "laptop", "-p", "salt=2", "--wait", "--yes")
    (other,) = (run for run in (stranger.folder / "runs").iterdir() if run not in runs)
    shown, _ = stranger.call("compare", runs[0].name, other.name, "--json", codes=(0, 1))
    assert json.loads(shown)["points"][0]["texts"] == {"weights": False}
    # a rerun of the rerun is the very same again, and says that nothing differs
    _, said = stranger.call("rerun", runs[0].name, "--dry-run")
    assert "nothing has changed" in said
    for person in (team, stranger):
        person.backend.stop()
