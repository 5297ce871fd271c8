"""Check a survey, and count its answers, from the collecting account."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hackathon.access.permissions import open_to_others
from hackathon.survey.collection import Collection
from hackathon.survey.dropbox import Box
from hackathon.survey.gather import Gathered
from hackathon.survey.storage import accounts
from hackathon.text.errors import HackathonError
from hackathon.text.messages import Message
from hackathon.text.told import Sayable

if TYPE_CHECKING:
    from hackathon.config.event import Event


@dataclass(frozen=True)
class SurveyTrouble(Sayable):
    """One problem to solve."""

    level: Literal["error", "warning"]
    id: str
    """Message id; `<id>_hint` is the remedy."""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class SurveyCheck:
    """The state of a survey."""

    name: str
    state: str
    questions: int
    answered: int = 0
    invited: int | None = None
    tokens: int = 0
    spent: int = 0
    gathered: Gathered | None = None
    """For an open survey."""
    left_out: int = 0
    """For a closed survey: answers that did not count."""
    unread: list[str] = field(default_factory=list)
    """Files that could not be read."""
    troubles: list[SurveyTrouble] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether there are no problems."""
        return not any(trouble.level == "error" for trouble in self.troubles)


def look(collection: Collection) -> SurveyCheck:
    """Return the state of a survey. Raises ConfigError if survey.yaml or hackathon.yaml is invalid."""
    survey = collection.survey
    event = collection.event()
    result = SurveyCheck(collection.name, collection.state, len(survey.questions), invited=collection.invited())
    if result.state != "draft" and collection.changed():
        values = {"name": collection.name, "folder": collection.folder}
        if result.state == "closed" or collection.has_answers():
            result.troubles.append(
                SurveyTrouble(
                    "error",
                    Message(
                        "survey.changed",
                        "survey.yaml of {name} was changed after answers had arrived",
                        hint="undo the change: cp {folder}/opened.yaml {folder}/survey.yaml; to change questions, "
                        "create a new survey",
                    ),
                    values,
                )
            )
        else:
            result.troubles.append(
                SurveyTrouble(
                    "warning",
                    Message(
                        "survey.changed_early",
                        "survey.yaml of {name} was changed after opening; there are no answers yet",
                        hint="open it again with `hackathon survey open {name!q}`; offline pages created before can no "
                        "longer be used",
                    ),
                    values,
                )
            )
    if result.state == "draft":
        result.troubles += _draft(collection, event)
    elif result.state == "open":
        _open(collection, event, result)
    else:
        result.answered, result.invited = collection.participation()
        result.tokens, result.spent, result.left_out, result.unread = collection.kept()
        if not result.answered:
            result.troubles.append(
                SurveyTrouble(
                    "warning",
                    Message("survey.no_answers", "there were no answers to {name}"),
                    {"name": collection.name},
                )
            )
    if collection.interrupted:
        result.troubles.append(
            SurveyTrouble(
                "error",
                Message(
                    "survey.closing",
                    "survey {name} is being closed, or closing it was interrupted",
                    hint="finish it: `hackathon survey close {name!q}`",
                ),
                {"name": collection.name},
            )
        )
    status = collection.folder.stat()
    if result.state != "draft" and (open_to_others(status) or status.st_uid != os.geteuid()):
        result.troubles.append(
            SurveyTrouble(
                "error",
                Message("survey.not_private", "{folder} is not private to this account", hint="chmod 700 {folder!q}"),
                {"folder": collection.folder},
            )
        )
    if result.invited is not None and result.answered > result.invited:
        values = {"answered": result.answered, "invited": result.invited}
        result.troubles.append(
            SurveyTrouble(
                "warning",
                Message(
                    "survey.more_than_invited",
                    "{answered} answers from {invited} invited people: somebody answered twice, or is not in "
                    "hackathon.yaml",
                ),
                values,
            )
        )
    return result


def _draft(collection: Collection, event: "Event") -> Iterator[SurveyTrouble]:
    from hackathon.survey.frozen import freeze

    try:
        freeze(collection.survey, event)
    except HackathonError as error:
        yield SurveyTrouble("error", error.id, dict(error.values))
    if not accounts(event, collection.survey.audience) and collection.survey.invited is None:
        yield SurveyTrouble(
            "warning",
            Message("survey.nobody_invited", "hackathon.yaml lists no {audience}, so the response rate is unknown"),
            {"audience": collection.survey.audience},
        )
    if not event.shared:
        yield SurveyTrouble(
            "warning",
            Message(
                "survey.no_box",
                "hackathon.yaml has no `shared` directory: `survey answer` is not available; use the form, files, "
                "or CSV",
            ),
        )
    elif not (box := collection.box()) or not box.shared.is_dir():
        yield SurveyTrouble(
            "error",
            Message(
                "survey.no_shared",
                "the event's shared directory {folder} does not exist",
                hint="create it: `hackathon event init`",
            ),
            {"folder": event.shared},
        )


def _open(collection: Collection, event: "Event", result: SurveyCheck) -> None:
    gathered = collection.gathered()
    result.gathered, result.answered = gathered, len(gathered.answers)
    result.tokens = len(collection.tokens.issued())
    result.spent = len(gathered.spent)
    result.unread = [str(file.path) for file in gathered.unread]
    troubles = result.troubles
    box = collection.box()
    if box is not None:
        troubles += _box(box, event, collection.survey.audience, collection)
    elif not result.tokens:
        troubles.append(
            SurveyTrouble(
                "warning",
                Message(
                    "survey.no_way",
                    "{name} cannot be answered: there are no tokens and no drop box",
                    hint="`hackathon survey open {name!q} --tokens N`, or import a CSV",
                ),
                {"name": collection.name},
            )
        )
    elif result.invited is not None and result.tokens < result.invited:
        values = {"tokens": result.tokens, "invited": result.invited, "name": collection.name}
        troubles.append(
            SurveyTrouble(
                "warning",
                Message(
                    "survey.few_tokens",
                    "{tokens} tokens for {invited} people",
                    hint="create the missing ones with `hackathon survey open {name!q} --tokens {more!q}`",
                ),
                {**values, "more": result.invited - result.tokens},
            )
        )
    for answer in gathered.left_out:
        values = {"account": answer.account, "why": answer.reason}
        troubles.append(
            SurveyTrouble(
                "warning", Message("survey.will_be_left_out", "the answer of {account} does not count: {why}"), values
            )
        )
    for unread in gathered.unread:
        account = f" ({unread.account})" if unread.account else ""
        values = {"file": f"{unread.path}{account}", "why": unread.reason}
        troubles.append(
            SurveyTrouble(
                "warning", Message("survey.unread", "{file} cannot be read and does not count: {why}"), values
            )
        )


def _box(box: Box, event: "Event", audience: str, collection: Collection) -> Iterator[SurveyTrouble]:
    """Yield the obstacles between participants and the drop box."""
    from hackathon.access.permissions import account, readable
    from hackathon.survey.dropbox import BOX, BOX_MODE, PUBLISHED, published

    path = box.folder / BOX
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != BOX_MODE and not collection.closing:
            yield SurveyTrouble(
                "error",
                Message(
                    "survey.box_mode",
                    "the mode of {folder} is not 1733",
                    hint="run chmod 1733 {folder!q}; if the file system refuses, use the form and tokens instead",
                ),
                {"folder": path},
            )
    except OSError:
        yield SurveyTrouble(
            "error",
            Message(
                "survey.box_gone",
                "the drop box {folder} does not exist",
                hint="create it again with `hackathon survey open {name!q}`",
            ),
            {"folder": path, "name": collection.name},
        )
        return
    try:
        published(box)
    except HackathonError as error:
        yield SurveyTrouble("error", error.id, dict(error.values))
        return
    closed: dict[Path, list[str]] = {}
    for user in sorted(accounts(event, audience)):
        user_account = account(user)
        if user_account is None:
            continue  # no account of this machine: `event check` reports it
        try:
            obstacle = readable(box.folder / PUBLISHED, user_account.uid, user_account.groups)
        except OSError:
            obstacle = box.folder
        if obstacle is not None:
            closed.setdefault(obstacle, []).append(user)
    for obstacle, users in closed.items():
        yield SurveyTrouble(
            "error",
            Message(
                "survey.box_closed_to",
                "{users} cannot read {folder}",
                hint="run chmod o+rx {folder!q}, or give their group access; until then, they cannot use `survey "
                "answer`",
            ),
            {"folder": obstacle, "users": ", ".join(users)},
        )
