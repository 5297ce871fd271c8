"""`hackathon doctor --security`: what others could read or change, and what is none of its business."""

import grp
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.acl import ACCESS_LIST, group_list, packed
from hackathon.access.exposure import can_change, can_read
from hackathon.access.permissions import ENTER, READ, WRITE, Others
from hackathon.readiness.security import examine
from hackathon.text.messages import set_language
from support.accounts import public_folder
from support.paths import ROOT
from support.runs import new_run

__all__ = ["public_folder"]
SHARED = next(each.gr_gid for each in grp.getgrall() if each.gr_gid not in (0, os.getgid()))
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another group")


class Account:
    """A home and a project, each fresh."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        for path in (self.home, self.project):
            path.mkdir()
            path.chmod(0o755)
        (self.project / "project.yaml").write_text("name: p\ncommand: 'true'\ncluster: laptop\n")
        self.path = "/usr/bin:/bin"

    def look(self, *, umask: str = "022", lang: str = "en") -> tuple[int, list[dict[str, Any]]]:
        environment = {
            "HOME": str(self.home), "PATH": self.path, "PYTHONPATH": str(ROOT), "HACKATHON_LANG": lang,
            "HACKATHON_LOCAL_DIR": str(self.home / "local"), "XDG_RUNTIME_DIR": str(self.home),
        }  # fmt: skip
        line = f"umask {umask}; '{sys.executable}' -m hackathon doctor --security --json; exit $?"
        done = subprocess.run(["sh", "-c", line], cwd=self.project, env=environment, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, json.loads(done.stdout)["findings"]

    def wrong(self, **more: str) -> list[tuple[str, str, str]]:
        code, findings = self.look(**more)
        assert code == any(each["level"] == "bad" for each in findings)
        return self._wrong(findings)

    def quick(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
        """Return the same without a process of its own."""
        for name, value in {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "PATH": self.path}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HACKATHON_LOCAL_DIR", str(self.home / "local"))
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PYTHONPATH", "LD_LIBRARY_PATH"):
            monkeypatch.delenv(name, raising=False)
        set_language("en")
        return self._wrong([asdict(each) for each in examine(self.project / "runs")])

    @staticmethod
    def _wrong(findings: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
        assert all(each["remedy"] for each in findings if each["level"] != "good")
        return [(each["about"], each["level"], each["remedy"]) for each in findings if each["level"] != "good"]


@pytest.fixture
def account(public_folder: Path) -> Account:
    return Account(public_folder)


def test_a_fresh_account_has_nothing_to_mend(account: Account) -> None:
    assert account.wrong() == []
    new_run(account.project)
    (account.home / ".ssh").mkdir(mode=0o700)
    (account.home / ".ssh" / "id_rsa").touch(mode=0o600)
    assert account.wrong() == []
    code, findings = account.look(lang="ja")
    assert code == 0 and any("自分だけ" in each["text"] for each in findings)


def test_what_others_could_change_or_read(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(account.project)
    runs = account.project / "runs"
    cases: list[tuple[Path, int, str, str]] = [
        (account.home, 0o777, "home", f"chmod o-w {account.home}"),
        (account.project, 0o757, "project", f"chmod o-w {account.project}"),
        (Path(run.path), 0o777, "runs", f"chmod -R go-w {runs}"),
        (Path(run.path) / "client", 0o777, "runs", f"chmod -R go-w {runs}"),
    ]
    secret = account.home / ".netrc"
    secret.touch()
    cases.append((secret, 0o644, "keys and passwords", f"chmod 600 {secret}"))
    (Path(run.path) / "env").mkdir()
    variables = Path(run.path) / "env" / "job-1.sh"
    variables.touch()
    cases.append((variables, 0o644, "keys and passwords", f"chmod 600 {variables.parent}/job-*.sh"))
    # its cache needs no advice: every command closes it to others' writing before it is used
    (account.home / ".config" / "hackathon").mkdir(parents=True, mode=0o755)
    cases.append((account.home / ".config" / "hackathon", 0o777, "toolkit's folder", ""))
    (account.home / "local").mkdir(mode=0o700)
    cases.append((account.home / "local", 0o755, "folder on this node", f"chmod 700 {account.home / 'local'}"))
    for path in (secret, variables):
        path.chmod(0o600)
    assert account.wrong() == []
    for path, mode, about, remedy in cases:
        before = path.stat().st_mode
        path.chmod(mode)
        found = account.quick(monkeypatch)
        assert any(each[:2] == (about, "bad") and each[2].startswith(remedy) for each in found), (path, found)
        # the remedy is what helps
        subprocess.run(["sh", "-c", next(each[2] for each in found if each[0] == about)], check=True)
        assert not [each for each in account.quick(monkeypatch) if each[0] == about], path
        path.chmod(before)


def test_what_is_behind_a_closed_folder_is_closed(account: Account) -> None:
    (account.home / ".netrc").write_text("machine")
    (account.home / ".netrc").chmod(0o666)
    account.home.chmod(0o700)
    assert account.wrong() == []


def test_umask_and_search_paths(account: Account) -> None:
    assert [each[:2] for each in account.wrong(umask="000")] == [("umask", "bad")]
    place = account.home / "bin"
    place.mkdir()
    place.chmod(0o777)
    account.path = f"{place}:.:/usr/bin:/bin"
    found = account.wrong()
    assert [each[:2] for each in found] == [("search paths", "bad"), ("search paths", "warning")]


@as_root
def test_groups(account: Account) -> None:
    os.chown(account.project, -1, SHARED)
    account.project.chmod(0o2775)
    assert [each[:2] for each in account.wrong()] == [("project", "warning")]
    # a team's folder is meant to be writable by the team
    (account.project.parent / "hackathon.yaml").write_text(
        "title: T\nteams:\n- {name: A, folders: [project], members: [{user: root}]}\n"
    )
    assert account.wrong() == []
    account.project.chmod(0o2777)
    assert [each[:2] for each in account.wrong()] == [("project", "bad")]


@as_root
def test_the_advice_for_an_access_list_takes_writing_and_leaves_reading(public_folder: Path) -> None:
    account = Account(public_folder)
    users = ((12345, READ | WRITE | ENTER), (12346, READ | ENTER))
    os.setxattr(account.home, ACCESS_LIST, packed(group_list(0o700, users, ())))
    assert can_change(account.home).users == {12345}
    (line,) = [line for about, _, line in account.wrong() if about == "home" and "-w" in line]
    subprocess.run(["bash", "-c", line[line.index("chmod") :]], check=True)
    assert can_change(account.home) == Others() and can_read(account.home).users == {12345, 12346}


@as_root
def test_access_lists_and_sticky_folders(public_folder: Path) -> None:
    folder, above = public_folder / "above" / "mine", public_folder / "above"
    folder.mkdir(parents=True, mode=0o755)
    assert can_change(folder) == Others() and can_read(folder).everybody
    above.chmod(0o777)
    assert can_change(folder).place == above  # another folder can be put in its place
    above.chmod(0o1777)
    assert not can_change(folder)
    users = ((12345, READ | WRITE | ENTER), (12346, READ | ENTER))
    os.setxattr(folder, ACCESS_LIST, packed(group_list(0o700, users, ())))
    assert can_change(folder).users == {12345} and can_read(folder).users == {12345, 12346}
    os.setxattr(folder, ACCESS_LIST, packed(group_list(0o700, (), ((SHARED, READ | WRITE | ENTER),))))
    assert can_change(folder).groups == {SHARED} and not can_change(folder).everybody
