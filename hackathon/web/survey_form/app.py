"""The form of one survey as an ASGI application: GET displays it, POST submits an answer; nothing else exists.

An answer includes the token of its respondent. There are no cookies and no state about browsers. Whoever has the token
may answer, and nobody else can, so a forged request from another page needs the token, too, and no further protection
is necessary. Without a token of the survey no question is displayed, because other users of the machine can connect to
a port of the loopback address. Addresses may contain the token: nothing is logged, browsers and proxies store nothing
(`no-store`), and no address is sent to other sites (`no-referrer`).
"""

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import sys
import traceback
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.responses import Response

from hackathon.config.survey import Survey
from hackathon.survey.collection import Collection
from hackathon.survey.records import Value
from hackathon.survey.tokens import TokenError, plain_token
from hackathon.survey.values import ValueProblem, read_values
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import LANGUAGES, Message, _, speaking
from hackathon.text.printable import printable
from hackathon.web.dashboard.access import HEADERS, Receive, Scope, Send, named_by, refuse, with_headers
from hackathon.web.dashboard.forms import FormRefused, check_type, pairs_of, read_body
from hackathon.web.dashboard.uvicorn_server import preferred
from hackathon.web.survey_form.form import LANGUAGE, PREFIX, TOKEN
from hackathon.web.survey_form.view import View, policy

SMALLEST_BODY = 64 << 10
"""Bytes of an answer that are always accepted."""
BYTES_OF_LETTER = 12
"""The most bytes of a free answer's character in a form: four of UTF-8, each written %XX."""
MOST_BYTES = 2 << 20
MOST_FIELDS = 2000
BODY_SECONDS = 40.0
"""Seconds that an answer may take to arrive over a slow connection."""
GUESS_SECONDS = 1.0
"""Seconds before an unknown token is answered. A token has 80 bits; this only limits the load by guessers."""
GUESSES_AT_ONCE = 50
"""Unknown tokens that wait; further ones are refused at once. All come from the tunnel's address.

A valid token never counts.
"""
WRITERS = 32
"""Answers that are written at the same time, because a disk handles several at once."""
REMEMBERED = 4000
"""Answers that are recognised when they are sent again."""
_Result = TypeVar("_Result")


@dataclass
class _Slot:
    """Serialises the answers with one token."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class SurveyApp:
    """The application. `names`: accepted values of Host, without port.

    `paths`: addresses of the form, all the same page.
    """

    def __init__(
        self,
        collection: Collection,
        event: Callable[[str], str],
        names: Container[str],
        any_number: bool = False,
        paths: Container[str] = ("/",),
    ) -> None:
        self.collection, self.event = collection, event
        self.names, self.any_number, self.paths = names, any_number, paths
        self.guess_seconds = GUESS_SECONDS
        self._threads = ThreadPoolExecutor(WRITERS, "survey")
        self._slots: dict[str, _Slot] = {}
        self._guesses = 0
        # An answer is stored as a keyed digest, to recognise it when it is sent again; the key exists only in this
        # process, so a token's answer cannot be read from it.
        self._key = secrets.token_bytes(32)
        self._remembered: OrderedDict[bytes, bytes] = OrderedDict()
        self._told = ""
        headers = [pair for pair in HEADERS if pair[0] != b"content-security-policy"]
        self.headers = ((b"content-security-policy", policy().encode()), *headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        method: str = scope["method"]
        if not named_by([value for name, value in scope["headers"] if name == b"host"], self.names, self.any_number):
            await refuse(send, 421, "This address is not served here.", headers=self.headers)
        elif scope["path"] == "/favicon.ico":  # browsers request it on their own
            await refuse(send, 204, "", headers=self.headers)
        elif scope["path"] not in self.paths:
            await refuse(send, 404, "There is nothing here.", headers=self.headers)
        elif method not in ("GET", "HEAD", "POST"):
            allow = [(b"allow", b"GET, HEAD, POST")]
            await refuse(send, 405, "Only GET, HEAD and POST.", allow, headers=self.headers)
        else:
            answer = await self._answer(scope, receive)
            if answer is not None:
                await answer(scope, receive, with_headers(send, self.headers))

    def close(self) -> None:
        """Wait until running writes are complete."""
        self._threads.shutdown(wait=True)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the page; None if the sender disconnected."""
        query = _pairs(scope["query_string"])
        # the organisers may open a corrected questionnaire until the first answer
        try:
            survey: Survey = await self._thread(lambda: self.collection.survey)
        except (HackathonError, OSError) as error:
            self._tell(error)
            with speaking(preferred(scope)):
                return Response(
                    _("The form cannot be shown at the moment. Try again in a minute, and tell the organisers.") + "\n",
                    503,
                    media_type="text/plain",
                )
        languages = survey.languages or LANGUAGES
        language = next((value for name, value in query if name == LANGUAGE and value in languages), None)
        language = language or preferred(scope, languages)
        view = View(survey, self.event(language))
        try:
            if scope["method"] == "POST":
                return await self._take(scope, receive, view, language)
            tokens = [value for name, value in query if name == TOKEN]
            return await self._show(view, language, tokens[0] if len(tokens) == 1 else "")
        except FormRefused as refused:
            status, key = refused.status, refused.what
        except Exception as error:
            self._tell(error)
            status, key = 503, "not_stored"
        answer = _html(view.words(language, key), status)
        if status != 410:  # the rest of the body is not read
            answer.headers["connection"] = "close"
        return answer

    async def _show(self, view: View, language: str, code: str) -> Response:
        if await self._thread(lambda: self.collection.closing):
            raise FormRefused(410, "closed")
        token = plain_token(code)
        if not token:
            return _html(view.words(language, "code", ask=True))
        state = await self._state(token)
        if state == "spent":
            return _html(view.words(language, "spent"))
        if state == "unknown":
            return _html(view.words(language, "code", ask=True, unknown=code), 403)
        return _html(await self._thread(lambda: view.form(language, token)))

    async def _take(self, scope: Scope, receive: Receive, view: View, language: str) -> Response | None:
        check_type(scope)
        body = await read_body(receive, body_limit(view.survey), BODY_SECONDS)
        if body is None:
            return None
        token, raw = _read_form(body)
        values, problems = await self._thread(lambda: read_values(view.survey, raw))
        if problems:
            if await self._state(token) == "unused":
                return _html(view.form(language, token, raw, problems), 422)
        else:
            try:
                outcome = await self._count(token, values)
            except Exception as error:  # a full disk, a lost file system: the input must not be lost with it
                self._tell(error)
                answer = _html(view.form(language, token, raw, failed=True), 503)
                answer.headers["retry-after"] = "30"
                return answer
            if outcome in ("done", "again"):
                return _html(view.words(language, outcome))
            if outcome == "closed":
                raise FormRefused(410, "closed")
            if outcome == "anew":
                view = View(await self._thread(lambda: self.collection.survey), view.event)
                return _html(
                    view.form(
                        language,
                        token,
                        raw,
                        [
                            ValueProblem(
                                "",
                                Message(
                                    "survey_form.anew", "The questions have been changed: please check them again."
                                ),
                            )
                        ],
                    ),
                    422,
                )
        state = await self._state(token)
        if state == "spent":
            return _html(view.words(language, "spent"), 409)
        return _html(view.words(language, "code", ask=True, unknown=token or " "), 403)

    async def _count(self, token: str, values: Mapping[str, Value]) -> str:
        """Return the outcome of storing an answer.

        `done`; `again`: the same answer was counted a moment ago; `refused`: the token does not count; `closed`;
        `anew`: the questionnaire has just changed. Raises HackathonError or OSError if the answer cannot be stored, and
        then does not count it.
        """
        mark, about = self._code(repr(sorted(values.items()))), self._code(token)
        async with self._turn(token):
            if self._remembered.get(about) == mark:
                return "again"
            try:
                await self._thread(lambda: self.collection.accept(values, token))
            except TokenError:
                return "refused"
            except RequestError as error:
                if await self._thread(lambda: self.collection.closing):
                    return "closed"
                if error.id == "survey.opened_anew":
                    return "anew"
                raise
            self._remembered[about] = mark
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
            return "done"

    @contextlib.asynccontextmanager
    async def _turn(self, token: str) -> AsyncIterator[None]:
        """Wait until another request with the same token is complete."""
        slot = self._slots.setdefault(token, _Slot())
        slot.waiting += 1
        try:
            async with slot.lock:
                yield
        finally:
            slot.waiting -= 1
            if not slot.waiting:
                del self._slots[token]

    async def _state(self, token: str) -> str:
        """Return a token's state, after a delay for an unknown one.

        Raises FormRefused if too many are tried at once.
        """
        state: str = await self._thread(lambda: self.collection.token_state(token)) if token else "unknown"
        if state == "unknown" and token:
            if self._guesses >= GUESSES_AT_ONCE:
                raise FormRefused(429, "busy")
            self._guesses += 1
            try:
                await asyncio.sleep(self.guess_seconds)
            finally:
                self._guesses -= 1
        return state

    async def _thread(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _code(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)

    def _tell(self, error: BaseException) -> None:
        """Print an error on the terminal, repeated ones once, without answers and tokens."""
        if self._told == repr(error):
            return
        self._told = repr(error)
        text = str(error) if isinstance(error, HackathonError) else "".join(traceback.format_exception(error))
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(printable(text, kept="\n").rstrip() + "\n")


def body_limit(survey: Survey) -> int:
    """Return the most bytes of an answer to a questionnaire: 64 KiB, plus its free texts."""
    letters = sum(question.longest for question in survey.questions if question.kind == "text")
    return min(MOST_BYTES, SMALLEST_BODY + BYTES_OF_LETTER * letters)


def _read_form(body: bytes) -> tuple[str, dict[str, list[str]]]:
    """Return the token and the texts by question in a form's body. Raises FormRefused."""
    pairs = pairs_of(body, MOST_FIELDS)
    tokens = [value for name, value in pairs if name == TOKEN]
    if len(tokens) != 1:
        raise FormRefused(400, "broken")
    raw: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.startswith(PREFIX):
            raw.setdefault(name.removeprefix(PREFIX), []).append(value)
        elif name != TOKEN:
            raise FormRefused(400, "broken")
    return plain_token(tokens[0]), raw


def _pairs(query: bytes) -> list[tuple[str, str]]:
    """Return the names and values in an address; empty if there are too many."""
    try:
        return parse_qsl(query.decode("latin-1"), errors="replace", max_num_fields=20)
    except ValueError:
        return []


def _html(page: str, status: int = 200) -> Response:
    return Response(page.encode("utf-8", "replace"), status, media_type="text/html")
