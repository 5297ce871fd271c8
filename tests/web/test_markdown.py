"""What people wrote comes out of Markdown as the letters they wrote, wherever it stands."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hackathon.web.page import sanitize as clean
from hackathon.web.page.markdown import escaped, quoted

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SIGNS = st.text(st.sampled_from(list("\\`*_{}[]()<>#+-.!|~$&;:/@= \n\t1a日。")), max_size=14)


def _plain(text: str) -> str:
    return " ".join(clean.line(text, clean.BLOCK).split())


def _texts(tokens: list[Token]) -> list[str]:
    """Return the texts of all blocks, having looked that nothing in them is more than text."""
    found = []
    for token in tokens:
        if token.type == "inline":
            assert {child.type for child in token.children or []} <= {"text"}
            found.append("".join(child.content for child in token.children or []))
    return found


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.one_of(SIGNS, st.text(max_size=20)))
@example("# a #")
@example("1. one")
@example("---")
@example("===")
@example("a | b")
@example("<b>&lt;</b> &amp;")
@example("![x](y) [a]: b `c` ~~d~~ $e$")
def test_a_text_is_text_in_every_block(text: str) -> None:
    plain, shown = _plain(text), escaped(text)
    assert "\n" not in shown
    if not plain:
        return
    paragraph = MARKDOWN.parse(f"{shown}\n")
    assert [token.type for token in paragraph] == ["paragraph_open", "inline", "paragraph_close"]
    assert _texts(paragraph) == [plain]
    heading = MARKDOWN.parse(f"## {shown}\n")
    assert heading[0].type == "heading_open" and _texts(heading) == [plain]
    item = MARKDOWN.parse(f"- {shown}\n")
    assert [token.type for token in item[:3]] == ["bullet_list_open", "list_item_open", "paragraph_open"]
    assert _texts(item) == [plain]
    assert _texts(MARKDOWN.parse(f"| h | g |\n| --- | --- |\n| {shown} | x |\n")) == ["h", "g", plain, "x"]


@settings(max_examples=200, deadline=None)
@given(SIGNS)
@example("a|b")
@example("`` ` ``")
def test_code_in_a_table_is_code(text: str) -> None:
    plain = _plain(text)
    if not plain or "\\" in plain:  # a backslash before a bar has no way out of a table's code
        return
    tokens = MARKDOWN.parse(f"| h | g |\n| --- | --- |\n| {quoted(text)} | x |\n")
    cells = [token for token in tokens if token.type == "inline"]
    assert [child.type for child in cells[2].children or []] == ["code_inline"]
    assert (cells[2].children or [])[0].content == plain
    assert cells[3].content == "x"


def test_addresses_are_not_made_into_links_by_those_who_look_for_them() -> None:
    shown = escaped("see https://example.org, www.example.org and a@example.org")
    # an escaped sign keeps GitHub and markdown-it from looking on
    assert shown == r"see https\://example.org, www\.example.org and a\@example.org"
