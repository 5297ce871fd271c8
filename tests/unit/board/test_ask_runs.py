"""Which run a request for help is about: the asker's before a team-mate's, by the message's words; who changes it."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.access.permissions import user_name
from hackathon.board.ask import likeness, run_in_trouble, topics_of
from hackathon.board.board import Board, attach_run, open_board, reply
from hackathon.board.directory import make_place
from hackathon.board.entry import Attached
from hackathon.board.people import People
from hackathon.cli.main import run
from hackathon.config.event import Event, Tutor
from hackathon.runs.directory import RunDirectory
from hackathon.text.errors import RequestError
from support.samples.event import _unend
from support.samples.runs import Sample, write_run

ME = user_name(os.geteuid())
MEMORY = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity)\n"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '/work/gz01/cifar/train.npz'\n"
MODULE = "ModuleNotFoundError: No module named 'apex'\n"


class Team:
    """A project in which the asker and a team-mate submit runs; those of the team-mate are known by their name."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "runs"
        self._number = 0

    def failed(self, log: str, *, mate: bool = False, processes: int = 2) -> str:
        sample = Sample(processes, None, "FAILED", "exit code 1", exit_code=1)
        path = self._write(sample, mate)
        (path / "logs/rank-0.log").write_text(log)
        return path.name

    def going(self, minutes: float, *, mate: bool = False, processes: int = 2) -> str:
        """Write a run that goes on, with its last output so many minutes ago."""
        path = self._write(Sample(processes, 900.0), mate)
        _unend(path)
        moment = time.time() - 60 * minutes
        for name in ("logs", "metrics"):
            for file in (path / name).iterdir():
                os.utime(file, (moment, moment))
        return path.name

    def _write(self, sample: Sample, mate: bool) -> Path:
        self._number += 1
        name = "mate" if mate else "own"
        return write_run(self.runs, sample, self._number, name=name, start=time.time() - 7200)

    def guess(self, text: str = "") -> str:
        found = run_in_trouble(self.runs, text)
        return found.run.id if found is not None else ""


@pytest.fixture
def team(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache-of-requests"))
    monkeypatch.setattr(RunDirectory, "owned", lambda run: "-mate-" not in run.id)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project.yaml").write_text("name: own\ncommand: python train.py\n")
    yield Team(tmp_path)


def test_own_runs_come_before_those_of_a_team_mate(team: Team) -> None:
    assert team.guess("help") == ""
    good = team.going(0.1)
    assert team.guess("help") == good, "without trouble, the newest run"
    theirs = team.failed(MEMORY, mate=True)
    assert team.guess("help") == theirs
    first = team.failed(MODULE)
    assert team.guess("help") == first
    newest = team.failed(MODULE)
    assert team.guess("help") == newest
    still = team.going(20)
    team.failed(MODULE)
    assert team.guess("help") == still, "it holds nodes now"
    team.going(20, mate=True)
    assert team.guess() == still


def test_the_words_of_the_message_choose_among_causes(team: Team) -> None:
    memory, missing, still = team.failed(MEMORY), team.failed(MISSING), team.going(20, processes=8)
    for text, expected in {
        "8 プロセスで固まります": still,
        "It hangs since ten minutes": still,
        "データが見つからない": missing,
        "the data set is not found on the nodes": missing,
        "where is train.npz": missing,
        "メモリが足りないと言われます": memory,
        "we are out of memory with 64": memory,
        "please help": still,
    }.items():
        assert team.guess(text) == expected, text


def test_a_cause_of_a_team_mate_is_chosen_where_no_own_one_fits(team: Team) -> None:
    theirs, own = team.failed(MISSING, mate=True), team.failed(MEMORY)
    assert team.guess("データが見つからない") == theirs
    assert team.guess("out of memory again") == own
    again = team.failed(MISSING)
    assert team.guess("データが見つからない") == again, "an own one that fits comes first"


def test_topics_of_messages() -> None:
    assert topics_of("学習が途中で止まります") == {"hang"} and topics_of("Thanks for lunch") == frozenset()
    assert likeness("It hangs with 16 GPUs", "no progress", 16) == 3, "the topic and the size"
    assert likeness("with 16 GPUs", "", 16) == 1 and likeness("with 16 GPUs", "", 8) == 0
    assert likeness("it hung", "the program stood still", 4) == 2
    assert likeness("Why?", "GPU out of memory", 4) == 0
    assert likeness("x" * 10**6, "memory" * 10**5, 4) == 0


def sent(folder: Path) -> Board:
    return open_board(folder / "shared", folder)


@pytest.fixture
def event(team: Team, tmp_path: Path) -> Path:
    make_place(tmp_path / "shared", "sticky")
    (tmp_path / "hackathon.yaml").write_text(f"title: E\nshared: shared\ntutors: [{{user: {ME}}}]\n")
    return tmp_path


def test_a_guess_is_said_and_a_tutor_names_another_run(
    event: Path, team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, module = team.failed(MEMORY), team.failed(MODULE)
    assert run(["ask", "please help"]) == 0
    said = capsys.readouterr()
    assert f"about run {module} (guessed)" in said.out and "hackathon ask --run" in said.err
    (request,) = sent(event).posts
    assert request.guessed and request.run == module and request.part == "env"
    assert run(["board", "show", request.short]) == 0
    assert "run (guessed): " in capsys.readouterr().out
    assert run(["ask", "--run", memory, "and this one"]) == 0
    assert "guessed" not in capsys.readouterr().out and not sent(event).posts[1].guessed

    finding = Attached(
        "cuda-out-of-memory", "gpu", "root", "GPU 0 is out of memory", "Halve the batch.", "", None, "", None, ""
    )
    attach_run(sent(event), request, memory, team.runs / memory, finding)
    changed = sent(event).posts[0]
    assert (changed.run, changed.folder, changed.part) == (memory, str(team.runs / memory), "gpu")
    assert not changed.guessed and changed.finding is not None and changed.rule == "cuda-out-of-memory"
    assert memory in changed.answers[0].text and changed.to_json()["answers"][0]["run"] == memory
    attach_run(sent(event), changed, module, team.runs / module, None)
    last = sent(event).posts[0]
    assert (last.run, last.finding, last.rule) == (module, None, ""), "the last one counts"
    plain = reply(sent(event), last, "answer", "look at the loader").entry
    assert sent(event).posts[0].run == module and "run" not in json.loads(
        (event / "shared/entries" / f"{plain.id}.json").read_text()
    )


def test_only_the_asker_and_tutors_name_a_run(event: Path, team: Team) -> None:
    own, other = team.failed(MODULE), team.failed(MEMORY)
    assert run(["ask", "--run", own, "help"]) == 0
    board = sent(event)
    (request,) = board.posts
    stranger = Board(board.place, People(Event("E", tutors=[Tutor("somebody")])))
    foreign = type(request)(**{**vars(request), "uid": os.geteuid() + 1, "user": "somebody-else"})
    with pytest.raises(RequestError, match="only somebody-else, who asked"):
        attach_run(stranger, foreign, other, team.runs / other, None)
    attach_run(stranger, request, other, team.runs / other, None)
    assert sent(event).posts[0].run == other
