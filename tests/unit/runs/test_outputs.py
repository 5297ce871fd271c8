"""What a program wrote in its run: recorded at its end, shown, copied, and deleted only by name."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hackathon.cli.main import build
from hackathon.cli.main import run as command
from hackathon.runs import chain
from hackathon.runs.create import create
from hackathon.runs.directory import RunDirectory
from hackathon.runs.source import snapshot
from hackathon.runs.status import SETTLING, status
from hackathon.runs.submit import submit
from hackathon.text.files import write_json
from support.runs import SCRIPT, FakeScheduler, project, request, write_event

WRITTEN = {
    "source/model_final.pth": 3000,
    "source/checkpoints/best.pt": 2000,
    "source/outputs/2026/.hydra/config.yaml": 10,
    "checkpoints/last.pt": 1000,
}
"""File that the program of `run` writes → its bytes."""
LEFT_OUT = (
    "source/__pycache__/train.pyc", "source/.cache/model.bin", "source/torchinductor_me/code.py", "source/old.pyc",
    "logs/rank-0.log", "metrics/rank-0.jsonl", "env/a01.json", "source/marked/CACHEDIR.TAG", "source/marked/weights.pt",
)  # fmt: skip
"""What lies in a run and is a cache or of the toolkit."""


def put(run: RunDirectory, name: str, content: str | bytes = "x") -> None:
    """Write a file in a run's directory as its program would."""
    path = Path(str(run.path / name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def train(run: RunDirectory) -> None:
    """Write what the program of a run writes."""
    for name, size in WRITTEN.items():
        put(run, name, b"w" * size)
    for name in LEFT_OUT:
        put(run, name)


def seal(run: RunDirectory, state: str = "SUCCEEDED") -> None:
    """Write the seal of a run that ended long ago, as a former version did: without a record of its outputs."""
    write_json(run.path / "final.json", {"state": state, "t_ended": 1.0, "sealed": 1.0})


def recorded(run: RunDirectory) -> dict[str, int]:
    """Return file → bytes as `outputs.json` has them."""
    value = json.loads((run.path / "outputs.json").read_text())
    assert value["schema_version"] == 1 and set(value) == {"schema_version", "outputs", "complete"}
    return {entry["path"]: entry["bytes"] for entry in value["outputs"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, which is the current one; its program reads a file beside it."""
    made = project(tmp_path / "project")
    (made / "conf.yaml").write_text("lr: 0.1\n")
    (made / "project.yaml").write_text("name: digits\ncommand: python train.py\ncluster: laptop\n")
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def run(folder: Path) -> RunDirectory:
    """A run whose program has written and which was sealed by a former version."""
    made = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    train(made)
    seal(made)
    return made


def test_the_one_who_seals_a_run_records_what_was_written(folder: Path, tmp_path: Path) -> None:
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    scheduler = FakeScheduler(tmp_path / "spool")
    submit(run, scheduler)
    train(run)
    assert status([run], load=lambda name: scheduler)[0].state == "QUEUED" and not (run.path / "outputs.json").exists()
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1})
    write_event(run, {"t": 2.0, "event": "ended", "attempt": 1, "exit_code": 0, "signal": None})
    assert status([run], load=lambda name: scheduler)[0].sealed
    assert recorded(run) == WRITTEN


def test_a_job_that_was_killed_is_recorded_by_the_next_reader(folder: Path, tmp_path: Path) -> None:
    """Its script wrote no end; the scheduler alone says so, and that is believed a while later."""
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    scheduler = FakeScheduler(tmp_path / "spool")
    submit(run, scheduler)
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1})
    train(run)
    scheduler.say("1", "OUT_OF_MEMORY")
    assert not status([run], load=lambda name: scheduler)[0].sealed
    assert status([run], load=lambda name: scheduler, now=time.time() + 2 * SETTLING)[0].sealed
    assert recorded(run) == WRITTEN


def test_status_of_an_older_run_records_and_shows_it(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["status", run.id, "--no-ask"]) == 0
    shown = capsys.readouterr().out
    assert recorded(run) == WRITTEN
    assert "4 files, 6.0 kB" in shown and "source/model_final.pth" in shown and "2.0 kB" in shown
    assert f"hackathon fetch {run.id[-8:]}" in shown
    command(["status", run.id, "--no-ask", "--json"])
    outputs = json.loads(capsys.readouterr().out)["runs"][0]["outputs"]
    assert (outputs["files"], outputs["bytes"], outputs["complete"]) == (4, 6010, True)
    assert outputs["listed"][0] == {"path": "source/model_final.pth", "files": 1, "bytes": 3000}


def test_a_folder_with_many_files_is_one_line(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(21):
        put(run, f"source/pictures/{number}/plot.png", "x" * (number + 1))
    command(["status", run.id, "--no-ask"])
    shown = capsys.readouterr().out
    assert "source/pictures/ (21 files, the largest: 20/plot.png 21 B)" in shown and "5/plot.png" not in shown


def test_source_counts_once_its_content_is_another(run: RunDirectory) -> None:
    for name in ("train.py", "conf.yaml"):
        content = (run.path / "source" / name).read_bytes()
        put(run, f"source/{name}", content + (b"lr: 0.2\n" if name == "conf.yaml" else b""))
    command(["status", run.id, "--no-ask"])
    assert recorded(run) == {**WRITTEN, "source/conf.yaml": len("lr: 0.1\nlr: 0.2\n")}


def test_others_look_and_write_nothing(
    run: RunDirectory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunDirectory, "owned", lambda run: False)
    assert command(["status", run.id, "--no-ask"]) == 0
    assert "4 files, 6.0 kB" in capsys.readouterr().out and not (run.path / "outputs.json").exists()


def test_a_walk_has_an_end_and_fetch_does_not_need_the_record(folder: Path, run: RunDirectory, tmp_path: Path) -> None:
    for number in range(10_001):
        put(run, f"source/many/{number // 1000}/{number}", b"")
    command(["status", run.id, "--no-ask"])
    value = json.loads((run.path / "outputs.json").read_text())
    assert len(value["outputs"]) == 10_000 and value["complete"] is False
    assert "source/model_final.pth" in recorded(run)  # what lies near the top comes first
    left = max({f"source/many/{number // 1000}/{number}" for number in range(10_001)} - set(recorded(run)))
    assert command(["fetch", run.id, left, "--to", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / left.removeprefix("source/")).is_file()


def test_an_in_place_run_has_what_lies_in_its_own_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = create(request(folder, in_place=True), SCRIPT, runs_folder=folder / "runs")
    put(run, "checkpoints/last.pt", "1234")
    (folder / "model.pth").write_text("in the project")
    seal(run)
    assert command(["status", run.id, "--no-ask"]) == 0
    assert recorded(run) == {"checkpoints/last.pt": 4}
    assert f"the program ran in {folder}" in capsys.readouterr().out


# ---- fetch ----
def fetched(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """Return what `fetch … --json` prints."""
    assert command(["fetch", *words, "--json"]) == code
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_fetch_copies_everything_to_where_the_program_put_it(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = fetched(capsys, run.id, "--to", str(tmp_path / "out"))
    names = {name: name.removeprefix("source/") for name in WRITTEN}
    assert {entry["path"]: entry["to"] for entry in value["fetched"]} == {
        name: str(tmp_path / "out" / inner) for name, inner in names.items()
    }
    assert all((tmp_path / "out" / names[name]).stat().st_size == size for name, size in WRITTEN.items())
    assert not list((tmp_path / "out").rglob(".hackathon*"))


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("best.pt", ["source/checkpoints/best.pt"]),
        ("*.pt", ["checkpoints/last.pt", "source/checkpoints/best.pt"]),
        ("checkpoints", ["checkpoints/last.pt", "source/checkpoints/best.pt"]),
        ("checkpoints/*.pt", ["checkpoints/last.pt", "source/checkpoints/best.pt"]),
        ("source/checkpoints/", ["source/checkpoints/best.pt"]),
        ("./model_final.pth", ["source/model_final.pth"]),
        ("outputs/**/*.yaml", ["source/outputs/2026/.hydra/config.yaml"]),
        ("outputs/*.yaml", []),
        ("train.py", []),
    ],
)
def test_patterns(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str, names: list[str]
) -> None:
    value = fetched(capsys, run.id, pattern, "--to", str(tmp_path / "out"), code=0 if names else 1)
    assert [entry["path"] for entry in value["fetched"]] == names
    assert value["unmatched"] == ([] if names else [pattern])


def test_one_name_in_two_places_stays_two_files(run: RunDirectory, tmp_path: Path) -> None:
    put(run, "source/checkpoints/last.pt", "of the source")
    assert command(["fetch", run.id, "last.pt", "--to", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/source/checkpoints/last.pt").read_text() == "of the source"
    assert (tmp_path / "out/checkpoints/last.pt").stat().st_size == WRITTEN["checkpoints/last.pt"]


def test_nothing_is_overwritten_unless_forced(
    folder: Path, run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "model_final.pth").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("precious")
    assert command(["fetch", run.id]) == 2
    assert str(folder / "model_final.pth") in capsys.readouterr().err and not (folder / "checkpoints").exists()
    assert command(["fetch", run.id, "--force"]) == 0
    assert (folder / "model_final.pth").read_bytes() == b"w" * 3000 and not (folder / "model_final.pth").is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"


def test_no_link_leads_out_of_the_run(run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its owner may replace a recorded file, or write any path into the record."""
    secret = tmp_path / "secret.pt"
    secret.write_text("secret")
    command(["status", run.id, "--no-ask"])
    value = json.loads((run.path / "outputs.json").read_text())
    paths = ["../../../secret.pt", str(secret), "source/../../../../secret.pt", "source//secret.pt"]
    value["outputs"] += [{"path": path, "bytes": 6, "modified": 1.0} for path in paths]
    value["outputs"] += ["no object", {"path": 3}, {"path": "source/x", "bytes": -1}]
    write_json(run.path / "outputs.json", value)
    model = Path(str(run.path / "source/model_final.pth"))
    model.unlink()
    model.symlink_to(secret)
    capsys.readouterr()
    told = fetched(capsys, run.id, "--to", str(tmp_path / "out"), code=1)
    assert [entry["path"] for entry in told["not_copied"]] == ["source/model_final.pth"]
    assert {entry["path"] for entry in told["fetched"]} == set(WRITTEN) - {"source/model_final.pth"}
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.read_bytes() == b"secret"]
    assert command(["status", run.id, "--no-ask"]) == 0 and "secret" not in capsys.readouterr().out


def test_a_stranger_s_run_brings_no_settings(
    folder: Path, run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(run, "source/.bashrc", "evil")
    monkeypatch.setattr(RunDirectory, "owned", lambda run: False)
    told = fetched(capsys, str(run.path), code=1)
    assert [entry["path"] for entry in told["not_copied"]] == ["source/.bashrc"]
    assert (folder / "outputs/2026/.hydra/config.yaml").is_file() and not (folder / ".bashrc").exists()
    assert command(["fetch", str(run.path), ".bashrc", "--to", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/.bashrc").read_text() == "evil"


def test_a_run_without_files_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    seal(run)
    assert command(["fetch", run.id]) == 1
    assert "wrote no files" in capsys.readouterr().err


def test_a_run_that_goes_on_can_be_looked_into(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = create(request(folder), SCRIPT, runs_folder=folder / "runs")
    train(run)
    put(run, "claim/job_id", "7\n")
    write_event(run, {"t": 1.0, "event": "started", "attempt": 1})
    assert command(["fetch", run.id, "last.pt", "--to", str(tmp_path / "out")]) == 0
    assert "has not ended" in capsys.readouterr().err and not (run.path / "outputs.json").exists()


def test_a_folder_in_the_way_is_named(run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out/model_final.pth").mkdir(parents=True)
    assert command(["fetch", run.id, "model_final.pth", "--to", str(tmp_path / "out"), "--force"]) == 2
    assert "a folder has this name" in capsys.readouterr().err


def test_the_shell_completes_runs_and_files(run: RunDirectory) -> None:
    from click.shell_completion import ShellComplete

    command(["status", run.id, "--no-ask"])
    shell = ShellComplete(build(), {}, "hackathon", "_HACKATHON_COMPLETE")
    assert [each.value for each in shell.get_completions(["fetch"], run.id[:8])] == [run.id]
    assert [each.value for each in shell.get_completions(["fetch", run.id], "mod")] == ["model_final.pth"]


# ---- clean ----
def lying(run: RunDirectory) -> set[str]:
    """Return the files of WRITTEN that are still there."""
    return {name for name in WRITTEN if (run.path / name).is_file()}


@pytest.mark.parametrize("words", [[], ["--sources"], ["--failed"], ["--sources", "--failed"]])
def test_a_clean_up_leaves_what_a_successful_run_wrote(
    run: RunDirectory, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    put(run, "source/conf.yaml", "lr: 0.2\n")
    assert command(["clean", "--yes", *words]) == 0
    assert lying(run) == set(WRITTEN)
    assert not (run.path / "source/__pycache__").exists()
    told = capsys.readouterr()
    assert "model_final" not in told.out and "clean --outputs" in told.err and f"{run.id}: 5 files" in told.err
    assert (run.path / "source/train.py").exists() is ("--sources" not in words)
    assert (run.path / "source/conf.yaml").read_text() == "lr: 0.2\n"  # no longer what was recorded


def test_outputs_are_named_and_deleted_when_asked(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        put(run, f"source/pictures/{number}.png")
    assert command(["clean", "--outputs", run.id]) == 0  # no terminal to ask
    told = capsys.readouterr().out
    for name in WRITTEN:
        assert name in told
    assert "source/pictures/ (30 files" in told and lying(run) == set(WRITTEN)
    assert command(["clean", "--outputs", run.id, "--yes"]) == 0
    assert not lying(run) and not (run.path / "checkpoints").exists() and not (run.path / "source/pictures").exists()
    assert (run.path / "source/train.py").exists() and (run.path / "logs/rank-0.log").exists()
    assert (run.path / "source/__pycache__").exists()  # nothing but what was named
    assert command(["clean", "--outputs", run.id, "--yes"]) == 0
    assert "wrote no files" in capsys.readouterr().err


def test_the_record_says_what_is_left(run: RunDirectory) -> None:
    command(["status", run.id, "--no-ask"])
    assert recorded(run) == WRITTEN
    command(["clean", "--outputs", run.id, "--yes"])
    assert recorded(run) == {}


def test_a_source_file_that_changed_is_named_as_such(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    put(run, "source/conf.yaml", "lr: 0.2\n")
    command(["clean", "--outputs", run.id])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "conf.yaml" in line]
    assert "no longer be repeated" in line


def test_a_failed_run_goes_with_what_it_wrote_and_names_it(
    folder: Path, run: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    seal(run, "TIMEOUT")
    command(["clean", "--failed"])
    told = capsys.readouterr()
    for name in WRITTEN:
        assert name in told.out
    assert "clean --outputs" not in told.err and run.path.exists()
    command(["clean", "--failed", "--yes"])
    assert not run.path.exists()


@pytest.mark.parametrize("case", ["open", "foreign", "elsewhere"])
def test_only_what_is_one_s_own_and_over_goes(
    folder: Path, run: RunDirectory, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    name = run.id
    if case == "open":
        (run.path / "final.json").unlink()
    elif case == "foreign":
        monkeypatch.setattr(RunDirectory, "owned", lambda run: False)
    else:
        monkeypatch.chdir(tmp_path)
        name = str(run.path)
    assert command(["clean", "--outputs", name, "--yes"]) == 2
    words = {"open": "has not ended", "foreign": "belongs to somebody else", "elsewhere": "is not one of"}[case]
    assert words in capsys.readouterr().err and lying(run) == set(WRITTEN)


def test_a_link_in_the_place_of_an_output_folder_is_not_followed(run: RunDirectory, tmp_path: Path) -> None:
    """Between the question and the answer a folder may become a link."""
    from hackathon.runs.clean import output_candidates, remove

    found = output_candidates(run)
    precious = tmp_path / "precious"
    Path(str(run.path / "source/checkpoints")).rename(precious)
    Path(str(run.path / "source/checkpoints")).symlink_to(precious)
    remove(found, run.path.parents[1])
    assert [path.name for path in precious.iterdir()] == ["best.pt"]
    assert not (run.path / "source/model_final.pth").exists()  # the others went


def test_a_later_segment_finds_the_checkpoints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = snapshot.take(folder, runs_folder=folder / "runs", in_place=False)
    runs = chain.create_chain(request(folder), SCRIPT, 2, runs_folder=folder / "runs", source=source)
    put(runs[0], "checkpoints/last.pt", "1234")
    (runs[1].path / "checkpoints").symlink_to(f"../{runs[0].id}/checkpoints")
    seal(runs[0], "TIMEOUT")
    command(["status", runs[0].id, "--no-ask"])
    assert "checkpoints/last.pt" in capsys.readouterr().out
    assert not (runs[0].path / "outputs.json").exists()  # the next segment writes there
    for words in (["--failed"], ["--sources"], []):
        command(["clean", "--yes", *words])
    assert command(["clean", "--outputs", runs[0].id, "--yes"]) == 2
    assert (runs[0].path / "checkpoints/last.pt").read_text() == "1234"
    put(runs[0], "checkpoints/last.pt", "123456")
    seal(runs[1])
    command(["status", runs[0].id, "--no-ask"])
    assert recorded(runs[0]) == {"checkpoints/last.pt": 6}
    capsys.readouterr()
    assert command(["fetch", runs[1].id, "last.pt"]) == 1
    assert runs[0].id in capsys.readouterr().err  # where they are
