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
            result.troubles.append(SurveyTrouble("error", "survey.changed", values))
        else:
            result.troubles.append(SurveyTrouble("warning", "survey.changed_early", values))
    if result.state == "draft":
        result.troubles += _draft(collection, event)
    elif result.state == "open":
        _open(collection, event, result)
    else:
        result.answered, result.invited = collection.participation()
        result.tokens, result.spent, result.left_out, result.unread = collection.kept()
        if not result.answered:
            result.troubles.append(SurveyTrouble("warning", "survey.no_answers", {"name": collection.name}))
    if collection.interrupted:
        result.troubles.append(SurveyTrouble("error", "survey.closing", {"name": collection.name}))
    status = collection.folder.stat()
    if result.state != "draft" and (open_to_others(status) or status.st_uid != os.geteuid()):
        result.troubles.append(SurveyTrouble("error", "survey.not_private", {"folder": collection.folder}))
    if result.invited is not None and result.answered > result.invited:
        values = {"answered": result.answered, "invited": result.invited}
        result.troubles.append(SurveyTrouble("warning", "survey.more_than_invited", values))
    return result


def _draft(collection: Collection, event: "Event") -> Iterator[SurveyTrouble]:
    from hackathon.survey.frozen import freeze

    try:
        freeze(collection.survey, event)
    except HackathonError as error:
        yield SurveyTrouble("error", error.id, dict(error.values))
    if not accounts(event, collection.survey.audience) and collection.survey.invited is None:
        yield SurveyTrouble("warning", "survey.nobody_invited", {"audience": collection.survey.audience})
    if not event.shared:
        yield SurveyTrouble("warning", "survey.no_box")
    elif not (box := collection.box()) or not box.shared.is_dir():
        yield SurveyTrouble("error", "survey.no_shared", {"folder": event.shared})


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
        troubles.append(SurveyTrouble("warning", "survey.no_way", {"name": collection.name}))
    elif result.invited is not None and result.tokens < result.invited:
        values = {"tokens": result.tokens, "invited": result.invited, "name": collection.name}
        troubles.append(
            SurveyTrouble("warning", "survey.few_tokens", {**values, "more": result.invited - result.tokens})
        )
    for answer in gathered.left_out:
        values = {"account": answer.account, "why": answer.reason}
        troubles.append(SurveyTrouble("warning", "survey.will_be_left_out", values))
    for unread in gathered.unread:
        account = f" ({unread.account})" if unread.account else ""
        values = {"file": f"{unread.path}{account}", "why": unread.reason}
        troubles.append(SurveyTrouble("warning", "survey.unread", values))


def _box(box: Box, event: "Event", audience: str, collection: Collection) -> Iterator[SurveyTrouble]:
    """Yield the obstacles between participants and the drop box."""
    from hackathon.access.permissions import account, readable
    from hackathon.survey.dropbox import BOX, BOX_MODE, PUBLISHED, published

    path = box.folder / BOX
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != BOX_MODE and not collection.closing:
            yield SurveyTrouble("error", "survey.box_mode", {"folder": path})
    except OSError:
        yield SurveyTrouble("error", "survey.box_gone", {"folder": path, "name": collection.name})
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
        yield SurveyTrouble("error", "survey.box_closed_to", {"folder": obstacle, "users": ", ".join(users)})
