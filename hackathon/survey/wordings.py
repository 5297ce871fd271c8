"""What words of a table mean: `--values 'とても満足=5,満足=4'` for all ratings, with `ID:` before it for one.

A rating in words is only read where a person said which level each word is, or where the words are the two ends of the
scale: of `とても満足`, `満足`, `不満` the word `満足` is not the highest level, even if the questionnaire calls it so.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hackathon.config.survey import Question, Survey
from hackathon.survey.values import LONGEST_LIST, LONGEST_WORD, NOTHING, SEPARATORS, read_values, texts_of
from hackathon.text.errors import RequestError
from hackathon.text.normalise import plain

NO_ANSWER = "-"
"""The value of --values for a word that is not an answer."""
MOST_NAMED = 12
"""Words of a column that a problem names."""
_PAIR = re.compile(r"\s*(.+?)\s*[=＝]\s*([^=＝,，、;；]+?)\s*(?:[,，、;；]|\Z)", re.DOTALL)
_CODE = re.compile(r"ao?\d+\Z")


@dataclass
class WordValues:
    """Values of words, for every rating and for single questions."""

    ratings: dict[str, str] = field(default_factory=dict)
    """Word, as `plain` writes it → value."""
    questions: dict[str, dict[str, str]] = field(default_factory=dict)
    used: set[tuple[str, str]] = field(default_factory=set)
    """(question's id, or empty for all ratings; word) of words that a table contains."""

    def of(self, question: Question) -> Mapping[str, str]:
        """Return the values of words for a question."""
        ratings = self.ratings if question.kind == "rating" else {}
        return {**ratings, **self.questions.get(question.id, {})}

    def replaced(self, question: Question, text: str) -> str:
        """Return the value of a text, the text itself where none is known; empty for no answer."""
        if len(text) > LONGEST_WORD:
            return text
        word = plain(text)
        value = self.of(question).get(word)
        if value is None:
            return text
        self.used.add((question.id if word in self.questions.get(question.id, {}) else "", word))
        return "" if value == NO_ANSWER else value

    def replaced_in(self, question: Question, text: str) -> str:
        """Return a list of choices with the values of the words in it."""
        known = self.of(question)
        if not known or len(text) > LONGEST_LIST:
            return text
        line = plain(text)
        for word in sorted(known, key=len, reverse=True):
            value = "" if known[word] == NO_ANSWER else known[word]
            pattern = rf"(?:(?<=[{SEPARATORS}])|\A)\s*{re.escape(word)}\s*(?=[{SEPARATORS}]|\Z)"
            line, count = re.subn(pattern, value.replace("\\", r"\\"), line)
            if count:
                self.used.add((question.id, word))
                text = line
        return text

    def unused(self) -> list[str]:
        """Return the words that no table contains."""
        words = [("", word) for word in self.ratings]
        words += [(question, word) for question, values in self.questions.items() for word in values]
        return [
            f"{question}:{word}" if question else word for question, word in words if (question, word) not in self.used
        ]


def word_values(survey: Survey, texts: Sequence[str]) -> WordValues:
    """Return what the texts of --values say. Raises RequestError: no pairs, a value that the question does not have."""
    result = WordValues()
    questions = {question.id.lower(): question for question in survey.questions}
    for text in texts:
        name, sign, pairs = text.partition(":")
        question = questions.get(name.strip().lower()) if sign else None
        found = _pairs(pairs if question else text)
        if not found:
            raise RequestError(
                "survey_import.no_pairs",
                "cannot read --values {text}",
                hint="write WORD=LEVEL,WORD=LEVEL, or ID:WORD=VALUE,… for one question",
                text=text[:100],
            )
        for word, value in found:
            _check(survey, question, value, text)
            target = result.questions.setdefault(question.id, {}) if question else result.ratings
            target[plain(word)] = value
    return result


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs, at = [], 0
    while at < len(text) and (match := _PAIR.match(text, at)):
        pairs.append((match[1], match[2]))
        at = match.end()
    return pairs if not text[at:].strip() else []


def _check(survey: Survey, question: Question | None, value: str, text: str) -> None:
    """Refuse a value that no rating, or not this question, can have."""
    if value == NO_ANSWER:
        return
    questions = [question] if question else [other for other in survey.questions if other.kind == "rating"]
    if any(
        other.kind != "text" and not read_values(Survey("", questions=[other]), {other.id: [value]})[1]
        for other in questions
    ):
        return
    raise RequestError(
        "survey_import.bad_value",
        "--values {text}: {value} is not a value of {question}",
        hint="a level of the scale, an option of the question, or `-` for no answer",
        text=text[:100],
        value=value[:60],
        question=question.id if question else ", ".join(other.id for other in questions) or "…",
    )


def foreign_words(question: Question, texts: Iterable[str], values: WordValues) -> Counter[str]:
    """Return the words in a rating's column that say no level, with their numbers; empty if they are its two ends.

    If one word is foreign, the two ends are too, unless `values` has them.
    """
    ends = {plain(label) for end in (question.low, question.high) for label in texts_of(end)}
    known = values.of(question)
    words: Counter[str] = Counter()
    mapped = False
    for text in texts:
        word = plain(text[:LONGEST_WORD])
        if not word or word in NOTHING or any(letter.isdigit() for letter in word):
            continue
        if word in known:
            mapped = True
        else:
            words[" ".join(text.split())[:LONGEST_WORD]] += 1
    return words if mapped or any(plain(word) not in ends for word in words) else Counter()


def has_codes(question: Question, texts: Iterable[str], values: WordValues) -> bool:
    """Return whether LimeSurvey's codes (`A1`, `AO01`) stand in a rating's column: positions in a list, not levels."""
    known = values.of(question)
    return any(_CODE.match(word) and word not in known for text in texts if len(word := plain(text[:20])) < 10)
