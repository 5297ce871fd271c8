"""A participant's links lead a tutor's commands nowhere: real accounts, every command that reads runs, and a race."""

import os
import pwd
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from hackathon.board.directory import make_place
from hackathon.board.entry import letters
from support.accounts import change_accounts, python_for_others
from support.patience import STRETCH
from support.samples.rich_runs import write_rich
from support.samples.runs import Sample, write_run, write_study

PATIENCE = STRETCH * 120
SECRET = "what-only-the-tutor-may-read"
SPEED = re.compile(r"(?<![0-9a-f])31,?337(?![0-9a-f])")  # that of the tutor's own run; not five digits of a digest
FAILURE = f"Traceback (most recent call last):\n  File 'a.py', line 1, in <module>\nRuntimeError: {SECRET}\n"
COMMANDS = """
import os, sys
from hackathon.cli.main import run
out, failed, good = sys.argv[1:4]
everything = [
    ["diagnose", failed], ["diagnose", failed, "--bundle", f"{out}/bundle.tar.gz"],
    ["diagnose", f"runs/{failed}/logs"], ["diagnose", "collected", "--bundle", f"{out}/files.tar.gz"],
    ["logs", failed], ["logs", failed, "--raw"], ["status", "--no-ask"], ["results", failed, "--no-ask", "--json"],
    ["compare", good, failed, "--no-ask"], ["board", "post", "look", "--run", failed], ["ask", "help", "--run", failed],
    ["top", "--once", "--no-ask"], ["publish", "--to", f"{out}/site", "--no-ask"],
    ["logs", "linked"], ["board", "post", "look", "--run", "linked"],
]
raced = [["logs", failed, "--raw"]] * 20 + [["logs", failed], ["top", "--once", "--no-ask"]] * 5 + [
    ["diagnose", failed], ["diagnose", failed, "--bundle", f"{out}/bundle.tar.gz"], ["ask", "help", "--run", failed],
    ["publish", "--to", f"{out}/site", "--no-ask"],
]
for words in raced if "race" in sys.argv else everything:
    print("$", *words, flush=True)
    print("->", run(words), flush=True)
"""
SWAP = """
import itertools, os, sys, time
run, target, kept = sys.argv[1:4]
names = ["logs/rank-2.log", "logs/job.log", "metrics/rank-0.jsonl", "events/job.jsonl"]
print("ready", flush=True)
for number in itertools.count():
    for name in names:
        path = os.path.join(run, name)
        os.symlink(target, path + ".link")
        os.rename(path + ".link", path)
        with open(path + ".file", "w") as stream:
            stream.write("an own line\\n")
        os.rename(path + ".file", path)
    os.rename(run, kept)
    os.symlink(os.path.dirname(target), run)
    os.unlink(run)
    os.rename(kept, run)
"""


@dataclass
class Place:
    """An event with alice's runs, and a tutor with files that nobody else may read."""

    folder: Path
    python: str
    packages: str
    uids: dict[str, int] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.folder / "event" / "alpha"

    @property
    def private(self) -> Path:
        """The tutor's own run, which only the tutor may read, with a file of every name."""
        return self.folder / "home-tutor" / "own" / "20260101-000000-own-1p-aaaaaaaa"

    def start(self, role: str, *words: str) -> "subprocess.Popen[str]":
        home = self.folder / f"home-{role}"
        environment = {
            "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages, "PYTHONDONTWRITEBYTECODE": "1",
            "HACKATHON_SHARED": str(self.folder / "event" / "shared"), "HACKATHON_LANG": "en", "TMPDIR": str(home),
        }  # fmt: skip
        options: dict[str, Any] = {"user": self.uids[role], "group": self.uids[role], "extra_groups": []}
        return subprocess.Popen(
            [self.python, *words], cwd=self.project, env=environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    def give(self, path: Path, role: str) -> None:
        for each in (path, *path.rglob("*")):
            os.chown(each, self.uids[role], self.uids[role], follow_symlinks=False)

    def tutor(self, *words: str) -> str:
        """Run all commands as the tutor; return what they printed, and what they wrote anywhere."""
        out = self.folder / "home-tutor" / f"out-{len(words)}"
        out.mkdir()
        self.give(out, "tutor")
        with self.start("tutor", "-c", COMMANDS, str(out), *words) as process:
            told, error = process.communicate(timeout=PATIENCE)
        assert "Traceback (most recent call last)" not in error, error
        codes = [int(line[3:]) for line in told.splitlines() if line.startswith("-> ")]
        if "race" not in words:  # all that there is was read, and the run that is a link is none
            assert codes == [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 2, 2], told + error
        else:
            assert len(codes) == 34, told + error
        texts = [told, error]
        for archive in out.rglob("*.zip"):
            with zipfile.ZipFile(archive) as crate:
                texts += [crate.read(name).decode("utf-8", "replace") for name in crate.namelist()]
        assert "race" in words or len(texts) > 5, "no crate was published"
        for archive in out.glob("*.tar.gz"):
            with tarfile.open(archive) as tar:
                texts += [tar.extractfile(each).read().decode("utf-8", "replace") for each in tar if each.isfile()]  # type: ignore[union-attr]
        for top in (out, self.folder / "event"):
            for path in top.rglob("*"):
                if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1:
                    texts.append(path.read_bytes().decode("utf-8", "replace"))
        return "\n".join(texts)


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place(Path(tempfile.mkdtemp(prefix="hk-links-", suffix=letters())), *python_for_others())
    made.folder.chmod(0o755)
    names = {role: f"{role[:3]}{made.folder.name[-8:]}".lower() for role in ("alice", "tutor")}
    try:
        for role, name in names.items():
            home = made.folder / f"home-{role}"
            command = ["useradd", "--no-create-home", "--home-dir", str(home), "--user-group", name]
            change_accounts(*command)
            made.uids[role] = pwd.getpwnam(name).pw_uid
            home.mkdir(mode=0o700)
        _write(made, names)
        yield made
    finally:
        for uid in made.uids.values():
            shutil.rmtree(f"/tmp/hackathon-{uid}", ignore_errors=True)
        for name in names.values():
            subprocess.run(["userdel", name], check=False, capture_output=True)
        shutil.rmtree(made.folder, ignore_errors=True)


def _write(place: Place, names: dict[str, str]) -> None:
    event = place.folder / "event"
    place.project.mkdir(parents=True)
    value = {
        "title": "Test", "teams": [{"name": "alpha", "members": [{"user": names["alice"]}]}],
        "tutors": [{"user": names["tutor"]}], "shared": "shared", "publish": {"logs": True, "source": True},
    }  # fmt: skip
    (event / "hackathon.yaml").write_text(yaml.safe_dump(value))
    make_place(event / "shared", "sticky")
    (place.project / "project.yaml").write_text("name: alpha\nteam: alpha\nrecipe: torch-ddp\ncluster: laptop\n")
    own = write_run(place.private.parent, Sample(1, 31337.0))
    own.rename(place.private)
    for name in ("logs/rank-0.log", "logs/job.log", "metrics/rank-0.jsonl", "events/job.jsonl", "private.txt"):
        (place.private / name).parent.mkdir(exist_ok=True)
        (place.private / name).write_text(FAILURE)
    (place.private / "source").mkdir(exist_ok=True)
    (place.private / "source" / "train.py").write_text(f"print('{SECRET}')\n")
    for path in (place.private, *place.private.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    write_study(place.project, [Sample(1, 1000.0)])  # its run is published as a crate
    write_rich(place.project, 1), write_rich(place.project, 2, failed=True)
    for each in (place.project, place.folder / "home-alice"):
        place.give(each, "alice")
    place.give(place.folder / "home-tutor", "tutor")
    secret = place.private / "private.txt"
    links = {
        "logs/rank-0.log": secret, "logs/more.log": secret, "metrics": place.private / "metrics",
        "env": place.private / "logs", "events/rank-0.jsonl": secret, "source/train.py": secret,
    }  # fmt: skip
    for run in (place.project / "runs").iterdir():
        for name, target in links.items():
            path = run / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
            path.symlink_to(target)
        (run / "logs" / "rank-3.log").unlink(missing_ok=True)
        os.link(secret, run / "logs" / "rank-3.log")  # another name of it, where the system lets her make one
    (place.project / "runs" / "20990101-000000-linked-1p-aaaaaaaa").symlink_to(place.private)
    (place.project / "collected").mkdir()
    (place.project / "collected" / "rank-0.log").symlink_to(secret)
    (place.project / "collected" / "rank-1.log").write_text("RuntimeError: CUDA out of memory\n")
    for path in (place.project, *place.project.rglob("*")):
        if path.is_symlink() or path.stat().st_nlink == 1 or path.is_dir():
            os.chown(path, place.uids["alice"], place.uids["alice"], follow_symlinks=False)


def _runs(place: Place) -> tuple[Path, Path]:
    good, failed = sorted(path for path in (place.project / "runs").iterdir() if not path.is_symlink())[-2:]
    return good, failed


@pytest.mark.slow
def test_links_of_a_participant_show_nothing_of_the_tutors(place: Place) -> None:
    good, failed = _runs(place)
    text = place.tutor(failed.name, good.name)
    assert SECRET not in text and not SPEED.search(text)
    assert "it is a link that leads out of the folder" in text
    assert "it does not belong to the owner of the folder" in text  # the other name of the file


@pytest.mark.slow
def test_nothing_is_read_while_names_are_swapped(place: Place) -> None:
    good, failed = _runs(place)
    secret = str(place.private / "private.txt")
    with place.start("alice", "-c", SWAP, str(failed), secret, str(failed.parent / ".kept")) as swapping:
        assert swapping.stdout is not None and swapping.stdout.readline() == "ready\n"
        try:
            text = place.tutor(failed.name, good.name, "race")
        finally:
            swapping.kill()
    assert SECRET not in text and not SPEED.search(text)
