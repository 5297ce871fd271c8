"""The form of a survey: what it shows to whom, what it takes, and what it answers to everything else."""

import asyncio
import base64
import hashlib
import http.client
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hackathon.survey.collection import Collection
from hackathon.survey.tokens import Tokens
from hackathon.text.errors import HackathonError, RequestError
from hackathon.web.survey_form import app as survey_app
from hackathon.web.survey_form.app import SMALLEST_BODY, SurveyApp, body_limit
from hackathon.web.survey_form.offline import offline_page, sheet, slip
from hackathon.web.survey_form.server import public_address
from support.survey.serving import EVENT, NAME, QUESTIONS, Answer, Page, Served, app_of, ask, served, write_survey

GOOD = {"q-length": "3", "q-satisfaction": "5", "q-used": ["gpu", "disk"], "q-hours": "２.5", "q-free": "よかった\r\n!"}
GOOD_VALUES = {"length": 3, "satisfaction": 5, "used": ("gpu", "disk"), "hours": 2.5, "free": "よかった\n!"}
HOSTILE = "<script>window.hit=1</script><img src=x onerror=alert(1)>\"'></textarea></style>{{7*7}}"


@pytest.fixture
def survey(tmp_path: Path) -> Collection:
    return write_survey(tmp_path)


@pytest.fixture
def tokens(survey: Collection) -> list[str]:
    return survey.open(4)


@pytest.fixture
def app(survey: Collection, tokens: list[str]) -> Iterator[SurveyApp]:
    made = app_of(survey)
    yield made
    made.close()


def said(app: SurveyApp, *arguments: Any, **named: Any) -> Answer:
    return asyncio.run(ask(app, *arguments, **named))


class Raises:
    """A function that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, *arguments: Any) -> Any:
        raise self.error


def shows_questions(answer: Answer) -> bool:
    labels = [str(word) for each in QUESTIONS for word in each["text"].values()]
    return any(label in answer.body for label in labels) or "q-" in answer.body


# what is shown


@pytest.mark.parametrize(("language", "other", "words"), [
    ("en", "ja", ["Length", "1 short", "long 5", "No answer", "Anonymous", "Two minutes."]),
    ("ja", "en", ["講習会時間", "1 短い", "長い 5", "回答しない", "匿名", "2分で終わります。"]),
])  # fmt: skip
def test_the_form(app: SurveyApp, tokens: list[str], language: str, other: str, words: list[str]) -> None:
    answer = said(app, {"t": tokens[0], "lang": language})
    assert answer.status == 200
    page = answer.page
    for word in words:
        assert word in page.text
    assert page.all("html")[0]["lang"] == language
    # the switch of languages keeps the token; the form is sent to where it came from, without the token in its address
    assert [each["href"] for each in page.all("a", hreflang=other)] == [f"?lang={other}&t={tokens[0]}"]
    assert page.all("form")[0] | {"accept-charset": ""} == {
        "method": "post", "action": f"?lang={language}", "accept-charset": "", "novalidate": "",
    }  # fmt: skip
    assert [each["value"] for each in page.all("input", type="hidden", name="t")] == [tokens[0]]
    assert [each["value"] for each in page.all("input", name="q-length")] == ["1", "2", "3", "4", "5", ""]
    assert [each["value"] for each in page.all("input", name="q-satisfaction")] == ["1", "2", "3", "4", "5"]
    assert {each["type"] for each in page.all("input", name="q-used")} == {"checkbox"}
    assert len(page.ids) == len(set(page.ids))
    described = [found["aria-describedby"].split() for _, found in page.elements if "aria-describedby" in found]
    assert described
    assert {each for many in described for each in many} <= set(page.ids)
    assert page.all("script") == []


def test_the_language_is_the_address_then_the_browser_then_the_surveys_first(app: SurveyApp, tokens: list[str]) -> None:
    def language(query: dict[str, str], accepted: str) -> str:
        answer = said(app, {"t": tokens[0], **query}, headers={"accept-language": accepted})
        return answer.page.all("html")[0]["lang"]

    assert language({}, "en-GB,en;q=0.9,ja;q=0.3") == "en"
    assert language({"lang": "ja"}, "en") == "ja"
    assert language({}, "fr") == language({"lang": "fr"}, "") == "ja"


def test_every_answer_has_the_headers_and_no_cookie(app: SurveyApp, tokens: list[str]) -> None:
    answers = [
        said(app, {"t": tokens[0]}), said(app), said(app, {"t": "x" * 16}), said(app, path="/x"),
        said(app, method="PUT"), said(app, host=("evil.example",)), said(app, form=b"x"),
        said(app, form={"t": tokens[0], **GOOD}), said(app, form={"t": tokens[1]}), said(app, path="/favicon.ico"),
    ]  # fmt: skip
    assert [each.status for each in answers] == [200, 200, 403, 404, 405, 421, 400, 200, 422, 204]
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "form-action 'self'" in policy and "script-src" not in policy
        assert "set-cookie" not in answer.headers
        for style in re.findall(r"<style>(.*?)</style>", answer.body, re.DOTALL):
            assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy


def test_nobody_without_a_token_sees_a_question(app: SurveyApp, tokens: list[str]) -> None:
    for query in ({}, {"t": ""}, {"t": "a" * 16}, {"t": tokens[0][:-1]}, {"t": HOSTILE}, {"t": "\x00"}, b"t=%ff"):
        for answer in (said(app, query), said(app, query, method="HEAD")):
            assert answer.status in (200, 403)
            assert not shows_questions(answer), query
            assert answer.page.all("input", name="t")
    both = f"t={tokens[0]}&t={tokens[1]}".encode()
    assert not shows_questions(said(app, both))
    assert not shows_questions(said(app, form={"t": "b" * 16, **GOOD}))
    assert not shows_questions(said(app, form={"t": "b" * 16}))
    assert shows_questions(said(app, {"t": tokens[0]}))


def test_a_token_may_be_typed_as_on_the_slip(app: SurveyApp, survey: Collection, tokens: list[str]) -> None:
    typed = " ".join(tokens[0][at : at + 4] for at in range(0, 16, 4)).upper()
    assert shows_questions(said(app, {"t": typed}))
    assert said(app, form={"t": typed, **GOOD}).status == 200
    assert survey.token_state(tokens[0]) == "spent"


# what is taken


def test_an_answer_counts_once(app: SurveyApp, survey: Collection, tokens: list[str]) -> None:
    first = said(app, {"lang": "ja"}, {"t": tokens[0], **GOOD})
    assert first.status == 200
    assert first.page.all("a", hreflang="en") == [], "it would lead to a page that asks for the code"
    assert "ご参加ありがとうございました。" in first.page.text and "回答を受け付けました" in first.page.text
    assert [dict(each.values) for each in survey.answers()] == [GOOD_VALUES]
    # the same again, as of an impatient finger or after a lost answer: no reason to be frightened
    again = said(app, {"lang": "en"}, {"t": tokens[0], **GOOD})
    assert again.status == 200 and "your answer is already counted" in again.page.text
    other = said(app, {"lang": "en"}, {"t": tokens[0], **GOOD, "q-length": "1"})
    assert other.status == 409 and "This link has been used" in other.page.text
    later = said(app, {"lang": "en", "t": tokens[0]})
    assert later.status == 200 and "This link has been used" in later.page.text and not shows_questions(later)
    # another server does not know what was answered, only that the link was used
    anew = app_of(survey)
    assert said(anew, {}, {"t": tokens[0], **GOOD}).status == 409
    anew.close()
    assert len(survey.answers()) == 1


@pytest.mark.parametrize(
    ("other", "statuses", "counted"), [(GOOD, [200, 200], 1), ({"q-satisfaction": "1"}, [200, 409], 1)]
)
def test_two_answers_with_one_token_at_the_same_moment(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch,
    other: dict[str, Any], statuses: list[int], counted: int,
) -> None:  # fmt: skip
    both, accept = threading.Semaphore(0), survey.accept

    def slow(values: Any, token: str) -> None:
        both.acquire(timeout=0.2)  # the second one arrives meanwhile
        accept(values, token)

    monkeypatch.setattr(survey, "accept", slow)

    async def together() -> list[Answer]:
        return await asyncio.gather(*(ask(app, {}, {"t": tokens[0], **each}) for each in (GOOD, other)))

    answers = asyncio.run(together())
    assert sorted(each.status for each in answers) == statuses
    assert len(survey.answers()) == counted
    assert app._slots == {}


def test_a_wrong_answer_comes_back_with_what_was_typed(app: SurveyApp, survey: Collection, tokens: list[str]) -> None:
    typed = {"q-length": "4", "q-kind": "staff", "q-used": ["cpu"], "q-hours": "千", "q-free": "長い\n文章 <b>"}
    answer = said(app, {"lang": "en"}, {"t": tokens[0], **typed})
    assert answer.status == 422
    page = answer.page
    assert page.all("title") and "Please correct" in page.text
    checked = [(each["name"], each["value"]) for each in page.all("input") if "checked" in each]
    assert checked == [("q-length", "4"), ("q-kind", "staff"), ("q-used", "cpu")]
    hours = page.all("input", name="q-hours")[0]
    assert hours["value"] == "千" and hours["aria-invalid"] == "true"
    assert "長い\n文章 <b>" in page.text
    links = [each["href"] for each in page.all("a") if each["href"].startswith("#q-")]
    assert links == ["#q-satisfaction-1", "#q-hours"]
    assert {link[1:] for link in links} <= set(page.ids)
    assert "q-hours-problem" in hours["aria-describedby"] and "q-hours-problem" in page.ids
    assert page.all("fieldset", id="q-satisfaction")[0]["aria-describedby"] == "q-satisfaction-problem"
    assert page.all("div", role="alert")
    assert survey.token_state(tokens[0]) == "unused" and survey.answers() == []
    assert said(app, {}, {"t": tokens[0], **typed, "q-satisfaction": "1", "q-hours": "3"}).status == 200


@pytest.mark.parametrize("form", [
    {"q-satisfaction": ["1", "2"]}, {"q-satisfaction": "6"}, {"q-satisfaction": "0"}, {"q-satisfaction": "3-4"},
    {**GOOD, "q-kind": "teacher"}, {**GOOD, "q-used": ["gpu", "tape"]}, {**GOOD, "q-hours": "101"},
    {**GOOD, "q-hours": "nan"}, {**GOOD, "q-free": "x" * 201}, {**GOOD, "q-free": ["a", "b"]}, {**GOOD, "q-old": "1"},
    {**GOOD, f"q-{HOSTILE}": HOSTILE}, {},
])  # fmt: skip
def test_what_no_answer_can_be_is_refused_and_costs_nothing(
    app: SurveyApp, survey: Collection, tokens: list[str], form: dict[str, Any]
) -> None:
    answer = said(app, {}, {"t": tokens[0], **form})
    assert answer.status == 422
    assert answer.page.all("div", role="alert")
    assert survey.token_state(tokens[0]) == "unused" and survey.answers() == []


def test_a_questionnaire_that_is_opened_anew_is_shown_anew(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first answer the organisers may mend it; nobody has to start the form again."""
    file = survey.folder / "survey.yaml"
    assert "Length" in said(app, {"t": tokens[0], "lang": "en"}).page.text
    file.write_text(file.read_text("utf-8").replace("Length", "How long was it?").replace("staff", "teacher"), "utf-8")
    Collection(survey.folder).open()
    assert "How long was it?" in said(app, {"t": tokens[0], "lang": "en"}).page.text
    old = said(app, {"lang": "en"}, {"t": tokens[0], **GOOD, "q-kind": "staff"})
    assert old.status == 422 and "How long was it?" in old.page.text and survey.answers() == []

    # and while an answer is on its way
    with monkeypatch.context() as patch:
        patch.setattr(survey, "accept", Raises(RequestError("survey.opened_anew", name=NAME)))
        answer = said(app, {"lang": "en"}, {"t": tokens[0], **GOOD})
    assert answer.status == 422 and "have been changed" in answer.page.text and "よかった" in answer.page.text
    assert said(app, {}, {"t": tokens[0], **GOOD}).status == 200


def test_a_closed_survey_says_so(app: SurveyApp, survey: Collection, tokens: list[str]) -> None:
    survey.close()
    for answer in (said(app, {"t": tokens[0], "lang": "en"}), said(app, {"lang": "en"}, {"t": tokens[0], **GOOD})):
        assert answer.status == 410 and "The survey is closed" in answer.page.text
        assert not shows_questions(answer)


# when it can not be stored


@pytest.mark.parametrize("error", [
    HackathonError("survey.can_not_take", what="No space left"), OSError(28, "full"),
    RequestError("survey.damaged", file="opened.json"), ValueError("a defect"),
])  # fmt: skip
def test_an_answer_that_can_not_be_stored_is_not_confirmed(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], error: Exception,
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(survey, "accept", Raises(error))
        for _ in range(2):
            answer = said(app, {"lang": "en"}, {"t": tokens[0], **GOOD})
            assert answer.status == 503 and answer.headers["retry-after"]
            assert "could not be saved" in answer.page.text and "よかった\n!" in answer.page.text
    told = capsys.readouterr().err
    assert told and "よかった" not in told and tokens[0] not in told
    assert told.count("a defect") <= 1
    assert survey.token_state(tokens[0]) == "unused" and survey.answers() == []
    assert said(app, {}, {"t": tokens[0], **GOOD}).status == 200


def test_an_answer_whose_token_can_not_be_spent_is_taken_back(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its respondent is told to try again: both attempts must not count."""

    def fail(tokens: Tokens, digests: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Tokens, "spend", fail)
        assert said(app, {}, {"t": tokens[0], **GOOD}).status == 503
    assert survey.answers() == [] and survey.token_state(tokens[0]) == "unused"
    assert said(app, {}, {"t": tokens[0], **GOOD}).status == 200
    assert len(survey.answers()) == 1


def test_a_damaged_questionnaire_is_told_in_words(
    app: SurveyApp, survey: Collection, tokens: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (survey.folder / "opened.json").write_text("{")
    for answer in (said(app, {"t": tokens[0]}), said(app, {}, {"t": tokens[0], **GOOD})):
        assert answer.status == 503 and "organisers" in answer.body and "opened.json" not in answer.body
        assert answer.headers["cache-control"] == "no-store"
    assert "opened.json" in capsys.readouterr().err


def test_trouble_with_the_files_is_told_in_words(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tokens: Tokens, token: str) -> str:
        raise OSError(5, "Input/output error", "/secret/folder")

    monkeypatch.setattr(Tokens, "state", fail)
    answer = said(app, {"t": tokens[0], "lang": "en"})
    assert answer.status == 503 and "/secret" not in answer.body and "Try again" in answer.page.text


# everything else that may come


@pytest.mark.parametrize(("headers", "status"), [
    ({"content-type": "multipart/form-data; boundary=x"}, 415),
    ({"content-type": "application/json"}, 415),
    ({"content-type": "text/plain"}, 415),
    ({"content-type": "application/x-www-form-urlencoded; charset=shift_jis"}, 415),
    ({"content-type": "application/x-www-form-urlencoded", "content-encoding": "gzip"}, 415),
    ({"content-type": 'application/x-www-form-urlencoded; charset="UTF-8"'}, 200),
    ({"content-type": "Application/X-WWW-Form-urlencoded;charset=utf-8"}, 200),
])  # fmt: skip
def test_only_a_form_is_taken(app: SurveyApp, tokens: list[str], headers: Mapping[str, str], status: int) -> None:
    assert said(app, {}, {"t": tokens[0], **GOOD}, headers=headers).status == status


@pytest.mark.parametrize(("body", "status"), [
    (b"", 400), (b"q-satisfaction=3", 400), (b"t=T&t=T&q-satisfaction=3", 400), (b"t=T&x=1&q-satisfaction=3", 400),
    (b"t=T&q-free=%ff&q-satisfaction=3", 400), (b"t=T&q-free=%ED%A0%80&q-satisfaction=3", 400),
    ("t=T&q-free=日本&q-satisfaction=3".encode("shift_jis"), 400), (b"t=T" + b"&q-used=gpu" * 3000, 400),
    (b"t=T&q-free=%00%1b[31m&q-satisfaction=3", 200), (b"t=T&q-satisfaction=%EF%BC%93", 200),
])  # fmt: skip
def test_bodies(app: SurveyApp, survey: Collection, tokens: list[str], body: bytes, status: int) -> None:
    answer = said(app, {}, body.replace(b"T", tokens[0].encode()))
    assert answer.status == status
    assert survey.token_state(tokens[0]) == ("spent" if status == 200 else "unused")
    for each in survey.answers():
        assert str(each.values.get("free", "")).isprintable()


def test_what_is_too_long_is_refused(app: SurveyApp, survey: Collection, tokens: list[str]) -> None:
    limit = body_limit(survey.survey)
    assert limit == SMALLEST_BODY + 12 * 200
    long = f"t={tokens[0]}&q-satisfaction=3&q-free=".encode()
    fits = long + b"%20" * ((limit - len(long)) // 3)
    assert said(app, {}, fits).status == 200
    answer = said(app, {"lang": "en"}, fits + b"%20")
    assert answer.status == 413 and "too long" in answer.page.text
    # in pieces, with an end that never comes: it is not taken in for ever
    piece = {"type": "http.request", "body": b"x" * 100_000, "more_body": True}
    assert said(app, pieces=[piece] * 30).status == 413


def test_a_sender_who_goes_or_dawdles_leaves_nothing(
    app: SurveyApp, survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = {"type": "http.request", "body": f"t={tokens[0]}&q-satisfaction=3".encode(), "more_body": True}
    assert said(app, pieces=[half, {"type": "http.disconnect"}]).status == 0
    monkeypatch.setattr(survey_app, "BODY_SECONDS", 0.05)
    answer = said(app, {"lang": "en"}, pieces=[half])
    assert answer.status == 408 and "in time" in answer.page.text
    assert survey.token_state(tokens[0]) == "unused" and survey.answers() == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_methods(app: SurveyApp, method: str) -> None:
    answer = said(app, method=method)
    assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "path", ["/x", "//", "/../hackathon.yaml", "/..%2f", "/answers", "/surveys/", "", "/style.css"]
)
def test_paths(app: SurveyApp, tokens: list[str], path: str) -> None:
    assert said(app, {"t": tokens[0]}, path=path).status == 404
    assert said(app, {}, {"t": tokens[0], **GOOD}, path=path).status == 404


@pytest.mark.parametrize("host", [("evil.example",), ("localhost.evil.example",), (), ("localhost", "localhost"), ("",),
                                  ("127.0.0.1",), ("localhost@evil.example",)])  # fmt: skip
def test_hosts(app: SurveyApp, tokens: list[str], host: Sequence[str]) -> None:
    answer = said(app, {"t": tokens[0]}, host=host, headers={"x-forwarded-host": "localhost"})
    assert answer.status == 421 and not shows_questions(answer)


def test_guessing_keeps_nobody_with_a_token_waiting(
    app: SurveyApp, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app.guess_seconds = 3600.0
    monkeypatch.setattr(survey_app, "GUESSES_AT_ONCE", 5)

    async def storm() -> tuple[list[Answer], Answer, Answer]:
        guesses = [asyncio.create_task(ask(app, {"t": f"{number:016d}"})) for number in range(20)]
        turned_away: list[Answer] = []
        for done in asyncio.as_completed(guesses):
            turned_away.append(await done)
            if len(turned_away) == 15:
                break
        form, sent = await ask(app, {"t": tokens[0]}), await ask(app, {}, {"t": tokens[0], **GOOD})
        waiting = [guess for guess in guesses if not guess.done()]
        assert len(waiting) == app._guesses == 5
        for guess in waiting:
            guess.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return turned_away, form, sent

    answers, form, sent = asyncio.run(storm())
    assert {each.status for each in answers} == {429}
    assert shows_questions(form) and sent.status == 200
    assert app._guesses == 0


# hostile texts


def test_texts_of_organisers_and_participants_are_only_text(tmp_path: Path) -> None:
    text = {"en": HOSTILE + "\x1b[31m\u202e", "ja": HOSTILE}
    questions = [
        {"id": "rated", "kind": "rating", "target": "high", "text": text, "low": text, "high": "high", "help": text},
        {"id": "chosen", "kind": "choice", "text": text, "options": {"a": text, "b": "b"}, "required": True},
        {"id": "amount", "kind": "number", "text": text, "unit": text},
        {"id": "free", "kind": "text", "text": text},
    ]  # fmt: skip
    survey = write_survey(tmp_path, questions=questions, title=text, introduction=text, thanks=text)
    token = survey.open(1)[0]
    app = app_of(survey)
    kept = Page(said(app, {"t": token}).body)
    typed = {"q-free": HOSTILE, "q-amount": HOSTILE, "q-rated": HOSTILE}
    answers = [
        said(app, {"t": token}), said(app, {}, {"t": token, **typed}), said(app, {"t": HOSTILE}),
        said(app, {}, {"t": token, "q-free": HOSTILE, "q-chosen": "a"}),
    ]  # fmt: skip
    app.close()
    assert [each.status for each in answers] == [200, 422, 403, 200]
    for answer in answers:
        page = answer.page
        tags = {tag for tag, _ in page.elements}
        assert tags <= {tag for tag, _ in kept.elements} | {"ul", "li", "h2"} and "script" not in tags
        assert not any(name.startswith("on") for _, found in page.elements for name in found)
        assert "\x1b" not in answer.body and "\u202e" not in answer.body
    assert HOSTILE in answers[1].page.text
    whole = offline_page(NAME, survey.digest, survey.survey, HOSTILE)
    assert [found for tag, found in Page(whole).elements if tag in ("img", "iframe")] == []
    assert len(Page(whole).all("script")) == 1


# the offline page and the slips


def test_the_offline_page_asks_for_nothing_and_runs_only_its_own_script(survey: Collection, tokens: list[str]) -> None:
    whole = offline_page(NAME, survey.digest, survey.survey, "Event")
    page = Page(whole)
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    for kind in ("style", "script"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", whole, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "form-action 'none'" in policy
    assert not re.search(r'(?:src|href|action)="(?!#)', whole)
    assert {each["data-digest"] for each in page.all("form")} == {survey.digest}
    assert [each["data-language"] for each in page.all("div") if "data-language" in each] == ["ja", "en"]
    assert len(page.ids) == len(set(page.ids))
    assert not any(token in whole for token in tokens)


def test_slips(survey: Collection, tokens: list[str]) -> None:
    page = Page(sheet(survey.survey, "Event", tokens, "https://survey.example.org/"))
    assert len(page.all("li", class_="slip")) == len(page.all("path")) == 4
    for token in tokens:
        assert " ".join(token[at : at + 4] for at in range(0, 16, 4)) in page.text
    plain = Page(sheet(survey.survey, "Event", tokens))
    assert plain.all("svg") == [] and "http" not in plain.text


def test_slips_without_the_library_for_qr_codes(
    survey: Collection, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "segno", None)
    page = Page(sheet(survey.survey, "Event", tokens, "https://survey.example.org/"))
    assert page.all("svg") == [] and "https://survey.example.org/" in page.text
    assert page.text.count("Open the address") == len(page.all("li", class_="slip")) == 4


def test_the_qr_code_is_drawn_as_it_was_made() -> None:
    segno = pytest.importorskip("segno")
    made = slip("abcdefghijklmnop", "https://survey.example.org/")
    assert made.link == "https://survey.example.org/?t=abcdefghijklmnop"
    rows = [list(row) for row in segno.make_qr(made.link, error="m").matrix_iter(border=4)]
    drawn = [[0] * made.size for _ in range(made.size)]
    for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", made.path):
        drawn[int(y)][int(x) : int(x) + int(wide)] = [1] * int(wide)
    assert drawn == [[1 if module else 0 for module in row] for row in rows]


@pytest.mark.parametrize(("url", "made", "paths"), [
    ("https://survey.example.org", "https://survey.example.org/", {"/"}),
    ("https://Example.org:8443/hk/form/", "https://example.org:8443/hk/form/", {"/", "/hk/form/", "/hk/form"}),
    ("http://[2001:db8::1]:80/x", "http://[2001:db8::1]:80/x/", {"/", "/x/", "/x"}),
])  # fmt: skip
def test_public_addresses(url: str, made: str, paths: set[str]) -> None:
    found = public_address(url)
    assert (found.url, set(found.paths)) == (made, paths)


@pytest.mark.parametrize("url", ["", "survey.example.org", "ftp://x/", "https://", "https://x/?t=1", "https://x/#a",
    "https://u:p@x/", "https://x:99999/", "https://x y/", "javascript:alert(1)", "https://x/\r\nX: 1", "https://x/<b>",
    "https://x:0/", "http://[::1/"])  # fmt: skip
def test_what_is_no_public_address(url: str) -> None:
    with pytest.raises(RequestError):
        public_address(url)


# the command, over real sockets


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    write_survey(folder)
    with served(folder, "--tokens", "3", "--url", "https://survey.example.org/form") as made:
        yield made


def raw(running: Served, request: bytes) -> tuple[int, dict[str, str], str]:
    with socket.create_connection(("127.0.0.1", running.port), 60) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        body = answer.read().decode()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def test_the_command_prints_links_and_lets_the_public_host_in(running: Served) -> None:
    assert [link.partition("?t=")[0] for link in running.links] == ["https://survey.example.org/form/"] * 3
    assert len(set(running.tokens)) == 3
    token = running.tokens[0]
    for path, host in (("/", "survey.example.org"), ("/form/", "survey.example.org:443"), ("/form", "localhost:1")):
        status, headers, body = raw(running, f"GET {path}?t={token} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert status == 200 and "q-length" in body and "server" not in headers
    assert raw(running, f"GET /?t={token} HTTP/1.1\r\nHost: evil.example\r\n\r\n".encode())[0] == 421


@pytest.mark.parametrize("request_line", [
    b"GET /../../etc/passwd HTTP/1.1", b"GET /%2e%2e/hackathon.yaml HTTP/1.1", b"GET /form/../surveys HTTP/1.1",
    b"GET http://localhost/ HTTP/1.1", b"GET /form%2f HTTP/1.1", b"GET //evil.example/ HTTP/1.1",
    b"GET /?lang=en%0d%0aSet-Cookie:%20a=b HTTP/1.1", b"GET /?t=%0d%0aX:%201 HTTP/1.1",
    b"GET /?" + b"a&" * 5000 + b" HTTP/1.1",
    b"BREW / HTTP/1.1", b"GET / HTTP/9.9", b"\x16\x03\x01\x02\x00", b"GET  /  HTTP/1.1",
])  # fmt: skip
def test_hostile_requests(running: Served, request_line: bytes) -> None:
    status, headers, body = raw(running, request_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert status in (200, 400, 403, 404, 405), status
    assert "set-cookie" not in headers and "x" not in headers
    assert "q-length" not in body and "root:" not in body


def test_a_body_that_does_not_come_blocks_nobody(running: Served) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    slow = [socket.create_connection(("127.0.0.1", running.port), 60) for _ in range(60)]
    try:
        for number, each in enumerate(slow):
            each.sendall(head + b"Content-Length: 1000\r\n\r\nt=" if number % 2 else head[:20])
        form = f"t={running.tokens[1]}&q-satisfaction=4".encode()
        status, _, _ = raw(running, head + b"Content-Length: %d\r\n\r\n%s" % (len(form), form))
        assert status == 200
    finally:
        for each in slow:
            each.close()


def command(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hackathon", "survey", "serve", *words],
        cwd=folder, env={**os.environ, "HACKATHON_LANG": "en"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.slow
def test_what_the_command_refuses(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    done = command(tmp_path)
    assert done.returncode == 2 and "is not open yet" in done.stderr and "--tokens" in done.stderr
    done = command(tmp_path, "--sheet", "slips.html")
    assert done.returncode == 2
    done = command(tmp_path, "--tokens", "2", "--url", "survey.example.org")
    assert done.returncode == 2 and "https://" in done.stderr
    assert survey.state == "draft"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = command(tmp_path, "--tokens", "2", "--port", str(taken.getsockname()[1]))
        assert done.returncode == 2 and "--port" in done.stderr
    assert survey.state == "draft", "tokens were made that nobody has seen"
    survey.open(1)
    survey.close()
    done = command(tmp_path)
    assert done.returncode == 2 and "closed" in done.stderr


@pytest.mark.slow
def test_page_and_sheet_are_files(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    done = command(tmp_path, "--tokens", "2", "--page", "form.html", "--sheet", "slips.html", "--url", "https://x.org/")
    assert done.returncode == 0, done.stderr
    assert survey.state == "open" and len(survey.tokens.issued()) == 2
    assert (tmp_path / "form.html").read_text() == offline_page(
        NAME, survey.digest, survey.survey, EVENT["title"]["en"]
    )
    assert stat.S_IMODE((tmp_path / "slips.html").stat().st_mode) == 0o600
    assert (tmp_path / "slips.html").read_text().count('class="slip"') == 2
    # a sheet that can not be written: the tokens exist, and are printed
    done = command(tmp_path, "--tokens", "2", "--page", "form.html", "--sheet", "nowhere/slips.html")
    assert done.returncode == 0 and "nowhere" in done.stderr
    shown = re.findall(r"^ {2}([a-z2-7]{16})$", done.stdout, re.MULTILINE)
    assert len(shown) == 2 and {survey.token_state(each) for each in shown} == {"unused"}
