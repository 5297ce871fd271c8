"""Free answers for a review before publication: `texts.yaml`, written once, edited by hand, read back."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.problems import MAXIMUM_BYTES, ConfigError, Problem, shown
from hackathon.config.survey import Survey
from hackathon.config.yaml import parse_yaml, scalar
from hackathon.survey.durable import put
from hackathon.survey.records import Answer, Sentence
from hackathon.survey.sentences import mentions, sentences, tags, words_of
from hackathon.text.files import open_regular
from hackathon.text.messages import LANGUAGES, N_, Message, _, speaking
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.event import Event

_MENTION_TEXTS = {
    "name": N_("name {word}"),
    "account": N_("account {word}"),
    "team": N_("team {word}"),
    "telephone": N_("telephone number {word}"),
    "mail": N_("e-mail address {word}"),
}

TEXTS_FILE = "texts.yaml"
LARGEST = 16 * MAXIMUM_BYTES


@dataclass(frozen=True)
class Texts:
    """The content of texts.yaml."""

    reviewed: bool
    sentences: Mapping[str, tuple[Sentence, ...]]
    """Question's id → its sentences in the order of the file."""

    @property
    def released(self) -> Mapping[str, tuple[Sentence, ...]] | None:
        """The sentences; None before the review."""
        return self.sentences if self.reviewed else None


def cut(survey: Survey, answers: Sequence[Answer]) -> dict[str, list[Sentence]]:
    """Return all sentences of free answers by question, tagged, in a random order."""
    words = words_of(survey.tags)
    by_question = {}
    for question in survey.questions:
        if question.kind == "text":
            values = [answer.values.get(question.id) for answer in answers]
            texts = [sentence for value in values if isinstance(value, str) for sentence in sentences(value)]
            # each question separately, so that sentences of one author cannot be matched, nor the order of answers
            secrets.SystemRandom().shuffle(texts)
            by_question[question.id] = [Sentence(sentence, tags(sentence, words)) for sentence in texts]
    return by_question


def names_of(event: "Event") -> dict[str, list[str]]:
    """Return kind → names that identify a person in an answer: of all members, tutors and teams of an event."""
    members = [member for team in event.teams for member in team.members]
    return {
        "name": [
            name for name in (*(person.name for person in members), *(person.name for person in event.tutors)) if name
        ],
        "account": [
            user for user in (*(person.user for person in members), *(person.user for person in event.tutors)) if user
        ],
        "team": [team.name for team in event.teams],
    }


def told(matches: Sequence[tuple[str, str]]) -> str:
    """Return the names that a sentence mentions, in the current language."""
    return ", ".join(_(_MENTION_TEXTS[kind], word=word) for kind, word in matches)


def write_texts(
    folder: Path, survey: Survey, answers: Sequence[Answer], names: Mapping[str, Sequence[str]] | None = None
) -> Path | None:
    """Write texts.yaml of a closed survey for review; return None if it exists, or if there are no texts.

    `names` (kind → names): sentences with one of them, a telephone number or an address are marked. An existing file is
    not changed, because it may be edited. Raises OSError.
    """
    by_question = {question: some for question, some in cut(survey, answers).items() if some}
    path = folder / TEXTS_FILE
    if not by_question or path.exists():
        return None
    try:
        put(folder, TEXTS_FILE, _yaml(survey, by_question, names or {}).encode())
        path.chmod(0o600)
    except FileExistsError:
        return None
    return path


def _yaml(survey: Survey, by_question: Mapping[str, Sequence[Sentence]], names: Mapping[str, Sequence[str]]) -> str:
    lines = []
    for code in LANGUAGES:
        with speaking(code):
            header = _(
                "Free answers, cut into sentences, in random order. Read them before they go out:\n"
                "- delete sentences, or words in them, by which somebody can be recognised or hurt;\n"
                "- correct the tags ({tags}); a sentence may have several, or none;\n"
                "- look twice at what is marked with `check:`;\n"
                "- then write `reviewed: true`. Nothing of this file is published before.\n"
                "The file is written once; what you change stays.",
                tags=", ".join(words_of(survey.tags)),
            )
        lines += [f"# {line}".rstrip() for line in (*header.splitlines(), "")]
    lines += ["", "reviewed: false", "questions:"]
    for question, some in by_question.items():
        lines.append(f"  {_quoted(question)}:")
        for sentence in some:
            mentioned = mentions(sentence.text, names)
            if mentioned:
                text = _("check: {what}", what=told(mentioned))
                lines.append(f"  # {printable(text)}")
            lines += [f"  - text: {_quoted(sentence.text)}", f"    tags: [{', '.join(map(_quoted, sentence.tags))}]"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text in YAML's double quotes on one line; invisible characters are escaped."""
    if text.isascii() and text.isidentifier() and scalar(text) == text:
        return text
    escaped = json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in escaped)


def read_texts(folder: Path, survey: Survey) -> Texts | None:
    """Return the content of a survey's texts.yaml, None if there is none.

    A sentence may be plain text or have `text` and `tags`; one without text is left out. Raises ConfigError with every
    problem and its line.
    """
    path = folder / TEXTS_FILE
    raw = _read(path)
    if raw is None:
        return None
    document = parse_yaml(raw, path)
    problems: list[Problem] = []

    def wrong(key: tuple[str | int, ...], identifier: str, **values: Any) -> None:
        problems.append(Problem(identifier, path, document.line(key), key, values))

    value = document.value if isinstance(document.value, dict) else {}
    if not isinstance(document.value, dict):
        wrong((), Message("survey_summary.texts_no_mapping", "must be `key: value` lines"))
    for key in value:
        if key not in ("reviewed", "questions"):
            wrong(
                (key,),
                Message(
                    "survey_summary.texts_unknown_key",
                    "unknown key {word}; sentences have `text` and `tags`, the file has `reviewed` and `questions`",
                ),
                word=shown(key),
            )
    reviewed = value.get("reviewed", False)
    if not isinstance(reviewed, bool):
        wrong(
            ("reviewed",),
            Message("survey_summary.texts_reviewed", "{value} is neither true nor false"),
            value=shown(reviewed),
        )
    identifiers = [question.id for question in survey.questions if question.kind == "text"]
    by_question: dict[str, tuple[Sentence, ...]] = {}
    questions = value.get("questions") or {}
    if not isinstance(questions, dict):
        wrong(("questions",), Message("survey_summary.texts_no_mapping", "must be `key: value` lines"))
        questions = {}
    for question, some in questions.items():
        if question not in identifiers:
            wrong(
                ("questions", question),
                Message(
                    "survey_summary.texts_no_question",
                    "the questionnaire has no free-text question {id}; it has: {known}",
                ),
                id=shown(question),
                known=", ".join(identifiers) or "–",
            )
        elif not isinstance(some, list | None):
            wrong(
                ("questions", question),
                Message("survey_summary.texts_no_list", "must be a list of sentences, each line starting with `- `"),
            )
        else:
            read = [_sentence(entry, ("questions", question, number), wrong) for number, entry in enumerate(some or ())]
            by_question[question] = tuple(sentence for sentence in read if sentence is not None)
    if problems:
        raise ConfigError(problems)
    return Texts(bool(reviewed), by_question)


def _sentence(value: Any, key: tuple[str | int, ...], wrong: Any) -> Sentence | None:
    """Return a sentence of the file, None for one without text and for an invalid one, which is noted."""
    if not isinstance(value, dict):
        value = {"text": value}
    text, marks = value.get("text"), value.get("tags") or []
    for name in value:
        if name not in ("text", "tags"):
            wrong(
                (*key, name),
                Message(
                    "survey_summary.texts_unknown_key",
                    "unknown key {word}; sentences have `text` and `tags`, the file has `reviewed` and `questions`",
                ),
                word=shown(name),
            )
    if isinstance(marks, str):
        marks = [marks]
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        wrong(
            (*key, "tags"),
            Message("survey_summary.texts_tags", "{value} is not a list of tags; write for example [thanks, request]"),
            value=shown(marks),
        )
        marks = []
    if isinstance(text, list | dict):
        wrong(
            (*key, "text"),
            Message("survey_summary.texts_text", "{value} is not text; put the sentence in quotes"),
            value=shown(text),
        )
        return None
    # YAML reads `- 42` as a number, but its author meant a sentence
    plain = "" if text is None else str(text).strip()
    return Sentence(plain, tuple(dict.fromkeys(mark.strip() for mark in marks if mark.strip()))) if plain else None


def _read(path: Path) -> bytes | None:
    try:
        with open_regular(path) as stream:
            raw = stream.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            [
                Problem(
                    Message("config.file_unreadable", "the file cannot be read: {reason}"),
                    path,
                    values={"reason": error.strerror or str(error)},
                )
            ]
        ) from None
    if len(raw) > LARGEST:
        raise ConfigError(
            [
                Problem(
                    Message("config.file_too_large", "the file is larger than {limit}"),
                    path,
                    values={"limit": f"{LARGEST >> 20} MiB"},
                )
            ]
        )
    return raw
