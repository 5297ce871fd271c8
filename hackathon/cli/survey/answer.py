"""`hackathon survey answer`: answer in the terminal, from the respondent's own account."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import Assignment, named
from hackathon.cli.show import printable
from hackathon.text.errors import RequestError
from hackathon.text.messages import _, localized

if TYPE_CHECKING:
    from hackathon.config.survey import Question, Survey
    from hackathon.survey.dropbox import Box
    from hackathon.survey.records import Value
    from hackathon.survey.values import ValueProblem

LONGEST_TOKEN = 200
"""Characters of a token that are read."""


@named(
    "answer",
    help=_(
        "Answer the event's survey in the terminal. Published results are anonymous. The organisers, however, "
        "can see who answered: your answer is a file of your account, which only they can find and read, and "
        "which is deleted when the survey is closed. To correct your answer, answer again: the newest one "
        "counts.\n"
        "\n"
        "  hackathon survey answer\n"
        "  hackathon survey answer after --lang ja\n"
        "  hackathon survey answer after --set length=3 --set satisfaction=5 --set comments='thank you'"
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@click.option(
    "--token",
    "with_token",
    is_flag=True,
    help=_(
        "Ask for your token, if you got one; it can be used once, here or in the form. Without a terminal: the "
        "first line of standard input, because others can read command lines."
    ),
)
@click.option(
    "-p",
    "--set",
    "answers",
    type=Assignment(),
    multiple=True,
    help=_(
        "Give an answer instead of being asked; repeat it for several choices. Others on the machine can read "
        "command lines."
    ),
)
@click.option(
    "--shared",
    type=click.Path(file_okay=False, path_type=Path),
    help=_("The event's shared directory, instead of the one in hackathon.yaml."),
)
def command(name: str | None, with_token: bool, answers: tuple[tuple[str, str], ...], shared: Path | None) -> None:
    from hackathon.board.directory import find_shared
    from hackathon.survey.dropbox import drop, published

    box = _box(find_shared(shared, os.environ, Path.cwd()), name)
    frozen = published(box)
    token = _token() if with_token else ""
    if answers:
        values = _given(frozen.survey, answers)
    elif sys.stdin.isatty() and sys.stderr.isatty():
        values = _asked(frozen.survey)
    else:
        raise RequestError(
            "survey.no_terminal",
            "no terminal to ask the questions",
            hint="pass the answers: --set ID=VALUE, once per question",
        )
    drop(box, frozen, values, token)
    click.echo(
        _("your answer is saved; to correct it, answer again before the survey is closed: the newest answer counts"),
        err=True,
    )
    if localized(frozen.survey.thanks):
        click.echo(printable(localized(frozen.survey.thanks)), err=True)


def _box(shared: Path, name: str | None) -> "Box":
    """Return the drop box of a survey, or of the only open one."""
    from hackathon.survey.dropbox import SURVEYS, Box, open_surveys
    from hackathon.survey.storage import survey_name

    if name is None:
        names = open_surveys(shared)
        if len(names) > 1:
            raise RequestError(
                "survey.which", "there are several surveys: {names}", hint="name one of them", names=", ".join(names)
            )
        if not names:
            raise RequestError(
                "survey.not_there",
                "no survey is open in {folder}",
                hint="ask the organisers whether it is open",
                folder=shared,
            )
        name = names[0]
    return Box(shared, shared / SURVEYS / survey_name(name))


def _token() -> str:
    """Return the token from the terminal, or the first line of stdin. Raises RequestError for an impossible token."""
    from hackathon.survey.tokens import TOKEN_LETTERS, plain_token

    # there is no option for the token, because everybody on the machine can read command lines
    if sys.stdin.isatty() and sys.stderr.isatty():
        text = str(click.prompt(_("Your token"), err=True))
    else:
        text = sys.stdin.readline(LONGEST_TOKEN)
    # an answer with a mistyped token would be dropped later without a message to its author
    if len(plain_token(text)) != TOKEN_LETTERS:
        raise RequestError(
            "survey.token_unknown",
            "this token was never issued",
            hint="copy it again from the organisers' message: 16 letters and digits",
        )
    return plain_token(text)


def _given(survey: "Survey", answers: Sequence[tuple[str, str]]) -> "dict[str, Value]":
    from hackathon.survey.values import read_values

    raw: dict[str, list[str]] = {}
    for identifier, text in answers:
        raw.setdefault(identifier, []).append(text)
    values, problems = read_values(survey, raw)
    if problems:
        lines = "\n".join(
            f"  {problem.question}: {problem.text}" if problem.question else f"  {problem.text}" for problem in problems
        )
        raise RequestError(
            "survey.answer_wrong", "the answer was not accepted:\n{problems}", problems=printable(lines, kept="\n")
        )
    return values


def _asked(survey: "Survey") -> "dict[str, Value]":
    """Ask every question, print the answers, and return them once they are confirmed."""
    _say(click.style(printable(localized(survey.title)), bold=True))
    if localized(survey.introduction):
        _say(printable(localized(survey.introduction), kept="\n"))
    from hackathon.survey.frozen import promise

    _say(promise(survey))
    _say(_("Leave a line empty to skip a question; press Ctrl-C to quit without answering."))
    values: dict[str, Value] = {}
    while True:
        for number, question in enumerate(survey.questions, 1):
            _say("")
            _say(click.style(f"{number}/{len(survey.questions)}  {printable(localized(question.text))}", bold=True))
            _ask(survey, question, values)
        if not values:
            _say(_("no question has an answer"))
            raise click.exceptions.Exit(2)
        _say("")
        for question in survey.questions:
            _say(f"  {printable(localized(question.text))}: {_shown(question, values)}")
        if click.confirm(_("Send this?"), default=True, err=True):
            return values
        if not click.confirm(
            _("Go through the questions again? An empty line keeps your answer."), default=True, err=True
        ):
            raise click.exceptions.Exit(0)


def _ask(survey: "Survey", question: "Question", values: "dict[str, Value]") -> None:
    """Ask one question until its answer is valid; an empty answer leaves it out, or keeps the earlier one."""
    from dataclasses import replace

    from hackathon.survey.values import read_values

    for line in _about(question):
        _say(printable(line))
    alone = replace(survey, questions=[question])
    while True:
        texts = _typed(question)
        if not texts and question.id in values:
            return
        raw: Mapping[str, Sequence[str]] = {question.id: _numbered(question, texts)}
        read, problems = read_values(alone, raw)
        wrong: list[ValueProblem] = [problem for problem in problems if problem.question]
        if not wrong:
            values.update(read)
            return
        _say(printable(wrong[0].text))


def _about(question: "Question") -> list[str]:
    lines = [localized(question.help)] if localized(question.help) else []
    if question.kind == "rating":
        lines.append(f"1 = {localized(question.low)}  …  {question.levels} = {localized(question.high)}")
    for number, (value, label) in enumerate(question.options.items(), 1):
        lines.append(f"  {number}  {localized(label, value)}")
    if question.kind == "choices":
        lines.append(_("several: numbers separated by commas, for example 1,3"))
    if localized(question.unit):
        lines.append(f"[{localized(question.unit)}]")
    if question.kind == "text":
        lines.append(_("several lines are allowed; an empty line ends the answer"))
    return lines


def _typed(question: "Question") -> list[str]:
    """Return the input: a line, or for free text all lines up to an empty one."""
    if question.kind != "text":
        text = str(click.prompt(">", default="", show_default=False, prompt_suffix=" ", err=True))
        return [text] if text.strip() else []
    lines: list[str] = []
    while True:
        line = str(click.prompt(">", default="", show_default=False, prompt_suffix=" ", err=True))
        if not line.strip():
            return ["\n".join(lines)] if lines else []
        lines.append(line)


def _numbered(question: "Question", texts: list[str]) -> list[str]:
    """Return options in place of their numbers in the list; a value or label that is such a number has priority."""
    import unicodedata

    if not question.options or not texts:
        return texts
    options = list(question.options)
    words = texts if question.kind == "choice" else texts[0].replace("、", ",").replace(";", ",").split(",")
    plain = [unicodedata.normalize("NFKC", word).strip() for word in words]
    labels = {localized(label) for label in question.options.values()} | set(options)
    if any(not word.isdecimal() or not 1 <= int(word) <= len(options) or word in labels for word in plain if word):
        return texts
    return [options[int(word) - 1] for word in plain if word]


def _shown(question: "Question", values: "Mapping[str, Value]") -> str:
    """Return an answer as it is displayed before it is sent."""
    value = values.get(question.id)
    if value is None:
        return "–"
    if question.kind in ("choice", "choices"):
        chosen = value if isinstance(value, tuple) else (str(value),)
        return printable(", ".join(localized(question.options[option], option) for option in chosen))
    return printable(str(value))


def _say(text: str) -> None:
    click.echo(text, err=True)
