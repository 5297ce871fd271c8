"""Texts in the language of the moment, with their values."""

import copy
import json
import pickle
import re
import threading
from dataclasses import asdict

import pytest

from hackathon.text.errors import RequestError
from hackathon.text.messages import NP_, Message, _, language, pgettext, set_language, speaking
from hackathon.text.told import Told, tell

JAPANESE = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff]")


def test_a_message_in_the_chosen_language() -> None:
    set_language("ja")
    assert JAPANESE.search(_("is missing"))
    set_language("en")
    assert _("is missing") == "is missing"
    set_language("ja")
    assert _("a text that nobody has translated: {x}", x=1) == "a text that nobody has translated: 1"


def test_a_context_chooses_among_translations() -> None:
    assert pgettext("nowhere", "Runs") == "Runs" == _(NP_("nowhere", "Runs"))


def test_a_message_is_its_id() -> None:
    message = Message("grid.fixed", "{name} is fixed", hint="remove {name}")
    assert message == "grid.fixed" and json.dumps({"id": message}) == '{"id": "grid.fixed"}'
    assert copy.deepcopy(message).hint == pickle.loads(pickle.dumps(message)).hint == "remove {name}"
    error = RequestError(message, name="x")
    assert (error.id, str(error), error.hint) == ("grid.fixed", "x is fixed", "remove x")


def test_what_a_record_keeps_is_said_in_the_readers_language() -> None:
    told = tell("runs.cause_exit", exit_code=3, signal=None)
    assert json.loads(json.dumps(asdict(told))) == {"id": "runs.cause_exit", "values": {"exit_code": 3, "signal": None}}
    english = str(told)
    with speaking("ja"):
        assert str(told) != english and "3" in str(told)
    with pytest.raises(KeyError):
        str(Told("runs.of_a_later_version", {}))


def test_an_error_shows_itself_in_the_language_of_the_moment() -> None:
    error = RequestError("config.name_long", "the name is longer than {limit} characters", limit=60)
    set_language("ja")
    assert "60 文字" in error.message
    set_language("en")
    assert error.message == str(error) == "the name is longer than 60 characters"


def test_a_hint_without_values_shows_braces_once() -> None:
    assert "- {name: " in str(
        RequestError(
            "data.none",
            "no data is declared",
            hint="add to `data:` in project.yaml: - {{name: …, url: https://…, sha256: …}}",
        ).hint
    )
    assert "`scaling: {strong: {divide: batch_size}}`" in str(
        RequestError(
            "jobs.strong_needs_divide",
            "strong scaling needs to know which parameter holds the batch per process",
            hint="add `scaling: {{strong: {{divide: batch_size}}}}` to project.yaml, or `{{by_program: true}}` in "
            "the place of `{{divide: …}}` if the program divides its batch itself",
        ).hint
    )


def test_a_block_speaks_its_language_in_its_own_thread_only() -> None:
    heard: list[str] = []
    set_language("en")
    with speaking("ja"):
        thread = threading.Thread(target=lambda: heard.append(language()))
        thread.start()
        thread.join()
        heard.append(language())
    assert [*heard, language()] == ["en", "ja", "en"]
    with pytest.raises(ValueError, match="must be one of"), speaking("fr"):
        pass
