"""Free answers in sentences with tags, and the file in which somebody reviews them."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hackathon.config.problems import ConfigError
from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Answer, Sentence
from hackathon.survey.sentences import WORDS, sentences, tags
from hackathon.survey.texts import TEXTS_FILE, cut, read_texts, write_texts
from hackathon.text.messages import set_language

SURVEY = Survey("S", questions=[Question("comments", "text", "Comments"), Question("more", "text", "More")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("とても有意義でした。次回も参加したい！本当に？はい",
         ["とても有意義でした。", "次回も参加したい！", "本当に？", "はい"]),
        ("わあ！！！すごい。。。", ["わあ！！！", "すごい。。。"]),
        ("GPU が速い.とても良い．次も", ["GPU が速い.", "とても良い．", "次も"]),
        ("It took 3.5 h with torch.nn, e.g. here. Great! thanks a lot.",
         ["It took 3.5 h with torch.nn, e.g. here.", "Great!", "thanks a lot."]),
        ("See https://example.org/a?b=c.d! Then `a. b? c` works. End",
         ["See https://example.org/a?b=c.d!", "Then `a. b? c` works.", "End"]),
        ("バージョンは３．５です。", ["バージョンは３．５です。"]),
        ("「この部分のエラーだと思う。」と言われて助かった。次",
         ["「この部分のエラーだと思う。」と言われて助かった。", "次"]),
        ("「助かった。」とても良い。", ["「助かった。」", "とても良い。"]),
        ("「助かった。」また来たい。", ["「助かった。」", "また来たい。"]),
        ('He said "This is an error." That helped.', ['He said "This is an error."', "That helped."]),
        ("（本当に！）また来たい。（終）", ["（本当に！）", "また来たい。", "（終）"]),
        ("知識（特に Chainer！）に感謝。", ["知識（特に Chainer！）に感謝。"]),
        ("「閉じない。次の文。", ["「閉じない。", "次の文。"]),
        ("logs etc. were fine. We used tools etc. Then it ran.",
         ["logs etc. were fine.", "We used tools etc.", "Then it ran."]),
        ("1. First\n2. Second one. Third", ["1. First", "2. Second one.", "Third"]),
        ("one\r\n\r\n  two  \u2028three", ["one", "two", "three"]),
        ("half?width! 半角?です!はい", ["half?width!", "半角?", "です!", "はい"]),
        ("...", ["..."]),
        ("", []),
        (" \n ", []),
    ],
)  # fmt: skip
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet="aB 1.。！?「」()`\n．とエe:/", max_size=60) | st.text(max_size=80))
def test_no_letter_is_lost_and_none_added(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(each == each.strip() and each for each in found)


def test_a_long_answer_is_cut_at_once() -> None:
    assert len(sentences("とても良かった。" * 5000)) == 5000
    assert len(sentences("「" * 4000 + "。" * 4000)) <= 2


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("とても有意義でした。", ("thanks",)),
        ("Slack のチャンネルがあると良い。", ("request",)),
        ("６月〜８月に開催してほしい（１月は学生には厳しい）。", ("request", "difficulty")),
        ("An expert's help at an ERROR was very helpful.", ("thanks", "difficulty")),
        ("The purpose was unclear and time was wasted on model building.", ("difficulty",)),
        ("エキスパートに助けられた", ("thanks",)),
        ("The hardware has many functions.", ()),
        ("We ran on four GPUs.", ()),
        ("It was ｄｉｆｆｉｃｕｌｔ", ("difficulty",)),
    ],
)
def test_tags(sentence: str, expected: tuple[str, ...]) -> None:
    assert tags(sentence, WORDS) == expected


def test_a_questionnaires_own_words_replace_the_usual_ones() -> None:
    survey = Survey("S", questions=SURVEY.questions, tags={"food": ["弁当", "lunch"], "empty": []})
    found = cut(survey, [Answer({"comments": "お弁当が良かった。Lunches were good. ありがとう。"})])["comments"]
    assert {each.text: each.tags for each in found} == {
        "お弁当が良かった。": ("food",), "Lunches were good.": ("food",), "ありがとう。": (),
    }  # fmt: skip


def test_sentences_of_one_person_are_not_kept_together() -> None:
    some = [Answer({"comments": "".join(f"p{person}s{number}。" for number in range(20))}) for person in range(20)]
    orders = [[each.text for each in cut(SURVEY, some)["comments"]] for _ in range(3)]
    assert len(set(map(tuple, orders))) == 3
    assert len({frozenset(order) for order in orders}) == 1
    for order in orders:
        beside = sum(one.split("s")[0] == other.split("s")[0] for one, other in pairwise(order))
        # 19 of 399 neighbours are of one person by chance; as given it would be 380
        assert beside < 80


HOSTILE = [
    "- a: b", "true", "42", "=1+1", "'\"\\", "# no comment", "&anchor *alias", "{x: [y", "\u0085\u2028\x7f\ufeff", "😀",
    "\ud800", "<b>|`x`", "null", "~", "!!python/object",
]  # fmt: skip


def test_the_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    some = [Answer({"comments": each, "more": "ありがとう。"}) for each in HOSTILE]
    path = write_texts(tmp_path, SURVEY, some)
    assert path == tmp_path / TEXTS_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    texts = read_texts(tmp_path, SURVEY)
    assert texts is not None
    assert (texts.reviewed, texts.released) == (False, None)
    expected = sorted(sentence.replace("\ud800", "?") for each in HOSTILE for sentence in sentences(each))
    assert sorted(each.text for each in texts.sentences["comments"]) == expected
    assert texts.sentences["more"] == (Sentence("ありがとう。", ("thanks",)),) * len(HOSTILE)
    content = path.read_text(encoding="utf-8")
    assert "\nreviewed: false\n" in content
    assert "Read them before" in content
    assert "必ず読んで" in content


def test_what_somebody_changed_stays(tmp_path: Path) -> None:
    some = [Answer({"comments": "One. Two."})]
    path = write_texts(tmp_path, SURVEY, some)
    assert path is not None
    path.write_text("reviewed: true\nquestions:\n  comments:\n  - One.\n", encoding="utf-8")
    assert write_texts(tmp_path, SURVEY, [*some, Answer({"comments": "Three."})]) is None
    texts = read_texts(tmp_path, SURVEY)
    assert texts is not None
    assert texts.released == {"comments": (Sentence("One."),)}


def test_nothing_is_written_when_nobody_wrote(tmp_path: Path) -> None:
    assert write_texts(tmp_path, SURVEY, [Answer({})]) is None
    assert read_texts(tmp_path, SURVEY) is None


def test_the_file_is_read_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / TEXTS_FILE).write_text(
        "\ufeffreviewed: true\nquestions:\n  comments:\n  - plain words\n  - 42\n  - {text: '  ', tags: [x]}\n"
        "  - text: tagged\n    tags: thanks\n  - text: twice\n    tags: [a, a, ' ']\n  more:\n",
        encoding="utf-8",
    )
    texts = read_texts(tmp_path, SURVEY)
    assert texts is not None
    assert texts.released == {
        "comments": (
            Sentence("plain words"),
            Sentence("42"),
            Sentence("tagged", ("thanks",)),
            Sentence("twice", ("a",)),
        ),
        "more": (),
    }


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        ("reviewed: yes\n", 1, '"yes"'),
        ("reviewed: false\nquestion: {}\n", 2, "question"),
        ("questions:\n  comments: []\n  coments: []\n", 3, "comments, more"),
        ("questions:\n  comments: words\n", 2, "- "),
        ("questions:\n  comments:\n  - ok\n  - text: [a]\n", 4, "quotes"),
        ("questions:\n  comments:\n  - ok\n  - {text: a, tag: b}\n", 4, "tags"),
        ("questions:\n  comments:\n  - {text: a, tags: {b: c}}\n", 3, "list of tags"),
        ("- a\n", 1, "`key: value` lines"),
        ("questions: [a]\n", 1, "`key: value` lines"),
        ("questions:\n\tcomments: []\n", 2, "tab"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(tmp_path: Path, content: str, line: int, word: str) -> None:
    set_language("en")
    (tmp_path / TEXTS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_texts(tmp_path, SURVEY)
    assert caught.value.problems[0].line == line
    assert f"{TEXTS_FILE}:{line}" in str(caught.value)
    assert word in str(caught.value)


def test_a_file_that_is_no_text_is_an_error_and_no_waiting(tmp_path: Path) -> None:
    import os

    (tmp_path / TEXTS_FILE).write_bytes(b"reviewed: \xff\n")
    with pytest.raises(ConfigError):
        read_texts(tmp_path, SURVEY)
    (tmp_path / TEXTS_FILE).unlink()
    os.mkfifo(tmp_path / TEXTS_FILE)
    with pytest.raises(ConfigError):
        read_texts(tmp_path, SURVEY)
