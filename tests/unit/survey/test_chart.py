"""The picture of ratings: what its bars, colours and words say."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hackathon.config.survey import Question, Survey
from hackathon.survey import chart as charts
from hackathon.survey.chart import COLOURS, chart, meaning, write_chart
from hackathon.survey.records import Answer
from hackathon.survey.summary import summarise
from hackathon.text.errors import RequestError
from hackathon.text.messages import set_language
from hackathon.text.paths import shipped
from support.survey.survey_2019 import COUNTS, summary


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rating(target: str | None, levels: int = 5) -> Question:
    return Question("q", "rating", "Q", levels=levels, target=target)  # type: ignore[arg-type]


def test_five_on_a_bipolar_item_is_not_good() -> None:
    assert [meaning(rating("middle"), level) for level in range(1, 6)] == ["far", "off", "best", "off", "far"]
    assert [meaning(rating("high"), level) for level in range(1, 6)] == ["far", "off", "between", "good", "best"]
    assert [meaning(rating("low"), level) for level in range(1, 6)] == ["best", "good", "between", "off", "far"]
    assert {meaning(rating(None), level) for level in range(1, 6)} == {"neutral"}


@pytest.mark.parametrize("levels", range(1, 12))
def test_both_ends_of_a_bipolar_item_are_equally_off(levels: int) -> None:
    colours = [meaning(rating("middle", levels), level) for level in range(1, levels + 1)]
    assert colours == colours[::-1]
    assert colours[(levels - 1) // 2] == "best"
    high = [meaning(rating("high", levels), level) for level in range(1, levels + 1)]
    assert high == [meaning(rating("low", levels), level) for level in range(levels, 0, -1)]
    assert levels < 2 or (high[0], high[-1]) == ("far", "best")


def test_counts_can_be_read_and_colours_be_told_apart_in_grey() -> None:
    for fill, ink in COLOURS.values():
        assert contrast(fill, ink) >= 4.5
    for one, other in (("best", "off"), ("off", "far"), ("best", "far"), ("best", "good")):
        assert contrast(COLOURS[one][0], COLOURS[other][0]) >= 1.9


@pytest.mark.parametrize("language", ["en", "ja"])
def test_bars_have_the_counts_and_lie_around_the_middle(language: str) -> None:
    found = chart(summary(), language)
    assert found is not None
    spec, alt, heads, rows = found
    data = spec["datasets"]
    names = list(COUNTS)
    for row, (name, counts) in enumerate(COUNTS.items()):
        segments = [each for each in data["segments"] if each["row"] == row]
        assert [each["count"] for each in segments] == [count for count in counts if count]
        widths = [each["end"] - each["start"] for each in segments]
        assert widths == pytest.approx([count / 11 for count in counts if count], abs=1e-4)
        assert all(one["end"] == other["start"] for one, other in pairwise(segments))
        # the middle level lies half on either side
        assert segments[0]["start"] == pytest.approx(-(counts[0] + counts[1] + counts[2] / 2) / 11, abs=1e-4)
        assert [each["label"] for each in data["counts"] if each["row"] == row] == [
            str(each) for each in counts if each
        ]
        assert rows[row][1] == "11"
        assert list(rows[row][3:8]) == [str(count) for count in counts]
        assert rows[row][0] in alt, name
    assert [each["n"] for each in data["rows"]] == ["n = 11"] * 4
    assert len({len(row) for row in rows} | {len(heads)}) == 1
    expected = {"en": ("short", "long"), "ja": ("短", "長")}[language]
    assert (data["rows"][0]["low"], data["rows"][0]["high"]) == expected
    assert re.search(r"\b7\b", alt), names


def test_colours_are_named_and_only_those_that_occur() -> None:
    spec = chart(summary(), "en")
    assert spec is not None
    layer = next(each for each in spec[0]["layer"] if each["data"]["name"] == "segments")
    assert layer["encoding"]["color"]["scale"]["domain"] == ["on target", "good", "off", "far off"]
    fives = [each for each in spec[0]["datasets"]["segments"] if each["level"].startswith("5")]
    assert [each["meaning"] for each in fives] == ["on target"]  # satisfaction; nobody said 5 elsewhere


def test_nothing_to_draw() -> None:
    few = summarise("after", summary().survey, [Answer({"length": 3})] * 4, invited=None, closed=True)
    assert chart(few, "en") is None
    with pytest.raises(RequestError):
        write_chart(few, Path("x.svg"))


@pytest.mark.slow
def test_any_number_of_levels_and_long_names_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    questions = [
        replace(rating("middle", levels), id=f"q{levels}", text="x" * 300, low="低" * 80, high="<&\x1b[31m")
        for levels in (1, 2, 4, 7, 10)
    ]
    some = [Answer({each.id: 1 + number % each.levels for each in questions}) for number in range(30)]
    found = summarise("after", Survey("S", questions=questions), some, invited=None, closed=True)
    path = tmp_path / "x.svg"
    write_chart(found, path)
    svg = path.read_text(encoding="utf-8")
    ElementTree.fromstring(svg)
    assert "\x1b" not in svg
    width = re.search(r'width="([\d.]+)"', svg)
    assert width is not None
    assert float(width[1]) < 640


@pytest.mark.slow
@pytest.mark.parametrize(("language", "words"), [("en", ["Satisfaction", "dissatisfied", "n = 11", "far off"]),
                                                 ("ja", ["満足度", "不満", "n = 11", "大きなずれ"])])  # fmt: skip
def test_the_drawing_says_it_in_both_languages(tmp_path: Path, language: str, words: list[str]) -> None:
    pytest.importorskip("vl_convert")
    set_language(language)
    assert write_chart(summary(), tmp_path / "x.svg") == []
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    for word in words:
        assert word in svg
    for fill, _ in (COLOURS["best"], COLOURS["far"], COLOURS["off"], COLOURS["good"]):
        assert f'fill="{fill}"' in svg


def test_without_a_japanese_font_a_png_has_no_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(charts, "has_japanese", lambda: False)
    monkeypatch.setattr(charts, "write_plot", lambda spec, path: drawn.append(spec))
    set_language("ja")
    survey = Survey("題", questions=[replace(rating("middle"), text="設問", low="低", high={"ja": "高", "en": "high"})])
    found = summarise("after", survey, [Answer({"q": 3})] * 5, invited=None, closed=True)
    assert len(write_chart(found, tmp_path / "x.png")) == 1
    row = drawn[0]["datasets"]["rows"][0]
    assert (row["question"], row["low"], row["high"], drawn[0]["title"]["text"]) == ("q", "", "high", "")
    assert not re.search("[ぁ-んァ-ヶ一-龠]", json.dumps(drawn[0], ensure_ascii=False))


def test_a_private_picture_says_so() -> None:
    found = chart(replace(summary(), private=True), "en", titled=True)
    assert found is not None
    assert "NOT FOR PUBLICATION" in found[0]["title"]["subtitle"]


def test_the_template_has_no_address_but_its_schema_and_no_transform() -> None:
    text = shipped("templates", "plots", "survey.vl.json").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"]+", text) == ["https://vega.github.io/schema/vega-lite/v5.json"]
    assert "transform" not in text
