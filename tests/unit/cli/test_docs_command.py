"""`hackathon docs`: every page of the documentation can be found and read in the terminal."""

import json
import re
import sys
from pathlib import Path

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
    for kind in ("tutorial", "how-to", "reference", "explanation"):
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


@pytest.mark.parametrize(("language", "ending", "advice"), [("en", ".md", "What to do: "), ("ja", ".ja.md", "対処: ")])
def test_a_page_of_the_reference_is_complete(
    capsys: pytest.CaptureFixture[str], language: str, ending: str, advice: str
) -> None:
    out, _ = told(capsys, "--lang", language, "docs", "rules")
    assert out.startswith((ROOT / f"docs/reference/rules{ending}").read_text())
    assert "\n### gpu-out-of-memory\n" in out and advice in out


def test_a_name_of_two_pages_needs_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(capsys, "docs", "run-directory")
    for kind in ("reference", "explanation"):
        assert f"  {kind}/run-directory " in out
        page = (ROOT / f"docs/{kind}/run-directory.md").read_text()
        assert told(capsys, "docs", f"{kind}/run-directory")[0] == page


def test_clusters_of_the_user_are_no_part_of_the_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "hackathon" / "clusters"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("scheduler: [\n")
    (folder / "mine.yaml").write_text((ROOT / "templates/clusters/laptop.yaml").read_text())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    out, _ = told(capsys, "docs", "clusters")
    assert "\n## laptop\n" in out and "## mine" not in out and "broken" not in out


def test_a_page_is_laid_out_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    page = told(capsys, "docs", "use-kubernetes")[0]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out, _ = told(capsys, "docs", "use-kubernetes")
    blocks = re.findall(r"^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert any(line.startswith("# ") for block in blocks for line in block.splitlines()), "no block has a comment"
    assert "```" not in out
    for line in "\n".join(blocks).splitlines():
        assert line[:70] in out
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    assert len(headings) > 3
    for heading in headings:
        assert re.search(rf"^[│┃ ]*{re.escape(heading)}[│┃ ]*$", out, re.MULTILINE), heading


def test_a_word_is_searched_for_in_all_pages(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(capsys, "docs", "DistributedSampler")
    found = json.loads(told(capsys, "docs", "DistributedSampler", "--json")[0])["pages"]
    assert found and all("distributedsampler" in page["text"].lower() and page["name"] in out for page in found)


def test_an_unknown_word_names_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = told(capsys, "--lang", "en", "docs", "no-such-thing-anywhere", code=2)
    assert all(page.name in err for page in all_pages())
