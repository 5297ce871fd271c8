"""`hackathon ready`: the checklist of one project on this machine, and what is believed of the checklists of others."""

import json
import os
import pwd
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.access.permissions import Account, account, user_name
from hackathon.board.board import Board, read_board
from hackathon.board.directory import make_place, open_place
from hackathon.board.entry import FACTS, PROOFS, Entry, Proof, decode, encode, new_id
from hackathon.board.people import People
from hackathon.cli.main import run
from hackathon.config.event import Event, Member, Team, Tutor
from hackathon.readiness.collected import STATES, collected, lacking, legend, table
from hackathon.readiness.probe import MARK, told_by, wanted_by
from hackathon.readiness.situation import NAMES
from hackathon.readiness.tutoring import closed_to, opening
from hackathon.readiness.wanted import modules_of
from hackathon.runs.record import PROBE_PROGRAM
from hackathon.text.messages import speaking
from support.accounts import open_folder as open_folder
from support.patience import STRETCH

ME = user_name(os.geteuid())
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="two users need root")
PROGRAM_TEXT = """
import os, pathlib
text = (pathlib.Path(os.environ["HK_DATA"]) / "words.txt").read_text()
print("throughput:", 100.0 + len(text))
print("accuracy", 0.98)
"""


# ---- one account, one project, real jobs ----
@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team's project that declares data and a check, in an event with a board; jobs of this test alone."""
    for name, value in (("DIR", "local"), ("SLOTS_DIR", "slots")):
        monkeypatch.setenv(f"HACKATHON_LOCAL_{name}", str(tmp_path / value))
    monkeypatch.setenv("HACKATHON_LOCAL_SLOTS", "8")
    event = tmp_path / "冬のイベント"
    folder = event / "星" / "数字"
    folder.mkdir(parents=True)
    make_place(event / "shared", "sticky")
    (event / "hackathon.yaml").write_text(
        "title: 冬\nshared: shared\nteams:\n"
        f"- name: 星のチーム\n  members: [{{user: {ME}, name: 青木}}]\n  tutors: [{ME}]\n  folders: [星]\n"
        f"tutors: [{{user: {ME}}}]\n"
    )
    (tmp_path / "words.txt").write_text("one two three")
    values = {
        "name": "数字", "command": "python3 train.py", "cluster": "laptop", "launcher": "local",
        "walltime": "120s",
        "data": [{"name": "words.txt", "url": f"file://{tmp_path}/words.txt"}],
        "metrics": {"samples_per_s": {"pattern": "throughput: ([0-9.]+)", "unit": "samples/s"},
                    "accuracy": {"pattern": "accuracy ([0-9.]+)"}},
        "check": {"metric": "accuracy", "at_least": 0.9},
    }  # fmt: skip
    (folder / "project.yaml").write_text(json.dumps(values))
    (folder / "train.py").write_text(PROGRAM_TEXT)
    monkeypatch.chdir(folder)
    return folder


def ready(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    assert run(["ready", "--json", *words]) == code
    value = json.loads(capsys.readouterr().out)
    assert value["ready"] == (code == 0)
    return {item["name"]: item for item in value["items"]}


def oks(items: dict[str, dict[str, Any]]) -> dict[str, bool | None]:
    return {name: item["ok"] for name, item in items.items()}


def board_of(project: Path) -> tuple[Board, Event]:
    from hackathon.config.load import load_event

    event = load_event(project.parents[1])
    return read_board(open_place(project.parents[1] / "shared"), People(event)), event


def test_a_run_that_tells_no_throughput_is_not_asked_for_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "train.py").write_text(PROGRAM_TEXT.replace("throughput", "speed"))
    assert run(["data", "fetch"]) == 0
    assert run(["submit", "--processes", "1", "--wait"]) == 0
    found = ready(capsys, "--no-job", "--no-post", code=1)["baseline"]
    assert "no throughput was found" in found["evidence"] and "metrics:" in found["remedy"]


@pytest.mark.slow
def test_from_nothing_to_ready(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ready(capsys, "--no-job", "--no-post", code=1)
    assert list(found) == list(NAMES)
    assert oks(found) == {
        "account": True, "environment": None, "data": False, "job": None, "check": False, "baseline": False,
        "tutors": True,
    }  # fmt: skip
    assert found["data"]["remedy"] == "hackathon data fetch"
    assert run(["data", "fetch"]) == 0
    assert run(["submit", "--processes", "1", "--wait"]) == 0
    found = ready(capsys, code=0)
    assert all(oks(found).values())
    job = found["job"]["facts"]
    assert 0 < job["seconds"] < 60 * STRETCH
    assert job["host"] == os.uname().nodename
    assert found["data"]["facts"]["run"] == job["run"]
    assert found["check"]["evidence"].endswith("accuracy = 0.98, required: accuracy ≥ 0.9")
    assert found["baseline"]["facts"]["value"] == 113.0
    assert found["check"]["facts"]["run"] == found["baseline"]["facts"]["run"] != job["run"]
    # the job is no work of the team: commands that are told no run mean the team's own
    own = found["check"]["facts"]["run"]
    for words in (["results"], ["logs"], ["diagnose"], ["ask", "why?"]):
        capsys.readouterr()
        run(words)
        said = capsys.readouterr()
        assert own in said.out + said.err and job["run"] not in said.out + said.err, words
    # what was posted is believed, because it is looked at again
    board, event = board_of(project)
    team = collected(board, event)["星のチーム"]
    assert {point.state for point in team.points.values()} == {"confirmed"}, team
    assert team.ready
    # its evidence is read in the language of the reader, not of who posted it
    with speaking("ja"):
        job_point = collected(board, event)["星のチーム"].points["job"]
    assert "秒で終了" in job_point.evidence and " took " in team.points["job"].evidence
    (posted,) = board.ready
    (kept,) = [proof for proof in posted.entry.ready if proof.name == "job"]
    assert [each.id for each in kept.told] == ["ready.job_ran"] and kept.said == {}
    # on nodes with GPUs a run counts as one GPU's only where one was there
    path = project / "runs" / found["baseline"]["facts"]["run"]
    record = json.loads((path / "request.json").read_text())
    (path / "request.json").write_text(json.dumps({**record, "gpus_per_node": 2}))
    assert oks(ready(capsys, "--no-job", "--no-post", code=1))["baseline"] is None
    (path / "env" / "g7.json").write_text(json.dumps({"gpus": ["Tesla P100, 550.54, 16384 MiB", 7]}))
    assert "on one GPU (Tesla P100)" in ready(capsys, "--no-job", "--no-post", code=0)["baseline"]["evidence"]
    # the same again from the last job; then data that another file took the place of
    assert all(oks(ready(capsys, "--no-job", code=0)).values())
    (project / "data" / "words.txt").write_text("one two THREE")
    assert oks(ready(capsys, "--no-job", code=1))["data"] is False
    (project / "data" / "words.txt").write_text("one two three")
    # a program that imports what is not there
    (project / "train.py").write_text("import no_such_package\nimport json\n" + PROGRAM_TEXT)
    assert oks(ready(capsys, "--no-job", "--no-post", code=1))["environment"] is None
    found = ready(capsys, "--no-post", code=1)
    assert found["environment"]["ok"] is False
    assert "no_such_package" in found["environment"]["evidence"]
    # the person's own screen, in both languages and without signs
    capsys.readouterr()
    assert run(["ready", "--no-job", "--no-post", "--lang", "ja"]) == 1
    shown = capsys.readouterr().out
    assert "星のチーム" in shown
    assert "✗ 環境" in shown
    assert "7 項目中 1 項目が残っています" in shown


def test_words_where_signs_can_not_be_shown(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["ready", "--no-job", "--no-post"]) == 1
    shown = capsys.readouterr().out
    assert "[OK] logged in" in shown
    assert "[NOT OK] data" in shown
    assert "[could not be checked] job" in shown
    assert not set("✓✗→") & set(shown)


def test_a_refused_job_is_a_point_of_the_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ready(capsys, "--queue", "no;such", code=1)
    assert found["job"]["ok"] is False
    assert "no;such" in found["job"]["evidence"]
    assert not (project / "runs").exists()


def test_without_an_event(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project.parents[1] / "hackathon.yaml").unlink()
    assert run(["ready", "--no-job", "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["team"], value["posted"]) == (None, None)
    assert "shared directory" in value["not_posted"]
    assert value["items"][0]["ok"] is None
    assert run(["ready", "--no-job", "--shared", "/nowhere"]) == 2


def test_a_board_that_can_not_be_written_costs_the_post_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = project.parents[1] / "shared"
    (shared / "entries").chmod(0o777)  # without the sticky bit anybody could take posts away
    assert run(["ready", "--no-job", "--json"]) == 2
    value = json.loads(capsys.readouterr().out)
    assert len(value["items"]) == len(NAMES)
    assert value["posted"] is None
    assert "sticky" in value["not_posted"]
    shutil.rmtree(shared)
    assert run(["ready", "--no-job"]) == 1
    assert "not posted: there is no board" in capsys.readouterr().err


def test_what_a_program_imports(project: Path) -> None:
    from hackathon.jobs.request import Options
    from hackathon.jobs.sources import gather

    (project / "helper").mkdir()
    (project / "helper" / "__init__.py").write_text("import deep\nfrom . import other\n")
    (project / "beside.py").write_text("import train\nimport further.part\n")
    (project / "train.py").write_text(
        "import os, json\nimport first.sub as f, beside\nfrom helper import x\nfrom hackathon_runtime import Meter\n"
        "try:\n    import can_do_without\nexcept ImportError:\n    pass\ndef late():\n    import later\n"
    )
    sources = gather(None, Options(), os.environ, project)
    assert sorted(modules_of(sources)) == ["deep", "first", "further"]
    (project / "train.py").write_bytes(b"\0 no python \xff")
    assert modules_of(sources) == ()


# ---- what others claim ----
USERS = ("daemon", "bin", "sys", "games")
"""Accounts that every Linux has: two teams of two."""


class Claimants:
    """An event of two teams whose members' runs and checklists a test makes, with the owners that it wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place, _ = make_place(folder / "shared", "sticky")
        teams = [
            Team("極光", members=[Member("daemon"), Member("bin")], tutors=["nobody"]),
            Team("北風", members=[Member("sys"), Member("games")], tutors=["nobody"]),
        ]
        self.event = Event("冬", teams=teams, tutors=[Tutor("nobody")])

    def project(self, user: str) -> Path:
        return self.folder / f"project-{user}"

    def make_run(self, user: str, name: str = "20190124-100000-digits-1p-abcdefgh", **changes: Any) -> Path:
        """Make a successful run of a user; `changes` replace parts of its record, or of its seal."""
        path = self.project(user) / "runs" / name
        if path.exists():
            shutil.rmtree(path)  # nothing is written through what a test put there
        now = time.time()
        seal = {"state": "SUCCEEDED", "t_started": now - 50, "t_ended": now - 40, "t_submitted": now - 60}
        record = {
            "name": "digits", "recipe": None, "cluster": "lab", "processes": 1, "gpus_per_node": 0, "nodes": 1,
            "metric": "samples_per_s", "metrics": {"samples_per_s": {"unit": "samples/s"}},
            "check": {"metric": "accuracy", "at_least": 0.9}, "tags": [],
        }  # fmt: skip
        seal |= {key: changes[key] for key in changes if key in seal}
        record |= {key: changes[key] for key in changes if key not in (*seal, "maker", "log", "wanted")}
        wanted = changes.get("wanted", {"modules": ["json"], "files": {"/x": [3, "abc"]}})
        for file, value in {
            "request.json": record,
            "final.json": seal,
            "client/created.json": {"t": now - 70, "user": changes.get("maker", user)},
            "metrics/rank-0.jsonl": {"final": True, "samples_per_s": 113.5, "accuracy": 0.98},
            "source/wanted.json": wanted,
            "logs/rank-0.log": changes.get("log", ""),
        }.items():
            place = path / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(value if isinstance(value, str) else json.dumps(value) + "\n")
        self.give(self.project(user), user)
        return path

    def make_probe(self, user: str, **changes: Any) -> Path:
        told = {"python": "3.11", "host": "g7", "modules": {"json": {"version": "2"}}, "files": {"/x": [3, "abc"]}}
        told |= changes.pop("told", {})
        named = {"command": ["python3", PROBE_PROGRAM], "tags": ["ready"], "log": f"noise\n{MARK}{json.dumps(told)}\n"}
        return self.make_run(user, "20190124-100000-ready-1p-bcdefghi", **{**named, **changes})

    def give(self, top: Path, user: str) -> None:
        uid = pwd.getpwnam(user).pw_uid
        for path in (top, *top.rglob("*")):
            os.chown(path, uid, -1, follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)

    def claim(self, user: str, *proofs: Proof, folder: Path | str | None = None, moment: float | None = None) -> None:
        """Put a checklist of a user on the board, as that user's toolkit would, or a forger in that account."""
        uid = pwd.getpwnam(user).pw_uid
        identifier = new_id(uid)
        place = str(folder if folder is not None else self.project(user))
        moment = time.time() if moment is None else moment
        entry = Entry(identifier, "ready", moment, self.place.board, folder=place, ready=proofs)
        path = self.place.folder / f"{identifier}.json"
        path.write_bytes(encode(entry))
        path.chmod(0o644)
        os.chown(path, uid, -1)

    def state(self, name: str, user: str = "daemon", team: str = "極光") -> tuple[str, str]:
        board = read_board(self.place, People(self.event))
        points = collected(board, self.event)[team].members[user]
        return next((point.state, point.why) for point in points if point.name == name)


@pytest.fixture
def claimants(open_folder: Path) -> Iterator[Claimants]:
    yield Claimants(open_folder)


BASELINE = Proof("baseline", True, "fast", {"run": "20190124-100000-digits-1p-abcdefgh", "value": 113.5})
CHECK = Proof("check", True, "right", {"run": "20190124-100000-digits-1p-abcdefgh", "value": 0.98})
JOB, ENVIRONMENT, DATA = (
    Proof(name, True, "ran", {"run": "20190124-100000-ready-1p-bcdefghi"}) for name in ("job", "environment", "data")
)


@as_root
def test_what_is_true_is_confirmed(claimants: Claimants) -> None:
    claimants.make_run("daemon")
    claimants.make_probe("daemon")
    claimants.claim("daemon", Proof("account", True), ENVIRONMENT, DATA, JOB, CHECK, BASELINE, Proof("tutors", True))
    board = read_board(claimants.place, People(claimants.event))
    found = collected(board, claimants.event)
    points = found["極光"].members["daemon"]
    assert [(point.name, point.state) for point in points] == [(name, "confirmed") for name in NAMES], points
    # the team is not ready before both have logged in; what one of them has shown counts for both
    assert {name: point.state for name, point in found["極光"].points.items()} == {
        **dict.fromkeys(NAMES, "confirmed"), "account": "nobody",
    }  # fmt: skip
    assert not found["極光"].ready
    claimants.claim("bin", Proof("account", True), Proof("check", False, "0.3"))
    found = collected(read_board(claimants.place, People(claimants.event)), claimants.event)
    assert found["極光"].ready
    head, rows = table(found)
    assert rows[0][:8] == ["極光", *["✓"] * 7]
    assert rows[0][8].startswith("2/2 ")
    assert rows[1] == ["北風", *["–"] * 7, "0/2"]
    assert len(head) == len(rows[0])
    assert table(found, words=True)[1][1][1:3] == ["nothing posted", "nothing posted"]
    assert list(lacking(found)) == [("北風", "nobody has run `hackathon ready` yet")]
    with speaking("ja"):
        assert table(found)[0][0] == "チーム"
        assert all(sign in legend() for sign in ("✓ 確認済み", "✗! 事実と違う"))
    assert json.loads(json.dumps(found["極光"].to_json()))["ready"] is True


@as_root
def test_what_belongs_to_others_is_refuted(claimants: Claimants) -> None:
    theirs = claimants.make_run("games")
    claimants.claim("daemon", BASELINE, folder=claimants.project("games"))
    assert claimants.state("baseline")[0] == "refuted"
    assert "belongs to games" in claimants.state("baseline")[1]
    # a link into the other team's folder
    own = claimants.project("daemon") / "runs"
    own.mkdir(parents=True)
    (own / theirs.name).symlink_to(theirs)
    claimants.claim("daemon", BASELINE)
    assert "belongs to games" in claimants.state("baseline")[1]
    # a copy of it
    (own / theirs.name).unlink()
    claimants.make_run("daemon", maker="games")
    assert claimants.state("baseline") == ("refuted", f"run {theirs.name} was created by games, who is not in the team")
    # of one's own team it may be
    claimants.make_run("bin")
    claimants.claim("daemon", BASELINE, folder=claimants.project("bin"))
    assert claimants.state("baseline")[0] == "confirmed"
    found = collected(read_board(claimants.place, People(claimants.event)), claimants.event)
    assert found["北風"].members == {"sys": (), "games": ()}


@as_root
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "FAILED"}, "is FAILED"),
        ({"processes": 2}, "not a one-process run"),
        ({"t_ended": time.time() + 9e5}, "in the future"),
        ({"metric": "nothing"}, "not a one-process run"),
        ({"tags": ["ready"], "command": ["python", PROBE_PROGRAM]}, "does not train anything"),
    ],
)
def test_a_baseline_that_is_none(claimants: Claimants, changes: dict[str, Any], why: str) -> None:
    claimants.make_run("daemon", **changes)
    claimants.claim("daemon", BASELINE)
    state, told = claimants.state("baseline")
    assert (state, why in told) == ("refuted", True), told


@as_root
def test_claims_that_can_not_be_so(claimants: Claimants) -> None:
    path = claimants.make_run("daemon")
    for name, facts, why in (
        ("baseline", {**BASELINE.facts, "value": 9000.0}, "another value"),
        ("baseline", {"value": 113.5}, "does not name a run"),
        ("baseline", {"run": "../../project-games/runs/x", "value": 1.0}, "does not name a run"),
        ("baseline", {"run": "20190124-100000-none-1p-aaaaaaaa", "value": 1.0}, "does not exist"),
        ("job", {"run": path.name}, "not started by `hackathon ready`"),
        ("environment", {"run": path.name}, "not started by `hackathon ready`"),
        ("check", {**CHECK.facts, "value": 0.5}, "another value"),
    ):
        claimants.claim("daemon", Proof(name, True, "x", facts))
        state, told = claimants.state(name)
        assert (state, why in told) == ("refuted", True), (name, told)
    claimants.claim("daemon", BASELINE, folder="relative/folder")
    assert claimants.state("baseline") == ("refuted", "it does not name a folder")
    claimants.claim("daemon", Proof("baseline", False, "none yet"), Proof("data", None))
    assert claimants.state("baseline") == ("no", "")
    assert claimants.state("data") == ("unknown", "")
    claimants.make_run("daemon", check={"metric": "accuracy", "at_least": 0.999})
    claimants.claim("daemon", CHECK)
    assert "did not pass a check" in claimants.state("check")[1]


@as_root
def test_a_job_that_shows_something_else(claimants: Claimants) -> None:
    claimants.claim("daemon", ENVIRONMENT, DATA, JOB)
    claimants.make_probe("daemon", told={"modules": {"json": {"error": "No module"}}, "files": {"/x": [3, "abd"]}})
    assert claimants.state("environment")[0] == "refuted"
    assert claimants.state("data")[0] == "refuted"
    assert claimants.state("job")[0] == "confirmed"
    claimants.make_probe("daemon", t_started=time.time() - 500)
    assert "60 s" in claimants.state("job")[1]
    claimants.make_probe("daemon", log="no word")
    assert claimants.state("environment")[0] == "refuted"


@as_root
def test_a_run_that_would_hold_up_or_mislead_the_reader(claimants: Claimants) -> None:
    path = claimants.make_run("daemon", metrics={"samples_per_s": {"pattern": "(a+)+$"}})
    (path / "logs" / "rank-0.log").write_text("a" * 4000 + "!\n")
    claimants.claim("daemon", BASELINE)
    assert claimants.state("baseline")[0] == "told"
    path = claimants.make_run("daemon")
    (path / "metrics" / "rank-0.jsonl").unlink()
    os.mkfifo(path / "metrics" / "rank-0.jsonl")
    assert claimants.state("baseline")[0] == "told"
    (path / "metrics" / "rank-0.jsonl").unlink()
    outside = claimants.folder / "of-the-reader.jsonl"
    outside.write_text(json.dumps({"final": True, "samples_per_s": 113.5}) + "\n")
    (path / "metrics" / "rank-0.jsonl").symlink_to(outside)
    assert claimants.state("baseline")[0] == "told"
    path = claimants.make_run("daemon", check=7, metrics=[], processes="1", metric=None, tags="ready")
    claimants.claim("daemon", BASELINE, CHECK)
    assert claimants.state("baseline")[0] == "refuted"
    assert claimants.state("check")[0] in STATES
    for broken in ("[]", "{", '{"state": 5}', '{"state": "SUCCEEDED", "t_ended": "x"}'):
        (path / "final.json").write_text(broken)
        assert claimants.state("check")[0] in STATES


@as_root
def test_the_team_s_folder_may_be_the_organiser_s(claimants: Claimants) -> None:
    claimants.make_run("daemon")
    claimants.claim("daemon", Proof("tutors", True))
    assert claimants.state("tutors")[0] == "confirmed"
    os.chown(claimants.project("daemon"), pwd.getpwnam("nobody").pw_uid, -1)
    assert claimants.state("tutors")[0] == "confirmed", "what the team made in it is the team's"
    claimants.give(claimants.project("daemon"), "games")
    assert claimants.state("tutors")[0] == "refuted"


@as_root
def test_who_is_in_no_team_counts_for_none(claimants: Claimants) -> None:
    claimants.make_run("daemon")
    claimants.claim("nobody", BASELINE, Proof("account", True, "x", {"team": "極光"}), folder=claimants.folder)
    found = collected(read_board(claimants.place, People(claimants.event)), claimants.event)
    assert not any(points for team in found.values() for points in team.members.values())


@as_root
def test_the_newest_counts_whatever_time_it_claims(claimants: Claimants) -> None:
    claimants.make_run("daemon")
    claimants.claim("daemon", Proof("baseline", False), moment=time.time() - 100)
    claimants.claim("daemon", BASELINE, moment=4e9)  # put right when it is read: it was written before the next one
    assert claimants.state("baseline")[0] == "confirmed"
    board = read_board(claimants.place, People(claimants.event))
    assert max(owned.entry.time for owned in board.ready) <= time.time() + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "ok", "evidence", "facts", "run", "value", "told", "id", "values"])
            | st.text(max_size=5),
            inner,
        )
    ),
    max_leaves=15,
)


@pytest.mark.slow
@given(JSON | st.lists(st.fixed_dictionaries({"name": st.sampled_from(NAMES), "ok": JSON, "facts": JSON})))
def test_no_checklist_breaks_the_reader(value: Any) -> None:
    entry = Entry(new_id(1), "ready", 5.0, "b" * 16)
    raw = json.dumps({**json.loads(encode(entry)), "ready": value}).encode()
    read = decode(raw, f"{entry.id}.json", "b" * 16)
    assert len(read.ready) <= PROOFS
    for proof in read.ready:
        assert proof.ok in (True, False, None)
        assert len(proof.facts) <= FACTS
        assert all(isinstance(fact, (str, float, bool)) for fact in proof.facts.values())
        assert proof.evidence.isprintable() or not proof.evidence
    assert decode(encode(read), f"{entry.id}.json", "b" * 16) == read
    event = Event("e", teams=[Team("t", members=[Member(ME)])])
    board = Board(None, People(event), ready=[])  # type: ignore[arg-type]
    from hackathon.board.store import Owned

    board.ready.append(Owned(read, os.geteuid()))
    for point in collected(board, event)["t"].members[ME]:
        assert point.state in STATES


def test_too_much_is_cut() -> None:
    entry = Entry(new_id(1), "ready", 5.0, "b" * 16)
    proofs = [
        {"name": f"p{n}", "ok": True, "evidence": "e" * 9000, "facts": {f"f{i}": i for i in range(90)}}
        for n in range(99)
    ]
    raw = json.dumps({**json.loads(encode(entry)), "ready": proofs}).encode()
    read = decode(raw, f"{entry.id}.json", "b" * 16)
    assert (len(read.ready), len(read.ready[0].facts), len(read.ready[0].evidence)) == (PROOFS, FACTS, 300)


@pytest.mark.parametrize(
    ("kept", "english", "japanese"),
    [
        # of an older toolkit: both languages, or one alone
        ({"said": {"en": "it ran", "ja": "実行した"}}, "it ran", "実行した"),
        ({"said": {"ja": "実行した"}}, "as posted", "実行した"),
        ({}, "as posted", "as posted"),
        # as it is kept now; somebody's own words stay as they are
        (
            {"told": [{"id": "ready.no_job", "values": {}}, "qsub: no"]},
            "no job was submitted, and there is no earlier one; qsub: no",
            "ジョブを投入しておらず、以前のものもありません; qsub: no",
        ),
        ({"told": [{"id": "data.is_missing", "values": {"name": "a\u202eb\x1b"}}]}, "a·b·", "a·b·"),
        # of another toolkit, or of somebody who tries what a reader bears
        ({"told": [{"id": "ready.of_tomorrow", "values": {}}]}, "as posted", "as posted"),
        ({"told": [{"id": "os.path", "values": {}}]}, "as posted", "as posted"),
        ({"told": [{"id": "ready.job_ran", "values": {"run": "x"}}]}, "as posted", "as posted"),
        ({"told": [{"id": "ready.no_job", "values": {"identifier": "x"}}]}, "no job was", "ジョブを投入して"),
        ({"told": [5, {"id": 5, "values": 5}, {"id": "ready.no_job"}]}, "as posted", "as posted"),
    ],
)
def test_evidence_is_read_in_the_readers_language(kept: dict[str, Any], english: str, japanese: str) -> None:
    entry = Entry(new_id(1), "ready", 5.0, "b" * 16)
    proof = {"name": "job", "ok": True, "evidence": "as posted", **kept}
    raw = json.dumps({**json.loads(encode(entry)), "ready": [proof]}).encode()
    (read,) = decode(raw, f"{entry.id}.json", "b" * 16).ready
    for code, wanted in (("en", english), ("ja", japanese)):
        with speaking(code):
            shown = read.spoken()
        assert wanted in shown and shown.isprintable(), (code, shown)


@pytest.mark.parametrize("text", ["", "x", MARK, MARK + "[]", MARK + '{"modules": 5, "files": [], "gpus": -1}'])
def test_any_log_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank-0.log").write_text(text)
    told = told_by(tmp_path)
    assert told is None or (told.versions, told.files, told.gpus) == ({}, {}, None)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "wanted.json").write_text('{"modules": {}, "files": {"/x": 5}}')
    assert wanted_by(tmp_path).files == {}


# ---- tutors ----
@as_root
def test_tutors_and_the_command_that_lets_them_in(open_folder: Path) -> None:
    import subprocess

    tutor = account("nobody")
    assert tutor is not None
    home = open_folder / "家 1"
    project = home / "数字"
    job = project / "runs" / "20190124-100000-digits-1p-abcdefgh"
    (job / "logs").mkdir(parents=True)
    (job / "env").mkdir()
    for file in (project / "project.yaml", job / "request.json", job / "logs" / "job.log", job / "env" / "job-1.sh"):
        file.write_text("secret")
    for path in (home, *home.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    key = open_folder / "key"
    key.write_text("secret")
    key.chmod(0o600)
    (project / "link").symlink_to(key)
    assert closed_to(tutor, project, [job]) == home
    for expected in (home, project):
        closed = closed_to(tutor, project, [job])
        assert closed == expected
        command = opening(closed, project, [tutor]).replace("setfacl -m u:nobody:x", "chmod o+x")
        subprocess.run(["bash", "-c", command], check=True)
    assert closed_to(tutor, project, [job]) is None
    assert key.stat().st_mode & 0o077 == 0, "a link leads to it"
    assert (job / "env" / "job-1.sh").stat().st_mode & 0o077 == 0, "it may hold secrets"
    (job / "logs" / "job.log").chmod(0o600)
    assert closed_to(tutor, project, [job]) == job / "logs" / "job.log"
    group = Account("t", 64_000, frozenset({home.stat().st_gid}))
    assert "chmod g+x" in opening(home, project, [group])
    assert "g+rX" in opening(project, project, [group])
