"""A run's links to somebody else's files are not followed: who looks may read what the link's maker may not."""

import json
import os
from pathlib import Path

import pytest

from hackathon.index.index import Index
from hackathon.index.projects import ProjectFolder
from hackathon.runs.directory import files_of, list_ids
from support.runs import NOBODY
from support.samples.runs import Sample, write_run

SECRET = "what only the tutor may read"
root = pytest.mark.skipif(os.geteuid() != 0, reason="files of two users need root")


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """A participant's project with one run, and a tutor's folder."""
    project, own = tmp_path / "train", tmp_path / "own"
    write_run(project / "runs", Sample(4, 1000.0))
    for name in ("request.json", "created.json", "job.jsonl", "rank-0.jsonl", "final.json", "job_id"):
        own.mkdir(exist_ok=True)
        words = {"note": SECRET, "user": SECRET, "t": 1.0, "event": "warned", "text": SECRET, "final": True}
        (own / name).write_text(json.dumps({**words, "state": "FAILED", "reason": SECRET, "samples_per_s": 31337.0}))
    for path in (project, *project.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return project, own


@root
@pytest.mark.parametrize(
    "name",
    ["request.json", "final.json", "client/created.json", "events/job.jsonl", "metrics/rank-0.jsonl", "claim/job_id",
     "client", "events", "metrics", "claim"],
)  # fmt: skip
def test_nothing_of_the_tutor_s_is_shown(place: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    project, own = place
    (run,) = (project / "runs").iterdir()
    path = run / name
    if path.is_dir():
        path.rename(run / "before")
        path.symlink_to(own)
    else:
        path.unlink()
        path.symlink_to(own / path.name)
    assert [each.reason for each in files_of(run).refused([name])] == ["link"]
    index = Index([ProjectFolder(project, "aurora")], tmp_path / "private" / "index.sqlite3")
    index.refresh()
    (summary,) = index.summaries
    assert SECRET not in repr(summary) and summary.value != 31337.0
    assert summary.team == "aurora"


@root
def test_a_link_that_leads_outside_is_not_read_even_if_its_file_is_its_maker_s(
    place: tuple[Path, Path], tmp_path: Path
) -> None:
    project, own = place
    (run,) = (project / "runs").iterdir()
    for path in (own, *own.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    (run / "logs" / "rank-0.log").unlink()
    (run / "logs" / "rank-0.log").symlink_to(own / "job.jsonl")
    (run / "logs" / "inside.log").symlink_to("../job.sh")
    (run / "logs" / "nowhere.log").symlink_to("nowhere")
    (run / "logs" / "loop.log").symlink_to("loop.log")
    assert [each.name for each in files_of(run).refused(["logs"])] == ["logs/loop.log", "logs/rank-0.log"]
    index = Index([ProjectFolder(project)], tmp_path / "private" / "index.sqlite3")
    index.refresh()
    assert [summary.state for summary in index.summaries] == ["SUCCEEDED"]


def test_a_link_to_itself_hides_no_other_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs", Sample(4, 1000.0))
    for name in ("20990101-000000-loop-1p-aaaaaaaa", "a"):
        (tmp_path / "runs" / name).symlink_to(name)
    index = Index([ProjectFolder(tmp_path)], tmp_path / "private" / "index.sqlite3")
    index.refresh()
    assert [summary.id for summary in index.summaries] == [run.name]
    assert list_ids(tmp_path / "runs") == [run.name]
