"""`hackathon ready` on the real Slurm: the job runs on another node, which sees the data or does not."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.board import read_board
from hackathon.board.directory import make_place, open_place
from hackathon.board.people import People
from hackathon.config.load import load_event
from hackathon.readiness.collected import collected
from support.backends import Site, SlurmBackend, json_lines, until
from support.patience import STRETCH
from support.slurm_lab.lab import SlurmLab

pytestmark = pytest.mark.slurm
ME = user_name(os.geteuid())
PROGRAM = """
import os, pathlib
print("throughput:", len((pathlib.Path(os.environ["HK_DATA"]) / "words.txt").read_text()))
print("accuracy", 0.99)
"""


@pytest.fixture
def site(slurm: SlurmLab, tmp_path: Path) -> Iterator[Site]:
    """A team's project in an event on the lab, with data to be fetched."""
    event = tmp_path / "冬"
    event.mkdir()
    make_place(event / "shared", "sticky")
    (event / "hackathon.yaml").write_text(
        f"title: 冬\nshared: shared\nteams:\n- name: 極光\n  group: proj1\n  members: [{{user: {ME}}}]\n"
        f"  tutors: [{ME}]\n  folders: [極光]\ntutors: [{{user: {ME}}}]\n"
    )
    words = event / "words.txt"
    words.write_text("one two three")
    made = Site(SlurmBackend(slurm), event / "極光")
    made.write_project(
        "python train.py",
        group="proj1",
        walltime="300s",
        data=[{"name": "words.txt", "url": f"file://{words}", "stage": True,
               "sha256": hashlib.sha256(words.read_bytes()).hexdigest()}],
        metrics={"samples_per_s": {"pattern": "throughput: ([0-9.]+)"}, "accuracy": {"pattern": "accuracy ([0-9.]+)"}},
        check={"metric": "accuracy", "at_least": 0.9},
    )  # fmt: skip
    (made.folder / "train.py").write_text(PROGRAM)
    yield made
    made.backend.stop()


def ready(site: Site, *words: str, code: int) -> dict[str, dict[str, Any]]:
    value = json.loads(site.run("ready", "--json", *words, code=code))
    return {item["name"]: item for item in value["items"]}


@pytest.mark.slow
def test_ready_by_a_job_on_a_node(site: Site, slurm: SlurmLab) -> None:
    found = ready(site, code=1)
    assert {name: item["ok"] for name, item in found.items()} == {
        "account": True, "environment": True, "data": False, "job": True, "check": False, "baseline": False,
        "tutors": True,
    }  # fmt: skip
    site.run("data", "fetch")
    run = site.submit()
    site.await_state(run, "SUCCEEDED")
    found = ready(site, code=0)
    job = found["job"]["facts"]
    ask = ("sacct", "-nXP", "-j", job["job_id"], "-o", "NodeList,State,Account,ElapsedRaw")
    until(lambda: "|COMPLETED|" in slurm.run(*ask), "the job in the accounts")
    told = slurm.run(*ask).strip().split("|")
    assert told[1:3] == ["COMPLETED", "proj1"]
    # Slurm counts whole seconds, until it has the node back: see LATE in test_usage_on_slurm
    assert abs(float(told[3]) - job["seconds"]) <= STRETCH * 3
    if site.backend.node_names:
        assert (told[0], job["host"] in site.backend.node_names) == (job["host"], True)
        assert job["host"] != os.uname().nodename
    assert "proj1" in found["account"]["evidence"]
    assert found["data"]["facts"]["files"] == 1
    assert found["check"]["facts"]["run"] == found["baseline"]["facts"]["run"] == run.id
    folder = site.folder.parent
    event = load_event(folder)
    board = read_board(open_place(folder / "shared"), People(event))
    points = collected(board, event)["極光"].points
    # a Slurm account is no Unix group: the job that ran under it shows that it is one's own
    assert {point.state for point in points.values()} == {"confirmed"}, points


def test_data_that_only_the_login_node_sees(site: Site) -> None:
    if not site.backend.node_names:
        pytest.skip("no real Slurm: nodes without a network of their own share /dev/shm with this machine")
    site.run("data", "fetch")
    here = Path(tempfile.mkdtemp(prefix="hk-ready-", dir="/dev/shm"))  # each node of the lab has its own
    try:
        (site.folder / "data").rename(site.folder / "data.moved")
        shutil.copytree(site.folder / "data.moved", here / "data")
        (site.folder / "data").symlink_to(here / "data")
        site.run("data", "check")
        found = ready(site, "--no-post", code=1)
        assert (found["job"]["ok"], found["data"]["ok"]) == (True, False)
        assert "No such file" in found["data"]["evidence"]
        assert "words.txt" in found["data"]["evidence"]
    finally:
        shutil.rmtree(here)


@pytest.mark.slow
def test_a_job_that_waits_is_no_proof_yet(site: Site, slurm: SlurmLab) -> None:
    """Its queue is closed: whoever does not wait looks again later."""
    slurm.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        process = site.start("ready", "--no-post")
        runs = site.folder / "runs"
        until(lambda: list(runs.glob("*-ready-*/client/submitted.json")), "the submission")
        process.send_signal(2)
        process.communicate(timeout=STRETCH * 60)
        found = ready(site, "--no-job", "--no-post", code=1)
        assert found["job"]["ok"] is None
        assert "QUEUED" in found["job"]["evidence"] or "HELD" in found["job"]["evidence"]
        assert found["job"]["remedy"] == "hackathon ready --no-job"
    finally:
        slurm.run("scontrol", "update", "PartitionName=main", "State=UP")
    (run,) = runs.iterdir()
    until(lambda: any(event["event"] == "ended" for event in json_lines(run / "events" / "job.jsonl")), "the job's end")
    found = ready(site, "--no-job", "--no-post", code=1)
    facts = found["job"]["facts"]
    assert found["job"]["ok"] is True
    begun = next(event["t"] for event in json_lines(run / "events" / "job.jsonl") if event["event"] == "started")
    submitted = json.loads((run / "client" / "submitted.json").read_text())["t"]
    assert facts["waited"] == pytest.approx(begun - submitted, abs=0.1), "the time in the queue is told apart"
