"""Texts of the catalogue in the language of the moment, with their values."""

import re
import threading

import pytest

from hackathon.text.errors import RequestError
from hackathon.text.messages import _, language, set_language, speaking

JAPANESE = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff]")


def test_a_message_in_the_chosen_language() -> None:
    set_language("ja")
    assert JAPANESE.search(_("is missing"))
    set_language("en")
    assert _("is missing") == "is missing"
    with pytest.raises(KeyError):
        _("config.no_such_message")


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
