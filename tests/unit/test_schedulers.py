"""Every scheduler: the protocol, the registry, the catalogue."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hackathon.schedulers import registry
from hackathon.schedulers.base import Answer, Scheduler, SchedulerError, Submission
from hackathon.text import messages
from hackathon.text.catalogue.schedulers import MESSAGES
from hackathon.text.errors import RequestError

ROOT = Path(__file__).resolve().parents[2]
WORDS = [word for word in vars(Scheduler) if not word.startswith("_")]


@pytest.fixture(params=sorted(registry.BUILT_IN))
def scheduler(request: pytest.FixtureRequest) -> Scheduler:
    return registry.load(request.param)


def test_every_scheduler_keeps_the_protocol(scheduler: Scheduler, tmp_path: Path) -> None:
    for word in WORDS:
        expected = inspect.signature(getattr(Scheduler, word))
        actual = inspect.signature(getattr(type(scheduler), word))
        assert list(actual.parameters)[: len(expected.parameters)] == list(expected.parameters), word
    name = "hk-abcdefgh"
    submission = Submission(tmp_path / "job.sh", tmp_path, name, tmp_path / "out.txt", ("ok", "17"))
    argv = scheduler.submit_argv(submission)
    assert name in argv and all(any(part in word for word in argv) for part in ("job.sh", "17"))
    for command in (
        argv,
        *scheduler.status_argv(["1", "2"]),
        *scheduler.find_argv(name),
        scheduler.cancel_argv("1"),
        scheduler.queues_argv(),
        scheduler.shell_argv(["-q", "debug"]),
    ):
        assert command and all(isinstance(word, str) and "\n" not in word for word in command)
    with pytest.raises(AttributeError):
        scheduler.name = "other"  # frozen


def test_no_scheduler_takes_a_failure_or_garbage_for_an_answer(scheduler: Scheduler) -> None:
    for text, code in (("", 255), ("<html>502</html>", 0), ("\udcff\udcfe", 0), ("<html>502</html>", 1)):
        answers = [Answer(tuple(argv), code, text, "") for argv in scheduler.status_argv(["1"])]
        with pytest.raises(SchedulerError) as caught:
            scheduler.parse_status(answers, ["1"])
        assert caught.value.message.encode("utf-8")
        with pytest.raises(SchedulerError):
            scheduler.parse_submit(Answer(("submit",), code, text, ""))
        with pytest.raises(SchedulerError):
            scheduler.parse_find([Answer(tuple(argv), code, text, "") for argv in scheduler.find_argv("hk-x")])


def test_unknown_name_offers_near_ones() -> None:
    with pytest.raises(RequestError) as caught:
        registry.load("slrum")
    assert "slurm" in caught.value.message and caught.value.exit_code == 2
    with pytest.raises(RequestError, match="local, pbs, slurm"):
        registry.load("xyz")


@pytest.fixture
def plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution with a good and a broken scheduler."""
    (tmp_path / "pjm_plug_in.py").write_text(
        "from hackathon.schedulers.slurm import Slurm\n\n\nclass Pjm(Slurm):\n    pass\n"
    )
    (tmp_path / "broken_plug_in.py").write_text("raise RuntimeError('licence has expired')\n")
    info = tmp_path / "plug_in-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[hackathon.schedulers]\npjm = pjm_plug_in:Pjm\nbroken = broken_plug_in:Broken\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield


@pytest.mark.usefixtures("plug_ins")
def test_plug_ins_are_found_and_a_broken_one_hides_nothing() -> None:
    assert {"pjm", "broken", "pbs", "slurm", "local"} <= set(registry.names())
    assert registry.load("pjm").cancel_argv("7")[-1] == "7"
    assert registry.load("pbs").name == "pbs"
    problems = registry.problems()
    assert "licence has expired" in problems["broken"] and "pjm" not in problems
    with pytest.raises(RequestError, match="licence has expired"):
        registry.load("broken")


def test_every_message_of_the_code_is_in_the_catalogue_in_both_languages() -> None:
    used = set()
    for path in (ROOT / "hackathon" / "schedulers").glob("*.py"):
        used |= set(re.findall(r"schedulers\.([a-z_]+)\"", path.read_text()))
    used -= {"schedulers"}
    assert used and used <= set(MESSAGES)
    fields: dict[str, set[str]] = {}
    for key, pair in MESSAGES.items():
        english, japanese = (set(re.findall(r"{(\w+)", text)) for text in pair)
        assert english == japanese, key
        fields[key] = english
    for key in fields:
        assert fields.get(f"{key}_hint", set()) <= fields[key], key
        assert messages.lookup(f"schedulers.{key}") == MESSAGES[key]
