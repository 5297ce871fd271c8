"""A stranger's folder above, with real Unix users: what a stranger, an organiser and a team put there, and who asks."""

import json
import os
import pwd
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hackathon.board.entry import letters
from support.accounts import change_accounts, python_for_others
from support.patience import STRETCH

TEAMS = 3
ALONE = tuple(f"one{number}" for number in range(TEAMS - 1))
"""Members of teams of one."""
ROLES = ("org", "ann", "ben", "tut", "eve", *ALONE)
"""The organiser; two members of one team; their tutor; a stranger."""
PROJECT = "name: own\nteam: Aurora\ncommand: sh run.sh\ncluster: laptop\nlauncher: local\nwalltime: 00:05:00\n"
JOB = '{% extends "shipped/job.sh.j2" %}\n{% block prologue %}\ntouch STRANGER\n{{ super() }}\n{% endblock %}\n'


@dataclass
class Site:
    """Accounts that reach this Python and this checkout, a team's group, and a folder that all reach."""

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

    def account(self, role: str) -> str:
        return f"{role}{self.mark}"

    def options(self, role: str) -> dict[str, Any]:
        own, home = self.users[role], self.folder / "homes" / role
        environment = {
            "HOME": str(home), "USER": self.account(role), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages,
            "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "HACKATHON_LANG": "en", "CUDA_VISIBLE_DEVICES": "",
            "HACKATHON_LOCAL_SLOTS_DIR": str(self.folder / "slots"), "HACKATHON_LOCAL_DIR": str(home / "local-jobs"),
        }  # fmt: skip
        group = pwd.getpwnam(self.account(role)).pw_gid
        groups = os.getgrouplist(self.account(role), group)
        return {"user": own, "group": group, "extra_groups": groups, "umask": 0o002, "env": environment}

    def cli(self, role: str, *words: str, at: Path) -> tuple[int, str]:
        """Run `hackathon` without a terminal; return its exit code and all that it said."""
        result = subprocess.run(
            [self.python, "-m", "hackathon", *words], cwd=at, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=STRETCH * 120, check=False, **self.options(role),
        )  # fmt: skip
        assert "Traceback" not in result.stderr, result.stderr
        return result.returncode, result.stdout + result.stderr

    def on_terminal(self, role: str, *words: str, at: Path, typed: str) -> tuple[int, str]:
        """Run `hackathon` on a terminal; all that is typed is there from the beginning."""
        ours, theirs = os.openpty()
        os.fchown(theirs, self.users[role], -1)
        process = subprocess.Popen(
            [self.python, "-m", "hackathon", *words], cwd=at, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, **self.options(role),
        )  # fmt: skip
        os.close(theirs)
        os.write(ours, typed.encode())
        said, end = b"", time.monotonic() + STRETCH * 120
        try:
            while select.select([ours], [], [], max(0.0, end - time.monotonic()))[0]:
                said += os.read(ours, 65536)
        except OSError:
            pass  # EIO: it has ended
        finally:
            os.close(ours)
        return process.wait(STRETCH * 60), said.decode("utf-8", "replace")

    def write(self, role: str, path: Path, text: str) -> Path:
        """Put a file and the folders that are missing, as a role's own."""
        owner = self.users.get(role, 0)
        missing = [each for each in reversed(path.parents) if not each.exists()]
        for each in missing:
            each.mkdir()
            os.chown(each, owner, owner)
            each.chmod(0o755)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        os.chown(path, owner, owner)
        return path

    def event(self, *teams: str) -> str:
        """Return a hackathon.yaml with the team of ann and ben, and others."""
        members = [{"user": self.account(each)} for each in ("ann", "ben")]
        first = {"name": "Aurora", "group": self.group, "members": members, "tutors": [self.account("tut")]}
        return json.dumps({"title": "Test", "shared": "shared", "clusters": {"laptop": {}},
                           "tutors": [{"user": self.account("tut")}],
                           "teams": [first, *({"name": each} for each in teams)]})  # fmt: skip

    def project(self, role: str, folder: Path) -> Path:
        self.write(role, folder / "run.sh", "echo hello\n")
        return self.write(role, folder / "project.yaml", PROJECT).parent


@pytest.fixture(scope="module")
def accounts() -> Iterator[Site]:
    """Five real accounts and a group of a team, made for this module and taken away after it."""
    python = python_for_others()
    folder = Path(tempfile.mkdtemp(prefix="hk-above-", suffix=letters()))
    folder.chmod(0o755)
    site = Site(folder, *python)
    try:
        for name, mode in (("homes", 0o755), ("slots", 0o1777)):
            (folder / name).mkdir()
            (folder / name).chmod(mode)
        change_accounts("groupadd", site.group)
        for role in ROLES:
            home, name = folder / "homes" / role, site.account(role)
            groups = ["--groups", site.group] if role in ("ann", "ben") else []
            command = ["useradd", "--no-create-home", "--home-dir", str(home), "--user-group", *groups, name]
            change_accounts(*command)
            site.users[role] = pwd.getpwnam(name).pw_uid
            home.mkdir(mode=0o700)
            os.chown(home, site.users[role], site.users[role])
        yield site
    finally:
        for role, uid in site.users.items():
            for name in (site.account(role), uid):
                shutil.rmtree(Path("/tmp") / f"hackathon-{name}", ignore_errors=True)
            subprocess.run(["userdel", site.account(role)], check=False, capture_output=True)
        subprocess.run(["groupdel", site.group], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(accounts: Site) -> Iterator[Site]:
    """The accounts, without what they decided earlier, and an empty sticky folder that all may write."""
    scratch = accounts.folder / "scratch"
    scratch.mkdir()
    scratch.chmod(0o1777)
    yield accounts
    shutil.rmtree(scratch)
    for role in ROLES:
        shutil.rmtree(accounts.folder / "homes" / role / ".config", ignore_errors=True)


@pytest.mark.slow
def test_a_strangers_event_above_is_asked_about_and_runs_nothing(site: Site) -> None:
    scratch = site.folder / "scratch"
    site.write("eve", scratch / "hackathon.yaml", site.event("Borealis"))
    site.write("eve", scratch / "templates" / "jobs" / "job.sh.j2", JOB)
    site.write("eve", scratch / "templates" / "clusters" / "laptop.yaml",
               "name: laptop\nscheduler: local\nnode: {cores: 1}\nenvironment: [touch STRANGER]\n")  # fmt: skip
    place = site.project("ann", scratch / "ann" / "train")
    for words in (
        ("check",), ("render",), ("submit",), ("scale", "--processes", "1"), ("shell", "--dry-run"), ("ready",),
        ("env", "create"), ("data", "check"), ("board", "post", "hello"), ("survey", "answer", "x"),
    ):  # fmt: skip
        code, said = site.cli("ann", *words, at=place)
        assert code == 2, (words, said)
        for part in (str(scratch / "hackathon.yaml"), site.account("eve"), "2 teams: Aurora, Borealis"):
            assert part in said, (words, said)
        assert f"hackathon trust {scratch}" in said
    for words in (("clusters", "laptop"), ("recipes",), ("rules", "list"), ("top", "--once"), ("event", "show")):
        code, said = site.cli("ann", *words, at=place)
        assert "hackathon trust" not in said and "STRANGER" not in said, (words, said)
    assert not (place / "runs").exists()

    code, said = site.on_terminal("ann", "render", at=place, typed="n\n")
    assert code == 0 and "STRANGER" not in said and said.count("Trust this event?") == 1, said
    code, said = site.cli("ann", "submit", "--wait", at=place)
    assert code == 0 and "event:" not in said, said
    assert not list(place.rglob("STRANGER"))
    code, said = site.cli("ann", "trust", "--list", at=place)
    assert code == 0 and "ignored" in said and str(scratch) in said
    assert site.cli("ann", "trust", "--remove", str(scratch), at=place)[0] == 0
    assert site.cli("ann", "check", at=place)[0] == 2


@pytest.mark.slow
def test_a_strangers_project_above_is_read_and_not_run(site: Site) -> None:
    scratch = site.folder / "scratch"
    theirs = site.project("eve", scratch)
    site.write("eve", scratch / "templates" / "jobs" / "job.sh.j2", JOB)
    place = site.write("ann", scratch / "ann" / "note", "").parent
    for words in (
        ("submit",),
        ("scale", "--processes", "1"),
        ("shell",),
        ("ready",),
        ("env", "create"),
        ("data", "check"),
    ):
        code, said = site.cli("ann", *words, at=place)
        assert code == 2 and site.account("eve") in said and "--trust" in said, (words, said)
    code, said = site.cli("ann", "render", at=place)
    assert code == 0 and "STRANGER" not in said and "not used" in said, said
    code, said = site.cli("ann", "render", "--trust", at=place)
    assert code == 0 and "STRANGER" in said, said
    code, said = site.cli("ann", "submit", str(theirs), at=site.folder / "homes" / "ann")
    assert code == 2 and "--trust" in said, said  # to name a folder is no trust, either
    # an environment that lies where she starts, in somebody's folder
    site.write("eve", scratch / "eve" / "envs" / "torch-ddp-cpu" / "env.json", '{"variant": "cpu", "digest": "x"}')
    code, said = site.cli("ann", "submit", "torch-ddp", "--cluster", "laptop", at=scratch / "eve")
    assert code == 2 and "env.json" in said and site.account("eve") in said, said
    os.chown(scratch / "project.yaml", site.users["ann"], -1)
    code, said = site.cli("ann", "submit", "--dry-run", at=place)
    assert code == 2 and "templates" in said, said  # her own file, and beside it a stranger's templates
    # a centre's project above, and templates of root
    for path in (scratch, *scratch.rglob("*")):
        if site.users["ann"] != path.stat().st_uid or path.name == "project.yaml":
            os.chown(path, 0, 0)
    code, said = site.cli("ann", "submit", "--dry-run", at=place)
    assert code == 0 and "STRANGER" in said, said


@pytest.mark.slow
def test_an_own_project_that_a_group_may_write_is_trusted_once(site: Site) -> None:
    place = site.project("ann", site.folder / "scratch" / "train")
    for path in (place, *place.iterdir()):
        shutil.chown(path, group=site.group)
        path.chmod(0o775)
    code, said = site.cli("ann", "submit", "--dry-run", at=place)
    assert code == 2 and f"group {site.group}" in said and "chmod go-w" in said, said
    assert site.cli("ann", "trust", str(place), at=place)[0] == 0
    assert site.cli("ann", "submit", "--dry-run", at=place)[0] == 0
    place.chmod(0o777)
    code, said = site.cli("ann", "submit", "--dry-run", at=place)
    assert code == 2 and "everybody" in said, said
    # and in a home that is closed to others nobody is asked
    home = site.project("ann", site.folder / "homes" / "ann" / "train")
    for path in (home, *home.iterdir()):
        path.chmod(0o777)
    assert site.cli("ann", "submit", "--dry-run", at=home)[0] == 0


@pytest.mark.slow
def test_a_tutor_reads_a_teams_project_and_runs_it_only_with_trust(site: Site) -> None:
    event = site.write("org", site.folder / "scratch" / "event" / "hackathon.yaml", site.event()).parent
    place = site.project("ann", event / "Aurora")
    site.write("ann", place / "templates" / "jobs" / "job.sh.j2", JOB)
    code, said = site.on_terminal("tut", "check", at=place, typed="y\n")
    assert code == 0 and site.account("org") in said and "1 team: Aurora" in said and "event: Test" in said, said
    code, said = site.cli("tut", "render", at=place)
    assert code == 0 and "STRANGER" not in said and "not used" in said, said
    for words in (("submit", "--dry-run"), ("shell", "--dry-run"), ("scale", "--processes", "1", "--dry-run")):
        code, said = site.cli("tut", *words, at=place)
        assert code == 2 and site.account("ann") in said and "--trust" in said, (words, said)
        code, said = site.cli("tut", *words, "--trust", at=place)
        assert code == 0, (words, said)
    assert site.cli("ann", "trust", at=place)[0] == 0
    code, said = site.cli("ann", "submit", "--wait", at=place)
    assert code == 0, said
    run = next((place / "runs").iterdir()).name
    for words in (("status",), ("logs",), ("diagnose",), ("status", run)):
        code, said = site.cli("tut", *words, at=place)
        assert code in (0, 1) and "hackathon trust" not in said, (words, said)
    code, said = site.cli("tut", "rerun", run, "--dry-run", at=place)
    assert code == 2 and site.account("ann") in said, said
    # another owner's file in the place of the one that was trusted
    site.write("eve", event / "hackathon.yaml", site.event("Borealis"))
    for role in ("ann", "tut"):
        code, said = site.cli(role, "check", at=place)
        assert code == 2 and "hackathon trust" in said, said


@pytest.mark.slow
def test_all_members_of_several_teams_need_one_confirmation_each_and_nothing_more(site: Site) -> None:
    event = site.folder / "scratch" / "event"
    event.mkdir()
    os.chown(event, site.users["org"], site.users["org"])
    rows = ["team,user,kind,tutors,group", f"Aurora,{site.account('ann')},master,,{site.group}",
            f"Aurora,{site.account('ben')},master,,{site.group}"]  # fmt: skip
    # without a group: an access list in its place
    rows += [f"Team{number},{site.account(role)},master,," for number, role in enumerate(ALONE)]
    table = site.write("org", event / "teams.csv", "\n".join(rows))
    result = subprocess.run(
        [site.python, "-m", "hackathon", "event", "init", str(event), "--teams", str(table), "--title", "Test",
         "--cluster", "laptop", "--date", "2099-01-24"],
        env={**site.options("org")["env"], "HOME": "/root", "SUDO_UID": str(site.users["org"])},
        cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    folders = [event / "Aurora", *(event / f"Team{number}" for number in range(TEAMS - 1))]
    for role in ("ann", "ben", "eve", *ALONE):
        code, said = site.cli(role, "trust", str(event), at=event)
        assert code == 0 and f"{TEAMS} teams: Aurora, Team0" in said, said
    for role, folder in zip(("ann", *ALONE), folders, strict=True):
        made = "import os\nos.mkdir('train')\nopen('train/run.sh', 'w').write('echo hello')\n"
        subprocess.run([site.python, "-c", f"{made}open('train/project.yaml', 'w').write({PROJECT!r})"], cwd=folder,
                       check=True, **site.options(role))  # fmt: skip
        code, said = site.cli(role, "submit", "--dry-run", "--launcher", "local", at=folder / "train")
        assert code == 0 and "event: Test" in said and "warning" not in said.lower(), said
    # a colleague's project in the team's folder, which the group and the list let him write
    place = event / "Aurora" / "train"
    assert (place / "project.yaml").stat().st_uid == site.users["ann"] and place.stat().st_mode & 0o020
    code, said = site.cli("ben", "submit", "--launcher", "local", "--wait", at=place)
    assert code == 0, said
    run = next((place / "runs").iterdir()).name
    code, said = site.cli("ann", "rerun", run, "--dry-run", at=place)
    assert code == 0, said
    # another team's project is not the user's, though the event is trusted
    (event / "Aurora").chmod(0o2775)
    os.removexattr(place, "system.posix_acl_access")
    place.chmod(0o755)
    for name in ("project.yaml", "run.sh"):
        os.removexattr(place / name, "system.posix_acl_access")
        (place / name).chmod(0o644)
    code, said = site.cli("eve", "submit", str(place), "--dry-run", at=event)
    assert code == 2 and "--trust" in said, said


@pytest.mark.slow
def test_nothing_is_written_to_or_run_from_a_strangers_folder(site: Site) -> None:
    """Folders that a stranger made before, in a sticky folder that all may write: `runs`, `envs`, `data`, `studies`."""
    scratch, home = site.folder / "scratch", site.folder / "homes" / "ann"
    precious = site.write("ann", home / "precious", "mine\n")

    def planted(name: str, *files: tuple[str, str]) -> Path:
        folder = site.write("eve", scratch / name / "note", "").parent
        folder.chmod(0o777)
        for file, text in files:
            site.write("eve", folder / file, text)
        return folder

    def refused(*words: str, **more: str) -> None:
        options = site.options("ann")
        options["env"].update(more)
        done = subprocess.run([site.python, "-m", "hackathon", *words], cwd=scratch, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, **options)  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 2 and site.account("eve") in said and "Traceback" not in said, (words, said)
        assert "nothing is written there" in said, (words, said)

    job = ("allreduce", "--cluster", "laptop", "--launcher", "local")
    runs = planted("runs")
    refused("submit", *job)
    assert [path.name for path in runs.iterdir()] == ["note"]
    runs.rename(scratch / "old-runs")
    studies = planted("studies")
    refused("scale", *job, "--processes", "1")
    assert [path.name for path in studies.iterdir()] == ["note"]

    mark = scratch / "ran-as"
    program = f"import os\nopen({str(mark)!r}, 'w').write(str(os.geteuid()))\n"
    envs = planted("envs", ("venv.py", program), ("pip.py", program))
    (envs / "allreduce-cpu.log").symlink_to(precious)
    refused("env", "create", "allreduce", "--cluster", "laptop")
    shared = planted("shared")
    shutil.chown(shared, "root")
    shared.chmod(0o1777)
    (shared / "allreduce-cpu.log").symlink_to(precious)
    options = site.options("ann")
    options["env"]["HACKATHON_ENVS"] = str(shared)
    done = subprocess.run([site.python, "-m", "hackathon", "env", "create", "allreduce", "--cluster", "laptop"],
                          cwd=home, capture_output=True, text=True, check=False, **options)  # fmt: skip
    assert done.returncode == 2 and "everybody" in done.stderr, done.stderr
    assert not mark.exists() and precious.read_text() == "mine\n"

    source = site.write("ann", home / "words.txt", "a b c\n")
    entry = f"data: [{{name: words.txt, url: 'file://{source}'}}]\n"
    site.write("ann", scratch / "project.yaml", PROJECT.replace("team: Aurora\n", "") + entry)
    data = planted("data")
    (data / ".gitignore").symlink_to(home / "new-file")
    refused("data", "fetch")
    assert not (home / "new-file").exists()
    shutil.rmtree(data)
    code, said = site.cli("ann", "data", "fetch", at=scratch)
    assert code == 0 and (data / "words.txt").read_text() == "a b c\n", said


@pytest.mark.slow
def test_a_run_that_somebody_put_in_its_place_is_not_run(site: Site) -> None:
    """The job's script is the scheduler's by then, and its run is a name."""
    place = site.project("ann", site.folder / "scratch" / "ann" / "train")
    code, said = site.cli("ann", "render", "--launcher", "local", "--json", at=place)
    assert code == 0, said
    code, said = site.cli("ann", "submit", "--launcher", "local", "--wait", at=place)
    assert code == 0, said
    (run,) = (place / "runs").iterdir()
    script = (run / "job.sh").read_text()
    mark = site.folder / "scratch" / "ran"
    shutil.move(run, place / "aside")
    for name in ("hackathon.sh", "rank.sh"):
        site.write("eve", run / name, f"touch {mark}\n").chmod(0o755)
    shutil.copytree(place / "aside" / "source", run / "source")
    run.chmod(0o777)
    options = site.options("ann")

    def refuse(folder: Path) -> None:
        options["env"]["HK_RUN"] = str(folder)
        done = subprocess.run(["bash", "-c", script, "job.sh"], cwd=folder, capture_output=True, text=True, check=False,
                              **options)  # fmt: skip
        assert done.returncode == 78 and "belongs to another account" in done.stderr, done
        assert not mark.exists()

    refuse(run)
    for name in ("hackathon.sh", "rank.sh"):  # in her own folder, one file of another
        (place / "aside" / name).rename(place / "aside" / f"her-{name}")
        shutil.move(run / name, place / "aside" / name)
        refuse(place / "aside")
        (place / "aside" / f"her-{name}").replace(place / "aside" / name)
