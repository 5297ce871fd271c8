"""Two real users: one writes the other's job id into a run of her own, and the other is asked to cancel that run."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.accounts import public_folder, python_for_others
from support.backends import LONG, until

__all__ = ["public_folder"]
UIDS = {"tutor": 64001, "eve": 64002}


@dataclass
class Site:
    """A project of each of them, for the scheduler of this machine."""

    folder: Path
    python: str
    packages: str

    def cli(self, role: str, *words: str) -> tuple[int, str, str]:
        home = self.folder / role
        environment = {
            "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": self.packages, "PYTHONDONTWRITEBYTECODE": "1",
            "HACKATHON_LANG": "en", "HACKATHON_LOCAL_DIR": str(home / "local"), "HACKATHON_LOCAL_GRACE": "1",
            "HACKATHON_LOCAL_SLOTS_DIR": str(home / "slots"), "HACKATHON_LOCAL_SLOTS": "4",
        }  # fmt: skip
        options: dict[str, Any] = {"user": UIDS[role], "group": UIDS[role], "extra_groups": [], "umask": 0o022}
        result = subprocess.run(
            [self.python, "-m", "hackathon", *words], cwd=home / "project", env=environment, capture_output=True,
            stdin=subprocess.DEVNULL, text=True, timeout=LONG, check=False, **options,
        )  # fmt: skip
        return result.returncode, result.stdout, result.stderr

    def submit(self, role: str) -> Path:
        code, _, error = self.cli(role, "submit")
        assert code == 0, error
        return max((self.folder / role / "project" / "runs").glob("2*"))

    def state(self, role: str, run: Path) -> dict[str, Any]:
        code, out, error = self.cli(role, "status", str(run), "--json")
        assert code in (0, 1), error
        value = json.loads(out)
        found: dict[str, Any] = value["runs"][0]
        return found


@pytest.fixture
def site(public_folder: Path) -> Iterator[Site]:
    made = Site(public_folder, *python_for_others())
    for role, uid in UIDS.items():
        project = made.folder / role / "project"
        project.mkdir(parents=True)
        text = "name: work\ncommand: sleep 3000\ncluster: laptop\nlauncher: local\nprocesses: 1\nwalltime: 01:00:00\n"
        (project / "project.yaml").write_text(text)
        for path in (made.folder / role, project, project / "project.yaml"):
            os.chown(path, uid, uid)
    yield made
    for role in UIDS:
        for run in (made.folder / role / "project" / "runs").glob("2*"):
            made.cli(role, "cancel", run.name)


@pytest.mark.slow
def test_cancel_ends_no_job_that_anothers_files_name(site: Site) -> None:
    mine, theirs = site.submit("tutor"), site.submit("eve")
    until(lambda: site.state("tutor", mine)["state"] == "RUNNING", "the tutor's job")
    job_id = json.loads((mine / "client" / "submitted.json").read_text())["job_id"]
    own_id = json.loads((theirs / "client" / "submitted.json").read_text())["job_id"]
    until((theirs / "claim" / "job_id").exists, "eve's job")
    for text, words in ((job_id, "belongs to 64001"), ("-Wforce", "is not a job ID")):
        (theirs / "claim" / "job_id").write_text(f"{text}\n")
        code, out, error = site.cli("tutor", "cancel", str(theirs), "--yes")
        assert code == 2 and words in error and "cancel requested" not in out, (out, error)
        # nor is the tutor's job shown as eve's
        assert words.split()[0] in str(site.state("tutor", theirs)) or text == "-Wforce"
    assert site.state("tutor", mine)["state"] == "RUNNING"
    (theirs / "claim" / "job_id").write_text(f"{own_id}\n")
    for role, run in (("tutor", mine), ("eve", theirs)):
        code, out, error = site.cli(role, "cancel", run.name)
        assert (code, error) == (0, ""), error
        until(lambda role=role, run=run: site.state(role, run)["state"] == "CANCELLED", "the end of the job")
