"""A hundred answers at once, and the server killed among them; a disk without room; a kill between two steps.

An answer whose respondent was told that it is counted is there, whatever happened. A token counts once; where the
server died between the answer and its token, one person may answer again: never more than were being taken then.
"""

import asyncio
import collections
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from hackathon.survey.collection import Collection
from support.injected import injected
from support.patience import STRETCH
from support.survey.serving import Answer, app_of, ask, served, write_survey

PEOPLE = 100
KILLED_AFTER = (1, 50)
"""The server is killed as soon as this many answers more are on the disk."""
PATIENCE = STRETCH * 120.0


@dataclass
class Crowd:
    """People who answer until somebody tells them that it is done; each says something of their own."""

    tokens: list[str]
    told: set[int] = field(default_factory=set)
    """Who was told `counted` (200), or that their link is used (409)."""
    confirmed: set[int] = field(default_factory=set)
    """Who was told `counted`."""
    in_flight: set[int] = field(default_factory=set)
    cut: list[int] = field(default_factory=list)
    """Who was being answered when the server died."""

    def form(self, person: int) -> dict[str, str]:
        return {"t": self.tokens[person], "q-satisfaction": str(1 + person % 5), "q-free": f"person {person}"}

    async def answer(self, port: int, person: int) -> None:
        form = urlencode(self.form(person)).encode()
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(form)}\r\n"
        head += "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        self.in_flight.add(person)
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode() + form)
            said = await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
        except OSError:
            return  # it stays in flight: nobody knows what became of it
        if not said:
            return
        self.in_flight.discard(person)
        status = int(said.split()[1])
        assert status in (200, 409), said[-600:]
        self.told.add(person)
        if status == 200:
            self.confirmed.add(person)

    async def all_at_once(self, port: int) -> None:
        """Let all who have not been told send at the same moment."""
        await asyncio.gather(
            *(self.answer(port, person) for person in range(len(self.tokens)) if person not in self.told)
        )
        self.cut += sorted(self.in_flight)
        self.in_flight.clear()


def stored(survey: Collection) -> int:
    """Return how many answers are on the disk."""
    return len(list(survey.answers_folder.glob("*.json")))


@contextmanager
def when_stored(survey: Collection, count: int, end: Callable[[], None]) -> Iterator[None]:
    """End the server inside the block as soon as this many more answers are on the disk."""
    before, over = stored(survey), threading.Event()

    def watch() -> None:
        while stored(survey) < before + count and not over.wait(0.001):
            pass
        if stored(survey) >= before + count:  # also when all were answered before this thread looked
            end()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def said_by(survey: Collection) -> "collections.Counter[int]":
    """Return how often each person's answer is among those that count."""
    return collections.Counter(int(str(each.values["free"]).split()[1]) for each in survey.answers())


@pytest.mark.slow
def test_a_hundred_at_once_and_two_kills(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    crowd = Crowd(survey.open(PEOPLE))
    for count in (*KILLED_AFTER, 2 * PEOPLE):
        with served(tmp_path) as server:
            with when_stored(survey, count, server.kill):
                asyncio.run(crowd.all_at_once(server.port))
            found = said_by(survey)
            # what was confirmed is there; what is there was sent; who was not cut off is there once
            assert crowd.confirmed <= set(found)
            assert len(crowd.confirmed) <= sum(found.values()) <= PEOPLE + len(crowd.cut)
            assert {person for person, times in found.items() if times > 1} <= set(crowd.cut)
    assert len(crowd.cut) >= len(KILLED_AFTER), "nobody was cut off: the kills prove nothing"
    assert crowd.told == set(range(PEOPLE))
    assert set(found) == crowd.told
    doubles = sum(found.values()) - PEOPLE
    assert 0 <= doubles <= len(crowd.cut)
    assert {survey.token_state(token) for token in crowd.tokens} == {"spent"}

    # everybody sends once more: nothing is counted twice
    with served(tmp_path) as server:
        again = Crowd(crowd.tokens)
        asyncio.run(again.all_at_once(server.port))
        assert again.told == set(range(PEOPLE)) and again.confirmed == set()
    assert said_by(survey) == found


@pytest.mark.slow
@pytest.mark.parametrize(("step", "answers"), [("after-answer", 2), ("after-token", 1)])
def test_a_kill_between_the_answer_and_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, answers: int
) -> None:
    survey = write_survey(tmp_path)
    crowd = Crowd(survey.open(1))
    with monkeypatch.context() as patch:
        patch.setenv("HACKATHON_FAULT", step)
        with served(tmp_path) as server:
            with pytest.raises(httpx.HTTPError):
                httpx.post(f"{server.origin}/", data=crowd.form(0), timeout=PATIENCE, trust_env=False)
            server.process.wait(PATIENCE)
        injected()
    assert sum(said_by(survey).values()) == 1
    with served(tmp_path) as server:
        said = httpx.post(f"{server.origin}/?lang=en", data=crowd.form(0), timeout=PATIENCE, trust_env=False)
    # before the token was spent the person may answer again; after it the link is told to be used, not to be wrong
    assert said.status_code == (200 if answers == 2 else 409)
    assert ("is counted" if answers == 2 else "If you have already answered, you are done") in said.text
    assert sum(said_by(survey).values()) == answers
    assert survey.token_state(crowd.tokens[0]) == "spent"


def test_an_end_by_signal_waits_for_what_is_being_sent(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    crowd = Crowd(survey.open(40))
    with served(tmp_path) as server:
        with when_stored(survey, 1, server.process.terminate):
            asyncio.run(crowd.all_at_once(server.port))
        assert server.process.wait(PATIENCE) == 0
    assert set(said_by(survey)) == crowd.confirmed, "an answer was counted, and its respondent was not told"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    if os.geteuid() != 0:
        pytest.skip("a small tmpfs needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip("a small tmpfs can not be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_confirms_nothing_and_costs_nothing(disk: Path) -> None:
    survey = write_survey(disk)
    crowd = Crowd(survey.open(30))
    app = app_of(survey)

    async def all_at_once() -> list[Answer]:
        return await asyncio.gather(*(ask(app, {}, crowd.form(person)) for person in range(30)))

    injected()
    filler = disk / "full"
    with filler.open("ab", buffering=0) as stream:
        for size in (65536, 4096, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    # room for three answers at most, a page of the file system each
    os.truncate(filler, filler.stat().st_size - 3 * 4096)
    answers = asyncio.run(all_at_once())
    assert {each.status for each in answers} == {200, 503}
    for person, answer in enumerate(answers):
        assert survey.token_state(crowd.tokens[person]) == ("spent" if answer.status == 200 else "unused")
        if answer.status == 503:
            assert f"person {person}" in answer.page.text
    confirmed = {person for person, answer in enumerate(answers) if answer.status == 200}
    assert set(said_by(survey)) == confirmed
    filler.unlink()
    answers = asyncio.run(all_at_once())
    assert {each.status for each in answers} == {200}
    assert said_by(survey) == dict.fromkeys(range(30), 1)
    app.close()
