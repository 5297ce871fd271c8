"""A survey of a small event, asked through its form: in this process, or served by the command over real sockets."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from hackathon.survey.collection import Collection
from hackathon.web.survey_form.app import SurveyApp
from support.injected import injected
from support.patience import STRETCH

NAME = "hackathon"
EVENT: dict[str, Any] = {
    "title": {"en": "First hackathon", "ja": "第1回ハッカソン"},
    "dates": ["2019-01-24", "2019-01-25"],
    "teams": [{"name": "aurora", "members": [{"user": "a1", "kind": "master"}]}],
}
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "length", "kind": "rating", "target": "middle", "text": {"en": "Length", "ja": "講習会時間"},
        "low": {"en": "short", "ja": "短い"}, "high": {"en": "long", "ja": "長い"},
    },
    {
        "id": "satisfaction", "kind": "rating", "target": "high", "required": True,
        "text": {"en": "Satisfaction", "ja": "満足度"}, "low": {"en": "bad", "ja": "不満"},
        "high": {"en": "good", "ja": "満足"},
    },
    {
        "id": "kind", "kind": "choice", "text": {"en": "You are", "ja": "身分"},
        "options": {"student": {"en": "a student", "ja": "学生"}, "staff": {"en": "staff", "ja": "教職員"}},
    },
    {
        "id": "used", "kind": "choices", "text": {"en": "What did you use?", "ja": "使ったもの"},
        "options": {"gpu": "GPU", "cpu": "CPU", "disk": {"en": "disk", "ja": "ディスク"}},
    },
    {
        "id": "hours", "kind": "number", "text": {"en": "Hours of preparation", "ja": "準備時間"}, "least": 0,
        "most": 100, "unit": {"en": "hours", "ja": "時間"},
    },
    {
        "id": "free", "kind": "text", "text": {"en": "Anything else?", "ja": "自由記述"}, "longest": 200,
        "help": {"en": "Wishes, thanks.", "ja": "感想・要望"},
    },
]  # fmt: skip
SURVEY: dict[str, Any] = {
    "title": {"en": "Questionnaire", "ja": "アンケート"},
    "introduction": {"en": "Two minutes.", "ja": "2分で終わります。"},
    "thanks": {"en": "Thanks for coming.", "ja": "ご参加ありがとうございました。"},
    "questions": QUESTIONS,
}


def write_survey(folder: Path, **changes: Any) -> Collection:
    """Write an event with a survey into a folder and return the survey, which is a draft."""
    place = folder / "surveys" / NAME
    place.mkdir(parents=True)
    (folder / "hackathon.yaml").write_text(yaml.safe_dump(EVENT, allow_unicode=True, sort_keys=False), "utf-8")
    (place / "survey.yaml").write_text(
        yaml.safe_dump({**SURVEY, **changes}, allow_unicode=True, sort_keys=False), "utf-8"
    )
    return Collection(place)


def app_of(collection: Collection) -> SurveyApp:
    """Return the application of an open survey; unknown tokens do not wait long."""
    app = SurveyApp(collection, lambda language: EVENT["title"][language], {"localhost"})
    app.guess_seconds = 0.01
    return app


class Page(HTMLParser):
    """What a page has: elements with their attributes, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._hidden = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._hidden = tag if tag in ("style", "script") else self._hidden

    def handle_endtag(self, tag: str) -> None:
        self._hidden = "" if tag == self._hidden else self._hidden

    def handle_data(self, data: str) -> None:
        self.text += "" if self._hidden else data

    def all(self, tag: str, **wanted: str) -> list[dict[str, str]]:
        """Return the attributes of elements."""
        wanted = {name.rstrip("_"): value for name, value in wanted.items()}
        return [
            found
            for each, found in self.elements
            if each == tag and all(found.get(name) == value for name, value in wanted.items())
        ]

    @property
    def ids(self) -> list[str]:
        """All ids, in order."""
        return [found["id"] for _, found in self.elements if "id" in found]


@dataclass
class Answer:
    """What came back; status 0: nothing."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def page(self) -> Page:
        """The page, taken apart."""
        return Page(self.body)


async def ask(
    app: SurveyApp,
    query: Mapping[str, str] | bytes = b"",
    form: "Mapping[str, str | Sequence[str]] | bytes | None" = None,
    *,
    method: str = "",
    path: str = "/",
    headers: Mapping[str, str] | None = None,
    host: Sequence[str] = ("localhost",),
    pieces: Sequence[dict[str, Any]] | None = None,
) -> Answer:
    """Ask the application; `form` makes it a POST, `pieces` are what comes in of it, instead."""
    body = b"" if form is None else form if isinstance(form, bytes) else urlencode(form, doseq=True).encode()
    given = {name.lower(): value for name, value in (headers or {}).items()}
    if form is not None or pieces is not None:
        given.setdefault("content-type", "application/x-www-form-urlencoded")
    scope = {
        "type": "http", "method": method or ("GET" if form is None and pieces is None else "POST"), "path": path,
        "query_string": query if isinstance(query, bytes) else urlencode(query).encode(),
        "headers": [*((b"host", each.encode("latin-1")) for each in host),
                    *((name.encode(), value.encode("latin-1")) for name, value in given.items())],
    }  # fmt: skip
    coming = [*(pieces if pieces is not None else [{"type": "http.request", "body": body, "more_body": False}])]
    sent: list[Any] = []

    async def receive() -> Any:
        if coming:
            return coming.pop(0)
        await asyncio.Event().wait()  # a sender that says no more
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if not sent:
        return Answer(0, {}, "")
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    whole = b"".join(each.get("body", b"") for each in sent[1:])
    return Answer(sent[0]["status"], names, whole.decode())


@dataclass
class Served:
    """A survey that the command serves."""

    process: "subprocess.Popen[str]"
    origin: str
    links: list[str]
    said: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.origin.rsplit(":", 1)[1])

    @property
    def tokens(self) -> list[str]:
        """The new tokens."""
        return [link.partition("?t=")[2] for link in self.links]

    def kill(self) -> None:
        """End it as a machine that fails does."""
        injected()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)


@contextmanager
def served(folder: Path, *options: str, language: str = "en") -> Iterator[Served]:
    """Run `hackathon survey serve` in an event's folder until the block ends."""
    words = [*options] if "--port" in options else ["--port", "0", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "hackathon", "survey", "serve", NAME, *words],
        cwd=folder, env={**os.environ, "PYTHONUNBUFFERED": "1", "HACKATHON_LANG": language}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        match = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert match, said
        yield Served(process, match[0], re.findall(r"\S+\?t=\w+", said), said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            assert process.wait(STRETCH * 60) == 0
        if process.stdout is not None:
            process.stdout.close()
