"""Templates, crates and logs of another Unix account: nothing in them runs as whoever looks."""

import json
import os
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.accounts import public_folder as public_folder
from support.accounts import python_for_others
from support.patience import STRETCH
from support.runs import request

TEAM, TUTOR = 64011, 64012
TEMPLATE = '{% extends "shipped/job.sh.j2" %}{% block prologue %}BODY{% endblock %}'
BODIES = (
    "{% if cycler.__init__.__globals__.os.system('touch MARK') %}{% endif %}",
    "{% for each in cycler.__init__.__globals__.os.popen('touch MARK') %}{% endfor %}",
    "{% set a = lipsum.__globals__['os'].system('touch MARK') %}",
)


@pytest.fixture
def place(public_folder: Path) -> Path:
    """A folder with a home for the tutor and a folder for the team, each of an account of its own."""
    python_for_others()  # or skip: only root gives folders away
    for name, uid in (("team", TEAM), ("tutor", TUTOR)):
        folder = public_folder / name
        folder.mkdir(mode=0o755)
        os.chown(folder, uid, uid)
    return public_folder


def call(place: Path, uid: int, *words: str, folder: str) -> "subprocess.CompletedProcess[str]":
    python, packages = python_for_others()
    environment = {
        "HOME": str(place / "tutor"), "PATH": "/usr/bin:/bin", "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1",
        "HACKATHON_LANG": "en",
    }  # fmt: skip
    options: dict[str, Any] = {"user": uid, "group": uid, "extra_groups": [], "stdin": subprocess.DEVNULL}
    options["timeout"] = STRETCH * 120
    return subprocess.run(
        [python, *words], cwd=place / folder, env=environment, capture_output=True, text=True, **options
    )


def owned(path: Path, text: str) -> None:
    """Write a file of the team's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for each in (path, *path.parents):
        if each.stat().st_uid == 0 and "team" in each.parts:
            os.chown(each, TEAM, TEAM)


def test_a_teams_template_runs_nothing_as_the_tutor(place: Path) -> None:
    owned(place / "team" / "project.yaml", "name: own\ncommand: python train.py\ncluster: laptop\nprocesses: 1\n")
    mark = place / "tutor" / "mark"
    for body in BODIES:
        owned(
            place / "team" / "templates" / "jobs" / "job.sh.j2",
            TEMPLATE.replace("BODY", body).replace("MARK", str(mark)),
        )
        done = call(place, TUTOR, "-m", "hackathon", "check", folder="team")
        assert not mark.exists() and "Traceback" not in done.stderr, done.stderr


@pytest.mark.slow
def test_compiled_templates_of_another_account_are_not_loaded(place: Path) -> None:
    words = ("-m", "hackathon", "render", "torch-ddp", "--cluster", "laptop", "--processes", "1")
    good = call(place, TUTOR, *words, folder="tutor")
    assert good.returncode == 0, good.stderr
    cache = place / "tutor" / ".cache" / "hackathon" / "templates"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    evil = (
        "import marshal, pickle, sys, io, pathlib\nfrom jinja2.bccache import bc_magic\n"
        'code = marshal.dumps(compile(\'def root(*a, **k):\\n    yield "EVIL"\\nname = 1\\nblocks = {}\\n'
        "debug_info = \"\"\\n', 'x', 'exec'))\n"
        "for path in pathlib.Path(sys.argv[1]).iterdir():\n"
        "    stream = io.BytesIO(path.read_bytes())\n    stream.read(len(bc_magic))\n"
        "    path.write_bytes(bc_magic + pickle.dumps(pickle.load(stream), 2) + code)\n"
    )
    cache.chmod(0o777)  # a home that a group writes in, an umask of 000
    for each in cache.iterdir():
        each.chmod(0o666)
    assert call(place, TEAM, "-c", evil, str(cache), folder="team").returncode == 0
    again = call(place, TUTOR, *words, folder="tutor")
    assert again.stdout == good.stdout


@pytest.mark.slow
def test_a_strangers_crate_is_refused_and_its_values_stay_text(place: Path) -> None:
    record = {**request(place, command=("env",)).to_json(), "variables": {"LD_PRELOAD": "/tmp/x.so"}}
    for variables in ({"LD_PRELOAD": "/tmp/x.so"}, {"MODE": "$(touch mark)"}):
        files = {
            "request.json": json.dumps({**record, "variables": variables, "origins": {"variables.MODE": "recipe x"}}),
            "source/train.py": "", "source.json": json.dumps({"files": {"train.py": ""}}),
        }  # fmt: skip
        listed = {"schema_version": 1, "run": "k", "files": dict.fromkeys(files, ""), "source": {"complete": True}}
        graph = {"@graph": [{"@id": "ro-crate-metadata.json"}, {"@id": "./"}]}
        path = place / "team" / "theirs.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, "hackathon.json": json.dumps(listed)}.items():
                archive.writestr(name, text)
            archive.writestr("ro-crate-metadata.json", json.dumps(graph))
        os.chown(path, TEAM, TEAM)
        words = ("-m", "hackathon", "rerun", "../team/theirs.zip", "--cluster", "laptop")
        done = call(place, TUTOR, *words, folder="tutor")
        assert done.returncode == 2 and next(iter(variables)) in done.stderr, done.stderr
        assert not (place / "tutor" / "runs").exists()
    assert "--yes" in done.stderr and "$(touch mark)" in done.stderr
    shutil.rmtree(place / "tutor" / ".config", ignore_errors=True)


@pytest.mark.slow
def test_a_check_with_a_teams_path_runs_nothing_when_it_is_pasted(place: Path) -> None:
    log = place / "team" / "rank-0.log"
    owned(log, "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: "
               "'/data/x$(touch mark)'\n")  # fmt: skip
    done = call(place, TUTOR, "-m", "hackathon", "diagnose", "../team/rank-0.log", "--json", folder="tutor")
    told = json.loads(done.stdout)
    checks = [
        each["check"] for finding in told["findings"] for each in finding["causes"] if "mark" in (each["check"] or "")
    ]
    assert checks
    for check in checks:
        subprocess.run(
            ["bash", "-c", check], cwd=place / "tutor", capture_output=True, user=TUTOR, group=TUTOR, check=False
        )
    assert not (place / "tutor" / "mark").exists()
