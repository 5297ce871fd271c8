"""An event's directories with real Unix users: who can read and write what, and what an ordinary organiser can do."""

import json
import os
import random
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.acl import ACCESS_LIST, group_list, packed, read_list
from hackathon.access.permissions import READ, WRITE, Account, readable
from hackathon.board.entry import letters
from support.accounts import change_accounts, python_for_others
from support.patience import STRETCH

ROLES = ("org", "ann", "ben", "tut")
"""The organiser; a member of the team that has a group; a member of the team without one; a tutor of both."""


@dataclass
class Site:
    """Accounts that reach this Python and this checkout, a group of one of them, and a folder of the organiser."""

    folder: Path
    python: str
    packages: str
    users: dict[str, int] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        return self.folder.name[-8:].lower()

    @property
    def group(self) -> str:
        return f"grp{self.mark}"

    @property
    def event(self) -> Path:
        return self.folder / "event"

    def account(self, role: str) -> str:
        return f"{role}{self.mark}"

    def groups(self, role: str) -> list[int]:
        return os.getgrouplist(self.account(role), self.users[role])

    def run(self, role: str, *words: str, **more: str) -> tuple[int, str, str]:
        environment = {
            "HOME": str(self.folder / role), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages, "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "HACKATHON_LANG": "en", **more,
        }  # fmt: skip
        options: dict[str, Any] = {}
        if role != "root":
            own = self.users[role]
            options = {"user": own, "group": own, "extra_groups": self.groups(role), "umask": 0o077}
        result = subprocess.run(
            [self.python, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=STRETCH * 120, check=False, **options,
        )  # fmt: skip
        return result.returncode, result.stdout, result.stderr

    def cli(self, role: str, *words: str, **more: str) -> tuple[int, str, str]:
        return self.run(role, "-m", "hackathon", *words, **more)

    def attempt(self, role: str, code: str) -> str:
        """Return what the kernel says to a user's own system call: the error's name, or `done`."""
        script = f"import os\nos.umask(0o022)\ntry:\n    {code}\n    print('done')\nexcept OSError as error:\n"
        _, out, error = self.run(role, "-c", script + "    print(type(error).__name__)")
        assert not error, error
        return out.strip()

    def table(self) -> Path:
        """Write the table of teams as a spreadsheet in Japan saves it."""
        path = self.folder / "teams.csv"
        rows = [
            "team,user,kind,name,tutors,group",
            f"Aurora,{self.account('ann')},修士,安,{self.account('tut')},{self.group}",
            f"ひので,{self.account('ben')},D1,勉,{self.account('tut')},",
        ]
        path.write_bytes("\r\n".join(rows).encode("cp932"))
        path.chmod(0o644)
        return path

    def init(self, role: str, *words: str, **more: str) -> dict[str, Any]:
        """Run `event init` and return what it says."""
        code, out, error = self.cli(role, "event", "init", str(self.event), *words, "--json", **more)
        assert code in (0, 1), error
        value: dict[str, Any] = json.loads(out)
        assert code == any(each["state"] in ("left", "missing") for each in value["folders"])
        return value

    def check(self) -> tuple[int, set[tuple[str, str, str]]]:
        """Run `event check` as the organiser and return its exit code and (level, id, team) of all but remarks."""
        code, out, error = self.cli("org", "event", "check", str(self.event), "--json")
        assert code in (0, 1), error
        troubles = json.loads(out)["troubles"]
        return code, {(each["level"], each["id"], each["team"]) for each in troubles if each["level"] != "remark"}


@pytest.fixture(scope="module")
def accounts() -> Iterator[Site]:
    """Four real accounts and a group, made for this module and taken away after it."""
    python = python_for_others()
    import pwd

    folder = Path(tempfile.mkdtemp(prefix="hk-event-", suffix=letters()))
    folder.chmod(0o755)
    site = Site(folder, *python)

    try:
        for role in ROLES:
            name = site.account(role)
            change_accounts("useradd", "--no-create-home", "--home-dir", str(folder / role), "--user-group", name)
            site.users[role] = pwd.getpwnam(name).pw_uid
            (folder / role).mkdir(mode=0o700)
            os.chown(folder / role, site.users[role], site.users[role])
        change_accounts("groupadd", site.group)
        change_accounts("usermod", "-a", "-G", site.group, site.account("ann"))
        yield site
    finally:
        for role in site.users:
            subprocess.run(["userdel", site.account(role)], check=False, capture_output=True)
        subprocess.run(["groupdel", site.group], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(accounts: Site) -> Iterator[Site]:
    """The accounts, and an empty folder of the organiser's for the event."""
    accounts.event.mkdir()
    accounts.event.chmod(0o755)
    os.chown(accounts.event, accounts.users["org"], accounts.users["org"])
    yield accounts
    for each in accounts.folder.iterdir():
        if each.name not in ROLES:
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()


def _reach(site: Site) -> dict[str, str]:
    """Return what each user may do in each team's folder: list, make a file, read another's file."""
    aurora, hinode = site.event / "Aurora", site.event / "ひので"
    return {
        "ann writes": site.attempt("ann", f"os.makedirs({str(aurora / 'digits' / 'runs')!r}, exist_ok=True)"),
        "ann notes": site.attempt("ann", f"open({str(aurora / 'digits' / 'note')!r}, 'w').write('x')"),
        "ben writes his": site.attempt("ben", f"open({str(hinode / 'note')!r}, 'w').write('x')"),
        "ben lists hers": site.attempt("ben", f"os.listdir({str(aurora)!r})"),
        "ben writes hers": site.attempt("ben", f"open({str(aurora / 'spy')!r}, 'w')"),
        "ann lists his": site.attempt("ann", f"os.listdir({str(hinode)!r})"),
        "tutor reads hers": site.attempt("tut", f"open({str(aurora / 'digits' / 'note')!r}).read()"),
        "tutor lists runs": site.attempt("tut", f"os.listdir({str(aurora / 'digits' / 'runs')!r})"),
        "tutor reads his": site.attempt("tut", f"open({str(hinode / 'note')!r}).read()"),
        "tutor writes": site.attempt("tut", f"open({str(aurora / 'tutor')!r}, 'w')"),
        "tutor looks into surveys": site.attempt("tut", f"os.listdir({str(site.event / 'surveys')!r})"),
        "ann renames hers": site.attempt("ann", f"os.rename({str(aurora)!r}, {str(aurora) + '2'!r})"),
    }


RIGHT = {
    "ann writes": "done", "ann notes": "done", "ben writes his": "done", "tutor reads hers": "done",
    "tutor lists runs": "done", "tutor reads his": "done",
    "ben lists hers": "PermissionError", "ben writes hers": "PermissionError", "ann lists his": "PermissionError",
    "tutor writes": "PermissionError", "tutor looks into surveys": "PermissionError",
    "ann renames hers": "PermissionError",
}  # fmt: skip


@pytest.mark.slow
def test_an_ordinary_organiser_makes_all_but_the_group_and_an_administrator_the_rest(site: Site) -> None:
    script = site.folder / "org" / "for-root.sh"
    values = ("--title", "Test", "--tutor", site.account("tut"), "--date", "2099-01-24")
    said = site.init("org", *values, "--teams", str(site.table()), "--admin-script", str(script))
    aurora = site.event / "Aurora"
    assert [words[:2] for words in said["commands"]] == [["chgrp", "-h"], ["find", str(aurora)]]
    assert {each["state"] for each in said["folders"]} == {"made"}
    assert _reach(site) == RIGHT  # the group is named in the list meanwhile

    chmod = f"find {aurora} -maxdepth 0 -type d -user {site.account('org')} -exec chmod 2770 -- '{{}}' ';'"
    assert script.read_text().splitlines()[-1] == chmod
    elsewhere, aside = site.folder / "root-only", site.event / "aside"
    elsewhere.mkdir(mode=0o700)
    aurora.rename(aside)
    aurora.symlink_to(elsewhere)  # somebody exchanges it before root runs the script
    subprocess.run(["sh", str(script)], check=True)
    assert (elsewhere.stat().st_gid, stat.S_IMODE(elsewhere.stat().st_mode)) == (0, 0o700)
    aurora.unlink()
    aside.rename(aurora)
    subprocess.run(["sh", str(script)], check=True)
    found = aurora.stat()
    import grp

    assert (found.st_uid, grp.getgrgid(found.st_gid).gr_name) == (site.users["org"], site.group)
    assert stat.S_IMODE(found.st_mode) == 0o2770
    again = site.init("org")
    assert again["commands"] == [] and {each["state"] for each in again["folders"]} == {"there"}
    assert stat.S_IMODE(aurora.stat().st_mode) == 0o2770
    assert _reach(site) == RIGHT
    assert site.attempt("ann", f"os.mkdir({str(aurora / 'later')!r})") == "done"
    assert (aurora / "later").stat().st_gid == found.st_gid
    code, out, error = site.cli("ann", "board", "post", "It works", "--shared", str(site.event / "shared"), "--json")
    assert (code, error) == (0, "") and json.loads(out)["id"]


@pytest.mark.slow
def test_root_does_it_all_for_the_organiser_who_called_sudo(site: Site) -> None:
    said = site.init(
        "root", "--teams", str(site.table()), "--tutor", site.account("tut"), "--date", "2099-01-24",
        SUDO_UID=str(site.users["org"]),
    )  # fmt: skip
    assert said["commands"] == [] and said["notes"] == []
    assert (site.event / "hackathon.yaml").stat().st_uid == site.users["org"]
    aurora = (site.event / "Aurora").stat()
    assert (aurora.st_uid, stat.S_IMODE(aurora.st_mode)) == (site.users["org"], 0o2770)
    assert aurora.st_gid in site.groups("ann")
    assert (site.event / "surveys").stat().st_uid == site.users["org"]
    assert _reach(site) == RIGHT
    assert {each["state"] for each in site.init("org")["folders"]} == {"there"}


BOARD_INIT = """
import os, sys
os.chdir({folder!r})
sys.argv = ["hackathon", "board", "init"]
from hackathon.cli.main import main
main()
"""


@pytest.mark.slow
def test_root_opens_and_makes_nothing_that_the_organiser_could_not(site: Site) -> None:
    """`shared:` is the organiser's word, and the administrator's account may do anything."""
    closed = site.folder / "root-only"
    closed.mkdir(mode=0o700)
    below = site.folder / "etc"
    below.mkdir(mode=0o755)
    (site.event / "link").symlink_to(closed)
    for shared in (closed, closed / "new", below / "new", site.event / "link", site.event / "link" / "new"):
        text = f"title: T\nteams:\n- name: A\n  members:\n  - user: {site.account('ann')}\nshared: {shared}\n"
        file = site.event / "hackathon.yaml"
        file.write_text(text)
        os.chown(file, site.users["org"], site.users["org"])
        said = site.init("root")
        states = {each["what"]: each["state"] for each in said["folders"]}
        assert (states["board"], states["team"]) == ("missing", states["team"]) and states["team"] in ("made", "there")
        assert (stat.S_IMODE(closed.stat().st_mode), list(closed.iterdir())) == (0o700, []), shared
        assert (stat.S_IMODE(below.stat().st_mode), list(below.iterdir())) == (0o755, []), shared
        code, _, _ = site.run("root", "-c", BOARD_INIT.format(folder=str(site.event)))
        assert code != 0 and not list(closed.iterdir()) and not list(below.iterdir())
    # a file of root's in the organiser's folder gives the organiser no right of root's
    (site.event / "hackathon.yaml").write_text(text.replace(str(shared), str(closed)))
    os.chown(site.event / "hackathon.yaml", 0, 0)
    site.init("root")
    assert (stat.S_IMODE(closed.stat().st_mode), list(closed.iterdir())) == (0o700, [])
    # as root for itself, everything is as ever
    os.chown(site.event, 0, 0)
    said = site.init("root")
    assert {each["what"]: each["state"] for each in said["folders"]}["board"] in ("there", "mended")


def test_what_others_own_is_never_changed(site: Site) -> None:
    theirs, link = site.event / "ひので", site.event / "Aurora"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, site.users["ben"], site.users["ben"])
    elsewhere = site.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    link.symlink_to(elsewhere)
    for role in ("org", "root"):
        said = site.init(role, *(("--teams", str(site.table())) if role == "org" else ()))
        assert {each["team"]: each["state"] for each in said["folders"] if each["team"]} == {
            "Aurora": "left",
            "ひので": "left",
        }
        assert not any(str(site.event / "Aurora") in words for words in said["commands"])
        for path, uid in ((theirs, site.users["ben"]), (elsewhere, 0)):
            assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (uid, 0o700)
            assert read_list(path) is None
    assert site.account("ben") in next(each["why"] for each in said["folders"] if each["team"] == "ひので")


@pytest.mark.slow
def test_check_tells_who_is_kept_out_and_who_is_not(site: Site) -> None:
    values = ("--tutor", site.account("tut"), "--date", "2099-01-24", "--cluster", "laptop")
    site.init("root", *values, "--teams", str(site.table()), SUDO_UID=str(site.users["org"]))
    (site.event / "hackathon.yaml").write_text(
        (site.event / "hackathon.yaml").read_text() + "\nschedule:\n- {day: 2099-01-24, title: Work}\n"
    )
    assert site.check() == (0, set())
    aurora, hinode = site.event / "Aurora", site.event / "ひので"

    aurora.chmod(0o700)  # the mask of its list: nobody but the owner
    assert site.check() == (1, {("error", "tutor_closed", "Aurora"), ("error", "member_closed", "Aurora")})
    aurora.chmod(0o2755)
    assert site.check() == (1, {("error", "member_closed", "Aurora")})
    site.init("org")
    assert site.check() == (0, set())

    os.removexattr(hinode, ACCESS_LIST)
    hinode.chmod(0o777)
    assert site.check() == (1, {("error", "others_write", "ひので")})
    site.init("org")
    assert site.check() == (0, set())

    (hinode / "digits" / "runs").mkdir(parents=True)
    (hinode / "digits" / "runs").chmod(0o700)
    assert site.check() == (0, {("warning", "runs_closed", "ひので")})
    (hinode / "digits" / "runs").chmod(0o770)
    assert site.check() == (0, set())

    (site.event / "surveys").chmod(0o755)
    (site.event / "shared" / "entries").chmod(0o755)
    site.event.joinpath("hackathon.yaml").chmod(0o622)
    assert site.check() == (
        1,
        {("error", "surveys_open", ""), ("error", "board_closed", ""), ("error", "file_open", ""),
         ("warning", "file_closed", "")},
    )  # fmt: skip
    site.event.chmod(0o700)
    code, found = site.check()
    assert code == 1
    assert {("error", "tutor_closed", "Aurora"), ("error", "member_closed", "ひので")} <= found


def test_groups_and_accounts_that_the_machine_lacks(site: Site) -> None:
    rows = [
        "team,user,kind,tutors,group",
        f"Aurora,{site.account('ann')},master,{site.account('tut')},{site.group}",
        f"Aurora,{site.account('ben')},master,,",
        f"Borealis,nobody-{site.mark},staff,,no-such-{site.mark}",
    ]
    table = site.folder / "teams.csv"
    table.write_text("\n".join(rows))
    table.chmod(0o644)
    said = site.init("org", "--teams", str(table), "--tutor", f"gone-{site.mark}")
    assert {each["id"] for each in said["notes"]} == {"not_in_group", "group_unknown", "no_account"}
    code, found = site.check()
    assert code == 1
    assert found >= {
        ("error", "not_in_group", "Aurora"), ("error", "group_unknown", "Borealis"),
        ("warning", "no_account", "Borealis"), ("warning", "tutor_no_account", ""),
        ("warning", "team_no_tutor", "Borealis"), ("error", "member_closed", "Aurora"),
    }  # fmt: skip


def test_writing_is_computed_as_the_kernel_decides_it(site: Site) -> None:
    generator = random.Random(2019)
    uids = {role: site.users[role] for role in ("ann", "ben", "tut")}
    group = max(site.groups("ann"))
    folders = []
    for number in range(60):
        path = site.folder / f"case{number}"
        path.mkdir()
        os.chown(path, generator.choice([0, *uids.values()]), generator.choice([0, group, *uids.values()]))
        path.chmod(generator.randrange(0o1000))
        if generator.random() < 0.7:
            users = [(uid, generator.randrange(8)) for uid in uids.values() if generator.random() < 0.5]
            groups = [(group, generator.randrange(8))] if generator.random() < 0.5 else []
            acl = group_list(path.stat().st_mode & 0o777, users, groups)
            acl[0x10, None] = generator.randrange(8)  # any mask
            os.setxattr(path, ACCESS_LIST, packed(acl))
        folders.append(path)
    for role, uid in uids.items():
        script = "import os, sys\nprint([os.access(each, 7) for each in sys.argv[1:]])"
        _, out, error = site.run(role, "-c", script, *map(str, folders))
        user = Account(site.account(role), uid, frozenset(site.groups(role)))
        computed = [readable(each, user.uid, user.groups, WRITE) is None for each in folders]
        assert not error and computed == json.loads(out.lower())
        assert len(set(computed)) == 2
    assert READ + WRITE == 6
