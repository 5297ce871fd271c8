"""One drawing serves every language: the words are put in afterwards, and stay text."""

from typing import Any

import pytest

pytest.importorskip("vl_convert")
from hackathon.index.memory import Memory
from hackathon.web.page import figures
from hackathon.web.page.figures import Figure, drawn
from hackathon.web.page.labels import wordless

HOSTILE = "</text><script>x</script>&\"' 日本"


def spec(title: str, said: str) -> dict[str, Any]:
    return {
        "data": {"values": [{"a": 1, "b": 2}, {"a": 2, "b": 3}]}, "width": 300, "height": 200,
        "encoding": {"x": {"field": "a", "type": "quantitative", "title": title}},
        "layer": [
            {"mark": "line", "encoding": {"y": {"field": "b", "type": "quantitative", "title": None},
                                          "tooltip": {"field": "b", "title": title}}},
            {"mark": "text", "encoding": {"text": {"value": said}}},
        ],
    }  # fmt: skip


def figure(title: str, said: str) -> Figure:
    return Figure("one", title, "a line", spec(title, said))


@pytest.mark.slow
def test_both_languages_are_one_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = figures.pictures
    monkeypatch.setattr(figures, "pictures", lambda specs, kind: (asked.append(len(specs)), real(specs, kind))[1])
    (english, japanese), problem = drawn([figure("Processes", "linear"), figure("プロセス数", "線形")], Memory())
    assert problem == ""
    assert sum(asked) == 1
    assert english.svg and japanese.svg
    assert ">Processes<" in english.svg and ">linear<" in english.svg
    assert ">プロセス数<" in japanese.svg and ">線形<" in japanese.svg
    assert "Words0" not in english.svg + japanese.svg
    assert english.svg.replace("Processes", "プロセス数").replace("linear", "線形") == japanese.svg


@pytest.mark.slow
def test_words_stay_text() -> None:
    (made,), _ = drawn([figure(HOSTILE, "Words01")], Memory())
    assert made.svg is not None
    assert "<script" not in made.svg and "&lt;/text&gt;&lt;script&gt;" in made.svg
    assert "Words01" in made.svg  # a word that looks like a stand-in is the engine's


def test_what_is_drawn_is_left_alone() -> None:
    given = spec("Processes", "linear")
    parted, words = wordless(given)
    assert sorted(words) == ["Processes", "linear"]
    assert parted["data"] == given["data"] and "tooltip" not in parted["layer"][0]["encoding"]
    assert given == spec("Processes", "linear")
    long = "a word that is longer than the room beside a picture, so that it is cut"
    assert wordless(spec(long, "x"))[1] == ["x"]
