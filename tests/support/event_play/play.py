"""The people of an event as real Unix accounts, each with a home, groups and `hackathon` on the path."""

import contextlib
import grp
import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import warm
from support.accounts import change_accounts, interpreter_for_others

PATIENCE = 240.0
"""Seconds for one command; a busy machine is no failure."""


@dataclass(frozen=True)
class Said:
    """What one command did."""

    code: int
    out: str
    error: str

    @property
    def all(self) -> str:
        return self.out + self.error


@dataclass
class Terminal:
    """A program on a terminal."""

    process: "subprocess.Popen[bytes]"
    ours: int
    said: bytes = b""

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def wait_for(self, words: bytes | None) -> None:
        """Read on until the program has said something; None: until it has ended."""
        end = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):  # EIO: whoever had the terminal has ended
            while words is None or words not in self.said:
                assert select.select([self.ours], [], [], max(0.0, end - time.monotonic()))[0], self.said
                part = os.read(self.ours, 65536)
                if not part:
                    break
                self.said += part
        assert words is None or words in self.said, self.said

    def end(self) -> None:
        """End the program as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        os.close(self.ours)


@dataclass
class Play:
    """A place that all accounts reach, and the accounts."""

    folder: Path
    python: str
    packages: str
    end: str
    """Letters that make the names of accounts and groups of one run of the test unlike those of any other."""
    uids: dict[str, int] = field(default_factory=dict)
    """Role → uid."""
    gids: dict[str, int] = field(default_factory=dict)
    """Team → gid of its group."""
    teams: dict[str, str] = field(default_factory=dict)
    """Role → team."""
    log: list[str] = field(default_factory=list)
    """Every command as it was typed, and by whom."""

    @property
    def event(self) -> Path:
        """The organiser's event folder."""
        return self.folder / "event"

    @property
    def shared(self) -> Path:
        return self.event / "shared"

    def team_folder(self, team: str) -> Path:
        return self.event / team

    def account(self, role: str) -> str:
        return f"{role[:8]}{self.end}"

    def group(self, team: str) -> str:
        """Return the Unix group of a team; names of groups are ASCII, those of teams are not."""
        return f"hk{self.end}{list(self.gids).index(team)}"

    def home(self, role: str) -> Path:
        return self.folder / "homes" / role

    def give(self, path: Path, role: str) -> None:
        """Make a role the owner of a file that the test put there."""
        os.chown(path, self.uids[role], pwd.getpwuid(self.uids[role]).pw_gid)

    def groups(self, role: str) -> list[int]:
        """Return the gids of a role's account as the machine knows them now (tutors get more while it is prepared)."""
        return [each.gr_gid for each in grp.getgrall() if self.account(role) in each.gr_mem]

    def options(self, role: str, **more: str) -> dict[str, Any]:
        """Return what makes a process one of the role's own, as after `ssh login-node`."""
        uid = self.uids[role]
        environment = {
            "HOME": str(self.home(role)), "USER": self.account(role), "LOGNAME": self.account(role),
            "PATH": f"{self.folder}/bin:/usr/bin:/bin", "PYTHONPATH": self.packages, "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8", "HACKATHON_LANG": "en", "NO_COLOR": "1", "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "HACKATHON_LOCAL_SLOTS_DIR": str(self.folder / "slots"), "HACKATHON_LOCAL_SLOTS": "2",
            "HACKATHON_LOCAL_DIR": str(self.home(role) / "local-jobs"),
            "XDG_RUNTIME_DIR": str(self.home(role) / "runtime"), **more,
        }  # fmt: skip
        own = pwd.getpwuid(uid).pw_gid
        return {"user": uid, "group": own, "extra_groups": self.groups(role), "umask": 0o022, "env": environment}

    def start(self, role: str, *words: str, at: Path | None = None, **environment: str) -> "subprocess.Popen[str]":
        """Start a program in a role's account."""
        options = self.options(role, **environment)
        return subprocess.Popen(
            list(words), cwd=at or self.home(role), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, **options,
        )  # fmt: skip

    def run(self, role: str, *words: str, at: Path | None = None, typed: str = "", **environment: str) -> Said:
        """Run a program in a role's account to its end."""
        process = self.start(role, *words, at=at, **environment)
        try:
            out, error = process.communicate(typed, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            out, error = process.communicate()
            pytest.fail(f"{role}: {' '.join(words)} went on for {PATIENCE:.0f} s:\n{out}{error}")
        return Said(process.returncode, out, error)

    def cli(self, role: str, *words: str, at: Path | None = None, typed: str = "", **environment: str) -> Said:
        """Run `hackathon` in a role's account."""
        self.log.append(f"{role}: hackathon {' '.join(words)}")
        said = self.run(role, "hackathon", *words, at=at, typed=typed, **environment)
        assert "\nTraceback" not in "\n" + said.error, f"{self.log[-1]}\n{said.all}"
        return said

    def done(self, role: str, *words: str, at: Path | None = None, typed: str = "", **environment: str) -> Said:
        """Run `hackathon` in a role's account; it must succeed."""
        said = self.cli(role, *words, at=at, typed=typed, **environment)
        assert said.code == 0, f"{self.log[-1]}: exit code {said.code}\n{said.all}"
        return said

    def on_terminal(self, role: str, *words: str, at: Path) -> "Terminal":
        """Start a program in a role's account on a terminal of its own, where somebody types."""
        self.log.append(f"{role}: {' '.join(words)}")
        ours, theirs = os.openpty()
        os.fchown(theirs, self.uids[role], -1)
        os.fchmod(theirs, 0o620)  # as login does
        process = subprocess.Popen(
            list(words), cwd=at, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            **self.options(role),
        )  # fmt: skip
        os.close(theirs)
        return Terminal(process, ours)

    def terminal(self, role: str, *words: str, at: Path, typed: str) -> Said:
        """Run `hackathon` in a role's account on a terminal; all that is typed is there from the beginning."""
        terminal = self.on_terminal(role, "hackathon", *words, at=at)
        terminal.type(typed)
        terminal.wait_for(None)
        return Said(terminal.process.wait(PATIENCE), terminal.said.decode("utf-8", "replace").replace("\r\n", "\n"), "")

    def attempt(self, role: str, code: str, at: Path | None = None) -> str:
        """Return what a role's own Python says to a statement: the error's name, or `done` and what it printed."""
        script = (
            "import os, shutil, pathlib, json, glob\n"
            f"try:\n    {code}\n    print('done')\nexcept Exception as error:\n    print(type(error).__name__)"
        )
        said = self.run(role, self.python, "-c", script, at=at)
        assert not said.error, said.error
        return said.out.strip()

    def of_team(self, team: str) -> list[str]:
        """Return the roles of a team, in their order."""
        return [role for role, its in self.teams.items() if its == team]


def _command(folder: Path, name: str, *words: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\nexec " + " ".join(words) + ' "$@"\n')
    path.chmod(0o755)


@contextmanager
def accounts(roles: Iterable[str], teams: dict[str, str], groups: Iterable[str]) -> Iterator[Play]:
    """Make accounts for roles (`teams`: role → team) and Unix groups for teams; take all away at the end."""
    python, packages = interpreter_for_others()
    folder = Path(tempfile.mkdtemp(prefix="hk-event-"))
    folder.chmod(0o755)
    play = Play(folder, python, packages, os.urandom(3).hex(), teams=dict(teams))
    made_groups: list[str] = []
    try:
        for name in ("bin", "homes"):
            (folder / name).mkdir()
            (folder / name).chmod(0o755)
        (folder / "slots").mkdir()
        (folder / "slots").chmod(0o1777)  # as `/tmp/hackathon-slots`: the machine's queue
        for name in ("python", "python3"):
            _command(folder / "bin", name, warm.with_torch(python, packages))
        _command(folder / "bin", "hackathon", warm.with_toolkit(python, packages), "-m", "hackathon")
        # for a test that looks at the process itself
        _command(folder / "bin", "hackathon-apart", python, "-m", "hackathon")
        for number, team in enumerate(groups):
            name = f"hk{play.end}{number}"
            change_accounts("groupadd", name)
            made_groups.append(name)
            play.gids[team] = grp.getgrnam(name).gr_gid
        for role in roles:
            command = ["useradd", "--no-create-home", "--home-dir", str(play.home(role)), "--user-group"]
            if role in teams:
                command += ["--groups", play.group(teams[role])]
            change_accounts(*command, play.account(role))
            play.uids[role] = pwd.getpwnam(play.account(role)).pw_uid
            for path in (play.home(role), play.home(role) / "runtime"):
                path.mkdir(mode=0o700)
                play.give(path, role)
        yield play
    finally:
        for uid in play.uids.values():
            _end_all(uid)
        for role, uid in play.uids.items():
            for name in (play.account(role), uid):  # what jobs and pages keep on the node's own disk
                shutil.rmtree(Path("/tmp") / f"hackathon-{name}", ignore_errors=True)
            subprocess.run(["userdel", play.account(role)], check=False, capture_output=True)
        for name in made_groups:
            subprocess.run(["groupdel", name], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _end_all(uid: int) -> None:
    """End what an account that was made here has left running."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid == uid:
                os.kill(int(path.name), signal.SIGKILL)
