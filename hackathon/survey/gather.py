"""Gather the answers to an open survey from all channels: those that count, those that do not, and unreadable files."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hackathon.survey.dropbox import BOX, NO_ANSWER, Dropped, read_box
from hackathon.survey.durable import names
from hackathon.survey.records import Answer, Value
from hackathon.survey.storage import SurveyFolder, accounts
from hackathon.survey.values import read_stored
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import open_regular
from hackathon.text.messages import Message, _

LARGEST = 64 << 20
"""Bytes of a file of answers; an import that would become larger is refused."""


@dataclass(frozen=True)
class Unread:
    """A file of answers that could not be read; it is not deleted."""

    path: Path
    why: str
    """A message id."""
    raw: bytes = b""
    account: str = ""
    """For a file in the drop box: its owner."""

    @property
    def reason(self) -> str:
        """The reason, in the current language."""
        return _(self.why)


@dataclass(frozen=True)
class LeftOut:
    """A readable answer in the drop box that does not count."""

    account: str
    why: str
    """A message id: no member's, token unknown, token used."""
    values: Mapping[str, Value]

    @property
    def reason(self) -> str:
        """The reason, in the current language."""
        return _(self.why)


@dataclass
class Gathered:
    """The answers of all channels."""

    answers: list[Answer] = field(default_factory=list)
    """Answers that count, shuffled."""
    spent: set[str] = field(default_factory=set)
    """Digests of their tokens."""
    by_channel: dict[str, int] = field(default_factory=dict)
    """form, import, box → answers that count."""
    unread: list[Unread] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    """Folder → names in it when it was listed; other names were not read."""
    replaced: int = 0
    """Answers in the drop box that a newer one of the same account replaces."""


def gather(collection: SurveyFolder) -> Gathered:
    """Return all answers to a survey that was opened and is not closed.

    Raises RequestError for a draft, HackathonError if some file is temporarily unreadable, because such an answer is
    neither missing nor invalid.
    """
    try:
        return _gathered(collection)
    except OSError as error:
        file = error.filename or collection.folder
        raise HackathonError(
            "survey.can_not_read", "{file} cannot be read: {what}", file=file, what=error.strerror or error
        ) from error


def _gathered(collection: SurveyFolder) -> Gathered:
    frozen = collection.frozen
    if frozen is None:
        raise RequestError(
            "survey.not_open",
            "survey {name} is not open yet",
            hint="open it: `hackathon survey open {name!q}`",
            name=collection.name,
        )
    result = Gathered(spent=collection.tokens.spent())
    for channel, folder in (("form", collection.answers_folder), ("import", collection.imports_folder)):
        before = len(result.answers)
        result.files[str(folder)] = names(folder)
        for name in result.files[str(folder)]:
            _take(folder / name, frozen.survey, frozen.digest, result)
        result.by_channel[channel] = len(result.answers) - before
    before = len(result.answers)
    box = collection.box()
    if box is not None:
        dropped = read_box(box, collection.name, frozen)
        result.files[str(box.folder / BOX)] = dropped.names
        result.unread += [
            Unread(box.folder / BOX / file.name, file.why, file.raw, file.account) for file in dropped.bad
        ]
        _take_box(dropped.newest, accounts(collection.event(), frozen.survey.audience), collection, result)
        result.replaced = dropped.replaced
    result.by_channel["box"] = len(result.answers) - before
    random.SystemRandom().shuffle(result.answers)
    return result


def _take(path: Path, survey: Any, digest: str, result: Gathered) -> None:
    """Add the answers in one file of the collecting account: one of the form, or many of an import. Raises OSError."""
    raw = b""
    try:
        with open_regular(path) as stream:
            raw = stream.read(LARGEST + 1)
        value = json.loads(raw.decode()) if len(raw) <= LARGEST else None
    except OSError as error:
        if error.errno not in NO_ANSWER:
            raise
        value = None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("digest") != digest:
        result.unread.append(
            Unread(path, Message("survey.unread_garbage", "not an answer to this survey, or an incomplete one"), raw)
        )
        return
    several = value.get("answers")
    for stored in several if isinstance(several, list) else [value.get("values")]:
        values, problems = read_stored(survey, stored)
        if problems:
            result.unread.append(
                Unread(path, Message("survey.unread_values", "a value does not match its question"), raw)
            )
        else:
            result.answers.append(Answer(values))
    tokens = value.get("tokens")
    if isinstance(tokens, list):
        result.spent.update(token for token in tokens if isinstance(token, str))


def _take_box(newest: list[Dropped], members: frozenset[str], collection: SurveyFolder, result: Gathered) -> None:
    """Add the newest answer of each account of the audience.

    A token counts once, and the form's answer has priority.
    """
    issued = collection.tokens.issued()
    claimed: set[str] = set()
    for answer in sorted(newest, key=lambda dropped: dropped.first):
        why = ""
        if answer.account not in members:
            why = Message("survey.left_account", "the account is not in hackathon.yaml")
        elif answer.token and answer.token not in issued:
            why = Message("survey.left_token_unknown", "the token was never issued")
        elif answer.token and (answer.token in result.spent or answer.token in claimed):
            why = Message("survey.left_token_spent", "the token was already used")
        if why:
            result.left_out.append(LeftOut(answer.account, why, answer.values))
            continue
        if answer.token:
            claimed.add(answer.token)
        result.answers.append(Answer(answer.values))
    result.spent |= claimed
