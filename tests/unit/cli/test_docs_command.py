"""`hackathon docs`: every page of the documentation can be found and read in the terminal."""

import json

import pytest

from hackathon.cli.docs import all_pages
from hackathon.cli.main import run
from support.paths import ROOT


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert run(list(words)) == code
    answer = capsys.readouterr()
    return answer.out, answer.err


def test_the_list_has_every_page_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(capsys, "docs")
    for kind in ("tutorial", "how-to", "explanation"):
        for path in (ROOT / "docs" / kind).glob("*.md"):
            assert path.name.removesuffix(".md").removesuffix(".ja") in out
    assert "hackathon docs TOPIC" in err


@pytest.mark.parametrize(("language", "ending"), [("en", ".md"), ("ja", ".ja.md")])
def test_a_page_is_read_in_the_users_language(capsys: pytest.CaptureFixture[str], language: str, ending: str) -> None:
    out, _ = told(capsys, "--lang", language, "docs", "my-job-fail")
    assert out == (ROOT / f"docs/how-to/my-job-failed{ending}").read_text()


def test_a_page_without_a_translation_is_read_in_english(capsys: pytest.CaptureFixture[str]) -> None:
    untranslated = next(path for path in sorted((ROOT / "docs/explanation").glob("*.md")) if path.stem == "status")
    assert told(capsys, "--lang", "ja", "docs", "status")[0] == untranslated.read_text()


def test_a_word_is_searched_for_in_all_pages(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(capsys, "docs", "DistributedSampler")
    found = json.loads(told(capsys, "docs", "DistributedSampler", "--json")[0])["pages"]
    assert found and all("distributedsampler" in page["text"].lower() and page["name"] in out for page in found)


def test_an_unknown_word_names_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = told(capsys, "--lang", "en", "docs", "no-such-thing-anywhere", code=2)
    assert all(page.name in err for page in all_pages())
