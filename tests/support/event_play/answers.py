"""What the eleven people of 2019 said, and the three ways on which they say it: a phone, a terminal, Google Forms."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playwright.sync_api import Browser

from support.pages.browser import PATIENCE

RATINGS = ("length", "lecture", "handouts", "satisfaction")


@dataclass(frozen=True)
class Said2019:
    """One person's answer."""

    way: str
    """form, terminal or csv."""
    levels: tuple[int, int, int, int]
    """Of RATINGS."""
    text: str = ""


ANSWERS = (
    Said2019("form", (3, 3, 3, 5), "とても有意義でした。メンターの方々の知識がすごかったです。"),
    Said2019("form", (3, 3, 3, 5), "エラーのとき「ここのエラーだと思います」と専門家に教わり、とても助かりました。"),
    Said2019("form", (1, 4, 2, 1), "イベントの目的が分からず、モデル作りから始めて時間を無駄にしました。"),
    Said2019("terminal", (3, 3, 3, 5), "Chainer の開発者から助言をもらえました。"),
    Said2019("terminal", (3, 3, 4, 4)),
    Said2019("terminal", (4, 3, 3, 5), "1 ノード内の GPU で並列化できました。"),
    Said2019("csv", (3, 3, 3, 5), "とても有意義でした。参加者用の Slack チャンネルがあるとよいと思います。"),
    Said2019(
        "csv", (3, 3, 3, 5), "バグや困りごとをホワイトボードや Slack で共有すれば、\n分かる人が助けられると思います。"
    ),
    Said2019("csv", (3, 3, 4, 4), "６～８月の開催を希望します（1月は学生には厳しい）。"),
    Said2019("csv", (4, 3, 4, 4), '"とても", 有意義でした'),
    Said2019("csv", (2, 4, 2, 2)),
)


def full_width(number: int) -> str:
    """Return a digit as Japanese keyboards write it."""
    return chr(ord("０") + number)


def google_forms(questions: Sequence[Mapping[str, object]], language: str = "ja") -> bytes:
    """Return the answers of the way `csv` as Google Forms exports them in Japanese, saved again by Excel as cp932.

    `questions` are those of survey.yaml; headings are their texts. Levels come as digits, full-width digits and labels
    like 「4 (難)」: forms that were made by hand have all of them.
    """
    said = [each for each in ANSWERS if each.way == "csv"]

    def words(value: object) -> str:
        return str(value[language]) if isinstance(value, Mapping) else str(value)

    def level(number: int, question: Mapping[str, object], row: int) -> str:
        end = words(question["high"]) if number > 3 else words(question["low"]) if number < 3 else ""
        shapes = (
            str(number),
            full_width(number),
            f"{number} ({end})" if end else f"{number} ",
            f"{full_width(number)}（{end}）",
        )
        return shapes[row % 4] if end or row % 4 < 3 else full_width(number)

    out = io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    table.writerow(["タイムスタンプ", *(words(each["text"]) for each in questions)])
    for row, each in enumerate(said):
        cells = []
        for question in questions:
            name = str(question["id"])
            if name in RATINGS:
                cells.append(level(each.levels[RATINGS.index(name)], question, row))
            else:
                cells.append(each.text if question["kind"] == "text" else "")
        table.writerow([f"2019/01/25 17:{20 + row}:0{row}", *cells])
    return out.getvalue().encode("cp932")


def fill_in(browser: Browser, address: str, said: Said2019, text_name: str) -> str:
    """Answer the form on a phone, without JavaScript, as an address on a slip leads to it; return the thanks."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False, locale="ja-JP")
    try:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        for name, level in zip(RATINGS, said.levels, strict=True):
            page.check(f"input[name=q-{name}][value='{level}']")
        if said.text:
            page.fill(f"textarea[name=q-{text_name}]", said.text)
        with page.expect_navigation():
            page.click("button[type=submit]")
        return page.inner_text("main")
    finally:
        context.close()


def typed(questions: Sequence[Mapping[str, object]], said: Said2019) -> str:
    """Return what a person types who is asked one question after another: free words end with an empty line."""
    lines = []
    for question in questions:
        name = str(question["id"])
        if name in RATINGS:
            lines.append(str(said.levels[RATINGS.index(name)]))
        else:
            lines += [said.text, ""] if said.text else [""]
    return "".join(f"{line}\n" for line in [*lines, "y"])
