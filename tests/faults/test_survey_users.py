"""The drop box with several real Unix users: nobody reads, alters or fakes another's answer."""

import json
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.accounts import change_accounts, python_for_others, trust_event
from support.patience import STRETCH
from support.survey.event import SURVEY

ROLES = ("kanri", "alice", "bob", "carol", "tutor", "eve")
ANSWERING = """
import sys, time
from pathlib import Path
from hackathon.survey.dropbox import Box
from hackathon.survey.dropbox import drop, published
from hackathon.text.errors import RequestError
shared = Path(sys.argv[1])
box = Box(shared, shared / "surveys" / "after")
frozen = published(box)
print("ready", flush=True)
for number in range(1, 100_000):  # for longer than the closing may take
    time.sleep(0.01)  # the clock of the file system ticks a hundred times a second: the later answer is the newer one
    try:
        drop(box, frozen, {"size": number})
    except RequestError as error:
        print(error.id, flush=True)
        break
    print(number, flush=True)
"""


@dataclass
class Site:
    """An event of the account `kanri`, and people with accounts of their own."""

    folder: Path
    python: str
    packages: str
    uids: dict[str, int] = field(default_factory=dict)
    """Role → uid."""

    @property
    def event(self) -> Path:
        return self.folder / "event"

    @property
    def box(self) -> Path:
        return self.event / "shared" / "surveys" / "after" / "box"

    def account(self, role: str) -> str:
        return f"{role}{self.folder.name[-8:]}".lower()

    def start(self, role: str, *words: str) -> "subprocess.Popen[str]":
        """Start Python in a role's account, with the narrowest umask that people have."""
        uid = self.uids[role]
        environment = {
            "HOME": str(self.folder / role), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages,
            "PYTHONDONTWRITEBYTECODE": "1", "HACKATHON_LANG": "en", "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        options: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": [], "umask": 0o077}
        return subprocess.Popen(
            [self.python, *words], cwd=self.event, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def cli(self, role: str, *words: str) -> tuple[int, str, str]:
        """Run `hackathon survey …` in a role's account."""
        process = self.start(role, "-m", "hackathon", "survey", *words)
        out, error = process.communicate(timeout=STRETCH * 120)
        return process.returncode, out, error

    def done(self, role: str, *words: str) -> str:
        """Run `hackathon survey …` in a role's account; it must succeed."""
        code, out, error = self.cli(role, *words)
        assert code == 0, error
        return out

    def attempt(self, role: str, code: str) -> str:
        """Return what a role's own Python says to a statement: the error's name, or `done`."""
        script = (
            f"import os, glob\ntry:\n    {code}\n    print('done')\n"
            "except Exception as error:\n    print(type(error).__name__)"
        )
        out, error = self.start(role, "-c", script).communicate(timeout=STRETCH * 60)
        assert not error, error
        return out.strip()

    def look(self) -> dict[str, Any]:
        """Return what `survey check` tells the organisers."""
        _, out, error = self.cli("kanri", "check", "--json")
        assert out, error
        found: dict[str, Any] = json.loads(out)
        return found

    def closed(self) -> list[dict[str, Any]]:
        """Close the survey and return its answers."""
        self.done("kanri", "close")
        value = json.loads((self.event / "surveys" / "after" / "closed" / "answers.json").read_text())
        found: list[dict[str, Any]] = value["answers"]
        return found

    def files(self, role: str) -> list[Path]:
        """Return a role's files in the box, which only root and the organisers can list."""
        return [path for path in self.box.iterdir() if path.lstat().st_uid == self.uids[role]]


@pytest.fixture(scope="module")
def people() -> Iterator[Site]:
    """Six real accounts, made for this module and taken away after it."""
    python = python_for_others()
    folder = Path(tempfile.mkdtemp(prefix="hk-survey-"))
    folder.chmod(0o755)
    site = Site(folder, *python)
    try:
        for role in ROLES:
            home = folder / role
            command = ["useradd", "--no-create-home", "--home-dir", str(home), "--user-group", site.account(role)]
            change_accounts(*command)
            site.uids[role] = pwd.getpwnam(site.account(role)).pw_uid
            home.mkdir(mode=0o700)
            os.chown(home, site.uids[role], site.uids[role])
        yield site
    finally:
        for role in site.uids:
            subprocess.run(["userdel", site.account(role)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(people: Site) -> Iterator[Site]:
    """The accounts with an event and a survey that collects."""
    members = "".join(f"  - {{user: {people.account(role)}, kind: master}}\n" for role in ("alice", "bob", "carol"))
    (people.event / "shared").mkdir(parents=True)
    (people.event / "surveys" / "after").mkdir(parents=True)
    (people.event / "surveys" / "after" / "survey.yaml").write_text(SURVEY)
    (people.event / "hackathon.yaml").write_text(
        f"title: Test\nshared: shared\ndates: [2019-01-24]\nteams:\n- name: オーロラ\n  members:\n{members}"
        f"tutors: [{{user: {people.account('tutor')}}}]\n"
    )
    for path in (people.event, *people.event.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.chown(path, people.uids["kanri"], people.uids["kanri"])
    trust_event(people.event, {people.folder / role: uid for role, uid in people.uids.items()})
    people.done("kanri", "open")
    yield people
    shutil.rmtree(people.event)


@pytest.mark.slow
def test_people_answer_in_their_own_accounts(site: Site) -> None:
    assert stat.S_IMODE(site.box.stat().st_mode) == 0o1733
    assert site.box.stat().st_uid == site.uids["kanri"]
    for role, level in (("alice", "2"), ("bob", "４ (難)"), ("alice", "5")):
        site.done(role, "answer", "--set", f"level={level}", "--set", "words=<b>よい</b>")
    (first, second), (other,) = site.files("alice"), site.files("bob")
    for path in (first, second, other):
        assert stat.S_IMODE(path.stat().st_mode) == 0o644 and len(path.stem) == 32
    found = site.look()
    assert (found["answered"], found["invited"], found["by_channel"]["box"], found["ok"]) == (2, 3, 2, True)
    answers = sorted(site.closed(), key=lambda values: int(values["level"]))
    assert answers == [{"level": 4, "words": "<b>よい</b>"}, {"level": 5, "words": "<b>よい</b>"}]
    assert list(site.box.iterdir()) == []
    code, _, error = site.cli("carol", "answer", "after", "--set", "level=3")
    assert code == 2 and "closed" in error
    for words in (("check",), ("close", "after"), ("import", "hackathon.yaml"), ("open",)):
        code, _, error = site.cli("carol", *words)
        assert code == 2 and "only the organisers" in error, error
    assert site.attempt("carol", f"open({str(site.box / 'late.json')!r}, 'x')") == "PermissionError"


@pytest.mark.slow
def test_a_hostile_user_reads_and_alters_nothing(site: Site) -> None:
    site.done("alice", "answer", "--set", "words=mine")
    (mine,) = site.files("alice")
    before = mine.read_bytes()
    private = site.event / "surveys" / "after"
    path, box, shown = str(mine), str(site.box), str(site.box.parent / "survey.json")
    denied = [
        f"os.listdir({box!r})",
        f"os.scandir({box!r})",
        f"os.open({path!r}, os.O_WRONLY)",
        f"os.truncate({path!r}, 0)",
        f"os.unlink({path!r})",
        f"os.rename({path!r}, {path!r} + '.gone')",
        f"os.chmod({path!r}, 0o666)",
        f"os.utime({path!r}, (0, 0))",
        f"(open({path!r} + '.eve', 'x'), os.rename({path!r} + '.eve', {path!r}))",
        f"(os.symlink('/etc/passwd', {path!r} + '.s'), os.rename({path!r} + '.s', {path!r}))",
        f"os.chmod({box!r}, 0o777)",
        f"os.rename({box!r}, {box!r} + '-old')",
        f"os.rmdir({box!r})",
        f"open({shown!r}, 'w')",
        f"os.unlink({shown!r})",
        f"os.rename({str(site.box.parent)!r}, {str(site.box.parent)!r} + '-old')",
        f"os.listdir({str(private)!r})",
        f"open({str(private / 'opened.json')!r})",
        f"os.listdir({str(private / 'answers')!r})",
    ]
    for code in denied:
        assert site.attempt("eve", code) == "PermissionError", code
    assert (
        site.attempt("eve", f"1 / len(glob.glob({box!r} + '/*') + glob.glob({box!r} + '/.*'))") == "ZeroDivisionError"
    )
    assert mine.read_bytes() == before
    for name in (".eve", ".s"):
        Path(path + name).unlink()  # what she could put there under names of her own
    assert site.look()["answered"] == 1
    assert site.closed() == [{"words": "mine"}]


@pytest.mark.slow
def test_who_is_no_member_does_not_count_and_passes_for_nobody(site: Site) -> None:
    site.done("alice", "answer", "--set", "level=2")
    site.done("eve", "answer", "--set", "level=5")
    site.done("tutor", "answer", "--set", "level=5")
    (mine,) = site.files("alice")
    raw = json.loads(mine.read_text())
    name = "e" * 32
    forged = {
        **raw,
        "name": f"{name}.json",
        "user": site.account("bob"),
        "uid": site.uids["bob"],
        "values": {"level": 1},
    }
    path = site.box / f"{name}.json"
    path.write_text(json.dumps(forged))
    path.chmod(0o644)
    os.chown(path, site.uids["eve"], site.uids["eve"])
    copy = site.box / f"{'f' * 32}.json"
    os.link(mine, copy)  # as a file system without protection of hard links lets her do it
    found = site.look()
    assert found["answered"] == 1 and found["left_out"] == 2
    assert [Path(each).name.partition(" ")[0] for each in found["unread"]] == [copy.name]
    told = " ".join(each["text"] for each in found["troubles"])
    assert site.account("eve") in told and site.account("tutor") in told and site.account("bob") not in told
    assert site.closed() == [{"level": 2}]
    kept = json.loads((site.event / "surveys" / "after" / "closed" / "left-out.json").read_text())
    assert sorted(each["values"]["level"] for each in kept["answers"]) == [1, 5]
    assert site.account("eve") not in json.dumps(kept)


def test_a_flood_of_one_user_keeps_nobody_away(site: Site) -> None:
    site.done("bob", "answer", "--set", "level=3")
    flood = (
        f"[open(os.path.join({str(site.box)!r}, os.urandom(16).hex() + '.json'), 'x').write('{{') for _ in range(300)] "
        f"+ [os.mkfifo(os.path.join({str(site.box)!r}, os.urandom(16).hex() + '.json')) for _ in range(20)]"
    )
    assert site.attempt("eve", flood) == "done"
    found = site.look()
    assert found["answered"] == 1 and len(found["unread"]) == 50
    assert site.closed() == [{"level": 3}]
    assert list(site.box.iterdir()) == []


def test_what_was_confirmed_before_it_was_closed_counts(site: Site) -> None:
    """Three accounts answer up to a hundred times a second while the survey is closed."""
    roles = ("alice", "bob", "carol")
    children = [site.start(role, "-c", ANSWERING, str(site.event / "shared")) for role in roles]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        assert child.stdout.readline() == "1\n"
    answers = site.closed()
    last = []
    for child in children:
        assert child.stdout is not None and child.stderr is not None
        lines = ["1", *child.stdout.read().split()]
        error = child.stderr.read()
        assert child.wait(STRETCH * 60) == 0 and lines[-1] == "survey.closed", error
        last.append(int(lines[-2]))
    assert sorted(each["size"] for each in answers) == sorted(last)
    assert list(site.box.iterdir()) == []


@pytest.mark.slow
def test_a_survey_for_tutors_counts_tutors(site: Site) -> None:
    source = site.event / "surveys" / "after" / "survey.yaml"
    source.write_text(SURVEY + "audience: tutors\n")
    site.done("kanri", "open")  # nobody answered yet: opened anew
    for role in ("tutor", "alice"):
        site.done(role, "answer", "--set", "level=4")
    found = site.look()
    assert (found["answered"], found["invited"], found["left_out"]) == (1, 1, 1)
    assert site.closed() == [{"level": 4}]


def test_a_box_that_participants_can_not_reach_is_told(site: Site) -> None:
    (site.event / "shared").chmod(0o700)
    found = site.look()
    assert not found["ok"]
    assert [each["problem"] for each in found["troubles"]] == ["box_closed_to"]
    assert site.account("alice") in found["troubles"][0]["text"] and "chmod" in found["troubles"][0]["remedy"]
    code, _, error = site.cli("alice", "answer", "after", "--set", "level=3")
    assert code == 2 and "Traceback" not in error
