"""Read answers in the form in which people and other programs write them, for form, offline page, terminal and CSV.

Full-width digits, labels such as `4 (難)`, options by value or by label in any language, several choices in one cell.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.board.entry import clean
from hackathon.config.survey import Question, Survey
from hackathon.survey.records import Value
from hackathon.text.messages import NP_, Message
from hackathon.text.normalise import plain
from hackathon.text.told import Sayable

LONGEST_WORD = 400
"""Characters of a value that is not free text; a longer one is displayed truncated."""
LONGEST_LIST = 10_000
"""Characters of several choices in one text."""
NOTHING = frozenset({"n/a", "no answer", "無回答", "回答なし", "未回答"})
"""Values of other programs for a question without an answer."""
_LEVEL = re.compile(r"(?:ao?)?0*(\d{1,4})(?:\.0+)?\s*(.*)\Z", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[+-]?\d{1,3})?)\s*(.*)\Z", re.DOTALL)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\S*,)")
_BRACKETS = {"(": ")", "[": "]", "「": "」", "【": "】", "〔": "〕"}
_AROUND = " ()[]「」【】〔〕:.,-–—=、。・"
SEPARATORS = ";,、\n\t|"


@dataclass(frozen=True)
class ValueProblem(Sayable):
    """Why a value is refused."""

    question: str
    """The question's id; empty for a problem of the complete answer."""
    id: str
    """Message id."""
    values: Mapping[str, Any] = field(default_factory=dict)


def read_values(survey: Survey, raw: Mapping[str, Sequence[str]]) -> tuple[dict[str, Value], list[ValueProblem]]:
    """Return the values of an answer by question, and its problems.

    `raw` contains the texts for each question; empty ones are not answers. Questions without an answer are not among
    the values. An answer without any value is a problem.
    """
    values: dict[str, Value] = {}
    problems: list[ValueProblem] = []
    questions = {question.id: question for question in survey.questions}
    for identifier in raw:
        if identifier not in questions:
            problems.append(
                ValueProblem(
                    _shown(identifier),
                    Message("survey.no_question", "there is no question {question}"),
                    {"question": _shown(identifier)},
                )
            )
    for question in survey.questions:
        texts = [text for text in raw.get(question.id, ()) if not _empty(question, text)]
        try:
            value: Value = _READERS[question.kind](question, texts) if texts else ""
        except _Wrong as wrong:
            problems.append(ValueProblem(question.id, wrong.id, wrong.values))
            continue
        if value not in ("", ()):  # `;` alone is not a choice
            values[question.id] = value
        elif question.required:
            problems.append(ValueProblem(question.id, Message("survey.required", "please answer this question")))
    if not values and not problems:
        problems.append(ValueProblem("", Message("survey.nothing_answered", "no question has an answer")))
    return values, problems


def read_stored(survey: Survey, stored: Any) -> tuple[dict[str, Value], list[ValueProblem]]:
    """Return the values of an answer that was stored as JSON values, checked like any other answer."""
    if not isinstance(stored, dict):
        return {}, [ValueProblem("", Message("survey.no_values", "the values are not readable"))]
    raw: dict[str, list[str]] = {}
    for identifier, value in stored.items():
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, bool) or not isinstance(part, (str, int, float)) for part in parts):
            return {}, [ValueProblem(_shown(identifier), Message("survey.no_values", "the values are not readable"))]
        raw[identifier] = [part if isinstance(part, str) else repr(part) for part in parts]
    # a list contains complete options, so labels with a `;` in them are not split
    return read_values(survey, raw)


def to_stored(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return values in their JSON form."""
    return {identifier: list(value) if isinstance(value, tuple) else value for identifier, value in values.items()}


def texts_of(text: object) -> list[str]:
    """Return a label in all its languages."""
    texts = text.values() if isinstance(text, Mapping) else (text,)
    return [str(label) for label in texts if label]


class _Wrong(ValueError):
    """A refused value, and the message with the reason."""

    def __init__(self, identifier: str, **values: Any) -> None:
        super().__init__(identifier)
        self.id = identifier
        self.values = values


def _shown(text: str) -> str:
    line = " ".join(clean(text[:LONGEST_WORD]).split())
    return line if len(line) <= 60 else line[:59] + "…"


def _empty(question: Question, text: str) -> bool:
    if not text.strip():
        return True
    if question.kind == "text" or len(text) >= 40 or plain(text) not in NOTHING:
        return False
    return plain(text) not in _names(question)  # `N/A` may be an option


def _only(texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise _Wrong(Message("survey.one_only", "only one answer is allowed, not {count}"), count=len(texts))
    return texts[0]


def _rating(question: Question, texts: Sequence[str]) -> int:
    text = _only(texts)
    word = plain(text[:LONGEST_WORD])
    wrong = _Wrong(
        Message("survey.no_level", "{value} is not a level from 1 to {levels}"),
        value=_shown(text),
        levels=question.levels,
    )
    low, high = ([plain(label) for label in texts_of(end)] for end in (question.low, question.high))
    match = _LEVEL.match(word)
    if match is None:
        # LimeSurvey exports only the label of an end if levels are labelled there
        if word in low and word not in high:
            return 1
        if word in high and word not in low:
            return question.levels
        raise wrong
    level, remaining = int(match[1]), match[2].strip()
    if not 1 <= level <= question.levels:
        raise wrong
    if remaining and not _only_a_label(remaining, level, question, {*low, *high}):
        raise wrong
    label = remaining.strip(_AROUND)
    if (level == 1 and label in set(high) - set(low)) or (level == question.levels and label in set(low) - set(high)):
        raise _Wrong(
            Message(
                "survey.level_of_other_end",
                "{value}: the label belongs to the other end of the scale",
                hint="if the scale of the form runs the other way, say so: --values '{question}:{value}=LEVEL,…'",
            ),
            value=_shown(text),
            question=question.id,
        )
    return level


def _only_a_label(remaining: str, level: int, question: Question, labels: set[str]) -> bool:
    """Return whether the text after a level explains it, and does not make it another answer (`3-4`)."""
    if remaining.replace(" ", "") == f"/{question.levels}":
        return True
    if remaining[0] in _BRACKETS and remaining[-1] == _BRACKETS[remaining[0]]:
        inside = remaining[1:-1].strip()
        return not any(letter.isdigit() for letter in inside) or inside in labels
    return remaining.lstrip(":.,-–—=、。・ ").strip() in labels


def _choice(question: Question, texts: Sequence[str]) -> str:
    text = _only(texts)
    option = _option(question, _names(question), text)
    if option is None:
        raise _unknown_option(question, text)
    return option


def _names(question: Question) -> dict[str, str]:
    """Return name of an option → its value: values go before labels, and a label of two options is left out."""
    labels: dict[str, set[str]] = {}
    for value, label in question.options.items():
        for text in texts_of(label):
            labels.setdefault(plain(text), set()).add(value)
    names = {word: next(iter(values)) for word, values in labels.items() if len(values) == 1}
    for value in question.options:
        names[plain(value)] = value
    return names


def _option(question: Question, names: Mapping[str, str], text: str) -> str | None:
    """Return the option that a text names, by its value or by its label in any language."""
    if text in question.options:
        return text
    if len(text) > LONGEST_WORD:
        return None
    option = names.get(plain(text))
    return _kind(question, text) if option is None and question.options_from == "kinds" else option


def _kind(question: Question, text: str) -> str | None:
    """Return the kind of participants for another word: `M2`, `修士課程学生`."""
    from hackathon.event.kinds import kind_named

    kind = kind_named(None, text)
    return kind if kind in question.options else None


def _unknown_option(question: Question, text: str) -> _Wrong:
    from hackathon.text.messages import localized

    available = ", ".join(
        value if localized(label) in ("", value) else f"{value} ({localized(label)})"
        for value, label in list(question.options.items())[:12]
    )
    return _Wrong(
        Message("survey.no_option", "{value} is not one of the options: {known}"),
        value=_shown(text),
        known=available + (" …" if len(question.options) > 12 else ""),
    )


def _choices(question: Question, texts: Sequence[str]) -> tuple[str, ...]:
    names = _names(question)
    options: set[str] = set()
    for text in texts:
        option = _option(question, names, text)
        options.update([option] if option is not None else _several(question, names, text))
    return tuple(value for value in question.options if value in options)


def _several(question: Question, names: Mapping[str, str], text: str) -> list[str]:
    """Return the options in one text, separated by `;`, `,` and similar signs; labels may contain such signs too."""
    if len(text) > LONGEST_LIST:
        raise _Wrong(
            Message("survey.text_long", "{count} characters; the limit is {limit}"), count=len(text), limit=LONGEST_LIST
        )
    parts = _parted(text)
    # at most the signs of the longest option, so that a text of nothing but signs is read quickly, too
    most = max(len(_parted(word)) for value, label in question.options.items() for word in (value, *texts_of(label)))
    options: list[str] = []
    at = 0
    while at < len(parts):
        # the longest run of pieces that is an option: `a, b` may be one label, or two
        for end in range(min(len(parts), at + most), at, -1):
            option = _option(question, names, "".join(parts[at:end]).strip())
            if option is not None:
                options.append(option)
                at = end
                break
        else:
            if parts[at].strip() and parts[at] not in SEPARATORS:
                raise _unknown_option(question, parts[at].strip())
            at += 1
    return options


def _parted(text: str) -> list[str]:
    """Return a text's pieces and the signs between them, in their order."""
    return re.split(f"([{SEPARATORS}])", unicodedata.normalize("NFKC", text))


def _number(question: Question, texts: Sequence[str]) -> float | int:
    text = _only(texts)
    word = plain(text[:LONGEST_WORD]).replace("−", "-")
    if _GROUPED.match(word):
        word = word.replace(",", "")
    match = _NUMBER.match(word)
    if match is None or (match[2] and match[2] not in [plain(unit) for unit in texts_of(question.unit)]):
        raise _Wrong(Message("survey.no_number", NP_("survey", "{value} is not a number")), value=_shown(text))
    number = float(match[1])
    if not math.isfinite(number):
        raise _Wrong(Message("survey.no_number", NP_("survey", "{value} is not a number")), value=_shown(text))
    if question.least is not None and number < question.least:
        raise _Wrong(
            Message("survey.number_small", "{value} is less than {least}"),
            value=_shown(text),
            least=plain_number(question.least),
        )
    if question.most is not None and number > question.most:
        raise _Wrong(
            Message("survey.number_large", "{value} is more than {most}"),
            value=_shown(text),
            most=plain_number(question.most),
        )
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _text(question: Question, texts: Sequence[str]) -> str:
    text = clean(_only(texts).replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(text) > question.longest:
        raise _Wrong(
            Message("survey.text_long", "{count} characters; the limit is {limit}"),
            count=len(text),
            limit=question.longest,
        )
    return text


_READERS: dict[str, Any] = {
    "rating": _rating,
    "choice": _choice,
    "choices": _choices,
    "number": _number,
    "text": _text,
}


def plain_number(value: float) -> str:
    """Return a number in plain digits with thousands separators: 1,000,000, never 1e+06."""
    from decimal import Decimal

    return f"{Decimal(repr(value)).normalize():,f}"
