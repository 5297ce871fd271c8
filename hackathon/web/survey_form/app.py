"""The form of one survey as an application: GET shows it, POST counts an answer; there is nothing else.

An answer comes with a token that its respondent was given. There are no cookies and nothing is remembered of a browser,
so that no other page can answer in somebody's name: whoever knows the token may answer, nobody else can (that is why
there is no protection against forged requests beyond it). Without a token of the survey no question is shown: other
users of the machine can connect to a port of the loopback address.

Addresses may hold the token: nothing is logged, nothing is kept by browsers and proxies (`no-store`), no address goes
to other sites (`no-referrer`).
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
from hackathon.text.messages import LANGUAGES, message, speaking
from hackathon.text.printable import printable
from hackathon.web.dashboard.access import HEADERS, Receive, Scope, Send, named_by, refuse, with_headers
from hackathon.web.dashboard.forms import FormRefused, check_type, pairs_of, read_body
from hackathon.web.dashboard.uvicorn_server import preferred
from hackathon.web.survey_form.form import LANGUAGE, PREFIX, TOKEN
from hackathon.web.survey_form.view import View, policy

SMALLEST_BODY = 64 << 10
"""Bytes of an answer that are always taken."""
BYTES_OF_LETTER = 12
"""Bytes that a letter of a free answer can have in a form: four of UTF-8, each written %XX."""
MOST_BYTES = 2 << 20
MOST_FIELDS = 2000
BODY_SECONDS = 40.0
"""How long an answer may take to arrive over a bad connection."""
GUESS_SECONDS = 1.0
"""How long an unknown token waits for its answer. A token has 80 bits: this only keeps guessers from being a burden."""
GUESSES_AT_ONCE = 50
"""Unknown tokens that wait; more are sent away at once. All come from one address, the tunnel's: who has a token is
never counted among them."""
WRITERS = 32
"""Answers that are written at the same time: a disk takes several at once, and each waits for it."""
REMEMBERED = 4000
"""Answers that are recognised when they are sent again."""
_Result = TypeVar("_Result")


@dataclass
class _Slot:
    """Answers with one token come one after another."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class SurveyApp:
    """The application. `names`: what Host may say, without port; `paths`: where the form is, all the same page."""

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
        # What was answered is remembered as a code that only this process can make, to recognise the same answer when
        # it is sent again; which answer belongs to which token cannot be read from it.
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
        elif scope["path"] == "/favicon.ico":  # browsers ask for it unasked
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
        """Wait for the answers that are being written."""
        self._threads.shutdown(wait=True)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the page; None when whoever asked has gone."""
        query = _pairs(scope["query_string"])
        # the organisers may open a corrected questionnaire as long as nobody has answered
        try:
            survey: Survey = await self._thread(lambda: self.collection.survey)
        except (HackathonError, OSError) as error:
            self._tell(error)
            with speaking(preferred(scope)):
                return Response(message("survey_form.broken_form") + "\n", 503, media_type="text/plain")
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
        if status != 410:  # the rest of what was being sent is not waited for
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
            except Exception as error:  # a full disk, a lost file system: what was typed must not be lost with it
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
                return _html(view.form(language, token, raw, [ValueProblem("", "survey_form.anew")]), 422)
        state = await self._state(token)
        if state == "spent":
            return _html(view.words(language, "spent"), 409)
        return _html(view.words(language, "code", ask=True, unknown=token or " "), 403)

    async def _count(self, token: str, values: Mapping[str, Value]) -> str:
        """Return done, again (the same answer was counted a moment ago), refused (the token does not count), closed,
        or anew (the questionnaire is another one since a moment).

        Raises HackathonError or OSError when the answer cannot be stored: then it is not counted.
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
        """Wait until another request with the same token is through."""
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
        """Return a token's state; an unknown one takes its time. Raises FormRefused when too many are tried at once."""
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
        """Tell the terminal what went wrong, once in a row; no answer and no token is in it."""
        if self._told == repr(error):
            return
        self._told = repr(error)
        text = str(error) if isinstance(error, HackathonError) else "".join(traceback.format_exception(error))
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(printable(text, kept="\n").rstrip() + "\n")


def body_limit(survey: Survey) -> int:
    """Return how many bytes an answer to a questionnaire may have: 64 KiB, and what its free texts may need."""
    letters = sum(question.longest for question in survey.questions if question.kind == "text")
    return min(MOST_BYTES, SMALLEST_BODY + BYTES_OF_LETTER * letters)


def _read_form(body: bytes) -> tuple[str, dict[str, list[str]]]:
    """Return the token and the texts by question of what a form sent. Raises FormRefused."""
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
    """Return the names and values of an address; none when there are too many."""
    try:
        return parse_qsl(query.decode("latin-1"), errors="replace", max_num_fields=20)
    except ValueError:
        return []


def _html(page: str, status: int = 200) -> Response:
    return Response(page.encode("utf-8", "replace"), status, media_type="text/html")
