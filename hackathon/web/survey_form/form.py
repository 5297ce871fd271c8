"""A questionnaire as a form: questions, input, and problems of the input.

The server and the offline page display the same questions. Field names are `q-<id of the question>`, so that none
equals the token's.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hackathon.config.survey import Question, Survey
from hackathon.survey.values import ValueProblem, plain_number
from hackathon.text.messages import _, localized
from hackathon.text.printable import printable

PREFIX = "q-"
TOKEN = "t"
"""The name of the token, in addresses and in the form."""
LANGUAGE = "lang"
_KEPT = "\n\u3000\u00a0\u200c\u200d"
"""Characters of questions that are visible to a reader: spaces of other widths, and joiners of emoji."""


@dataclass(frozen=True)
class Choice:
    """One option."""

    value: str
    label: str
    chosen: bool
    end: str = ""
    """rating: the meaning of this level, at the two ends."""


@dataclass(frozen=True)
class Field:
    """One displayed question."""

    name: str
    kind: str
    text: str
    choices: tuple[Choice, ...] = ()
    written: str = ""
    """text and number: the input."""
    low: str = ""
    high: str = ""
    unit: str = ""
    longest: int = 0
    hints: tuple[str, ...] = ()
    """Lines below the question."""
    needed: str = ""
    """The word for a required answer; empty for an optional one."""
    none: str = ""
    """The option that removes a choice; empty if it can be removed otherwise."""
    problem: str = ""
    """The problem of the input; empty without one."""
    least: float | None = None
    most: float | None = None
    range: str = ""
    """number: the hint with the limits; empty if there are none."""

    @property
    def anchor(self) -> str:
        """The id of the element that a link to this question focuses."""
        return f"{self.name}-1" if self.choices else self.name


def fields_of(
    survey: Survey, typed: Mapping[str, Sequence[str]] | None = None, problems: Sequence[ValueProblem] = ()
) -> list[Field]:
    """Return the questions in the current language, with the input (question's id → values) and its problems."""
    typed = typed or {}
    wrong: dict[str, str] = {}
    for problem in problems:
        wrong.setdefault(problem.question, problem.text)
    return [
        _field(question, [*typed.get(question.id, ())], wrong.get(question.id, "")) for question in survey.questions
    ]


def others_of(survey: Survey, problems: Sequence[ValueProblem]) -> list[str]:
    """Return the problems that belong to no displayed question: an empty form, a field of another form."""
    ids = {question.id for question in survey.questions}
    return [problem.text for problem in problems if problem.question not in ids]


def shown(text: object) -> str:
    """Return an organiser's text in the current language without hidden and control characters."""
    return printable(localized(text), kept=_KEPT).strip()


def kept(text: str) -> str:
    """Return an input for the form's next display, without characters that no page can contain."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter for letter in plain if letter in "\n\t" or _may_stand(letter))


def _may_stand(letter: str) -> bool:
    """Return whether a page may contain a character: no control character, surrogate, or Unicode noncharacter."""
    number = ord(letter)
    return (
        unicodedata.category(letter) not in ("Cc", "Cs")
        and number & 0xFFFE != 0xFFFE
        and not 0xFDD0 <= number <= 0xFDEF
    )


def _field(question: Question, typed: list[str], problem: str) -> Field:
    single = question.kind in ("rating", "choice")
    return Field(
        PREFIX + question.id, question.kind, shown(question.text), tuple(_choices(question, typed)),
        kept(typed[0]) if typed and question.kind in ("text", "number") else "", shown(question.low),
        shown(question.high), shown(question.unit) if question.kind == "number" else "",
        question.longest if question.kind == "text" else 0, tuple(_hints(question)),
        _("required") if question.required else "",
        _("No answer") if single and not question.required else "", problem,
        question.least, question.most, _range(question),
    )  # fmt: skip


def _choices(question: Question, typed: list[str]) -> list[Choice]:
    if question.kind == "rating":
        levels = [str(level) for level in range(1, question.levels + 1)]
        ends = {levels[0]: shown(question.low), levels[-1]: shown(question.high)}
        return [Choice(level, level, level in typed, ends.get(level, "")) for level in levels]
    return [Choice(value, shown(label) or value, value in typed) for value, label in question.options.items()]


def _hints(question: Question) -> list[str]:
    hints = [shown(question.help)]
    if question.kind == "choices":
        hints.append(_("Select all that apply."))
    elif question.kind == "text":
        hints.append(_("At most {count} characters.", count=question.longest))
    hints.append(_range(question))
    return [hint for hint in hints if hint]


def _range(question: Question) -> str:
    """Return the limits of a number in words; empty if there are none."""
    least, most = (None if bound is None else plain_number(bound) for bound in (question.least, question.most))
    if question.kind != "number" or (least is None and most is None):
        return ""
    if most is None:
        return _("A number, {least} or more.", least=least)
    if least is None:
        return _("A number, {most} or less.", most=most)
    return _("A number from {least} to {most}.", least=least, most=most)
