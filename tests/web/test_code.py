"""What stands between backticks is shown as code, whatever else is in it."""

from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

from hackathon.web.page.pages import environment

code = environment().filters["code"]


def test_pairs_become_code_and_a_single_one_stays() -> None:
    assert code("Type `pip list` and `<b>`.") == "Type <code>pip list</code> and <code>&lt;b&gt;</code>."
    assert code("`which python`を見る") == "<code>which python</code>を見る"
    assert code("it`s <i>") == "it`s &lt;i&gt;"


@example("``")
@given(st.text(alphabet="a`<>&\"'{} é", max_size=30))
def test_everything_is_escaped(text: str) -> None:
    shown = code(text).replace("<code>", "`").replace("</code>", "`")
    assert shown == escape(text)
