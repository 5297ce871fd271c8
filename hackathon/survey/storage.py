"""The folder of one survey: questionnaire, tokens, answers, state, and locks.

<event>/surveys/<name>/              mode 0700
  survey.yaml                        written by the organisers
  opened.json, opened.yaml           the questionnaire as it was opened; unchanged from the first answer on
  tokens/                            tokens.py
  answers/<128 random bits>.json     one confirmed answer each, without its author and token
  imports/                           importing.py
  closed/                            closing.py: after `close` the only copy of the answers
<shared>/surveys/<name>/             dropbox.py: the participants' questionnaire and the box for their answers
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hackathon.survey.dropbox import SURVEYS, Box
from hackathon.survey.durable import held, names
from hackathon.survey.frozen import Frozen, read_frozen, survey_digest
from hackathon.survey.tokens import Tokens
from hackathon.text.errors import RequestError
from hackathon.text.files import known_json
from hackathon.text.json_fields import count_of, mapping_of
from hackathon.text.messages import Message
from hackathon.text.paths import expanded

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.survey import Survey

SURVEY_FILE = "survey.yaml"
SPENDING = ".spending"
"""A file in `imports` that exists while tokens of an import may not be spent yet."""
State = Literal["draft", "open", "closed"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")


def is_name(text: str) -> bool:
    """Return whether a survey can have this name."""
    return _NAME.match(text) is not None


def survey_name(text: str) -> str:
    """Return a survey's name. Raises RequestError unless it can be a folder's name and part of an address."""
    if not is_name(text):
        raise RequestError(
            "survey.bad_name",
            "{name} is not a valid name for a survey: letters, digits, - and _, at most 40",
            name=text,
        )
    return text


def surveys_folder(start: Path) -> Path:
    """Return the folder of the surveys of the event around a folder. Raises RequestError if there is no event."""
    from hackathon.config.trust import trusted_event_folder

    event = trusted_event_folder(start)
    if event is None:
        raise RequestError(
            "survey.no_event",
            "{folder} is not in an event",
            hint="go to the folder of hackathon.yaml, or create an event with `hackathon event init`",
            folder=start,
        )
    return event / SURVEYS


class SurveyFolder:
    """The files of a survey, for all code that reads and changes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.tokens = Tokens(folder / "tokens")
        self._frozen: tuple[tuple[int, int], Frozen] | None = None

    @property
    def event_folder(self) -> Path:
        """The folder of hackathon.yaml."""
        return self.folder.parent.parent

    @property
    def answers_folder(self) -> Path:
        """The folder of confirmed answers of form and terminal."""
        return self.folder / "answers"

    @property
    def imports_folder(self) -> Path:
        """The folder of imported answers."""
        return self.folder / "imports"

    @property
    def closed_folder(self) -> Path:
        """The folder with all answers of a closed survey."""
        return self.folder / "closed"

    @property
    def closing(self) -> bool:
        """Whether a closing was begun, even if it was interrupted; later answers are refused."""
        return self.interrupted or self.closed_folder.exists()

    @property
    def interrupted(self) -> bool:
        """Whether a closing is in progress, or was killed; `close` finishes it."""
        return (self.folder / "closing").exists()

    @property
    def state(self) -> State:
        """draft, open or closed."""
        if self.closed_folder.exists():
            return "closed"
        return "open" if (self.folder / "opened.json").exists() else "draft"

    @property
    def turn(self) -> int:
        """The position of a closed survey in the order of closing, from 1; 0 for others.

        Surveys of an older toolkit have 0, too. Times would not work: after the clock is set back, a published survey
        would seem to be closed later.
        """
        return count_of(mapping_of(known_json(self.closed_folder / "answers.json")).get("turn"))

    def next_turn(self) -> int:
        """Return the turn of the event's survey that is closed next."""
        beside = self.folder.parent
        return 1 + max((SurveyFolder(beside / name).turn for name in names(beside) if is_name(name)), default=0)

    @property
    def frozen(self) -> Frozen | None:
        """The questionnaire as it was opened; None for a draft. Raises RequestError if its file is damaged."""
        path = self.folder / "opened.json"
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        stamp = (status.st_ino, status.st_mtime_ns)
        # a server keeps running while the organisers open a corrected questionnaire, before the first answer
        if self._frozen is None or self._frozen[0] != stamp:
            frozen = read_frozen(path)
            self._frozen = (stamp, frozen) if frozen else None
            return frozen
        return self._frozen[1]

    @property
    def survey(self) -> "Survey":
        """The questionnaire as it was opened; for a draft, survey.yaml. Raises ConfigError, RequestError."""
        frozen = self.frozen
        return frozen.survey if frozen else self.written()

    @property
    def digest(self) -> str:
        """The digest by which answers identify the questionnaire. Raises RequestError for a draft."""
        frozen = self.frozen
        if frozen is None:
            raise RequestError(
                "survey.not_open",
                "survey {name} is not open yet",
                hint="open it: `hackathon survey open {name!q}`",
                name=self.name,
            )
        return frozen.digest

    def written(self) -> "Survey":
        """Return the questionnaire in survey.yaml now. Raises ConfigError."""
        from hackathon.config.load import load_survey

        return load_survey(self.folder / SURVEY_FILE)

    def event(self) -> "Event":
        """Return the event. Raises ConfigError."""
        from hackathon.config.load import load_event

        return load_event(self.event_folder)

    def box(self) -> Box | None:
        """Return the drop box, at the path from when the survey was opened; None without a shared directory."""
        frozen = self.frozen
        shared = (frozen.shared if frozen else "") or self.event().shared
        if not shared:
            return None
        path = self.event_folder / expanded(shared)
        return Box(path, path / SURVEYS / self.name)

    def changed(self) -> bool:
        """Return whether survey.yaml differs from the opened questionnaire. Raises ConfigError if it is invalid."""
        frozen = self.frozen
        return frozen is not None and survey_digest(self.written()) != frozen.source

    @contextmanager
    def together(self) -> Iterator[None]:
        """Exclude `close`, `open` and `import` in the block; others may answer meanwhile."""
        with held(self.folder / "locks" / "all", shared=True):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Exclude everything else in the block; nobody can answer meanwhile."""
        with held(self.folder / "locks" / "all"):
            yield

    def refuse_closed(self) -> None:
        """Raise RequestError if answers are no longer accepted."""
        if self.closing:
            raise RequestError(
                Message("survey.closed", "survey {name} is closed")
                if self.state == "closed"
                else Message(
                    "survey.closing",
                    "survey {name} is being closed, or closing it was interrupted",
                    hint="finish it: `hackathon survey close {name!q}`",
                ),
                name=self.name,
            )

    def invited(self) -> int | None:
        """Return how many people were invited, by the questionnaire, else by its audience in hackathon.yaml."""
        survey = self.survey
        if survey.invited is not None:
            return survey.invited
        return len(accounts(self.event(), survey.audience)) or None

    def finish_spending(self) -> None:
        """Spend the tokens of imports; does nothing unless an import was killed before that.

        The caller excludes imports meanwhile.
        """
        marker = self.imports_folder / SPENDING
        if not marker.exists():
            return
        for name in names(self.imports_folder):
            record = known_json(self.imports_folder / name)
            if isinstance(record, dict):
                self.tokens.spend(record.get("tokens", ()))
        marker.unlink(missing_ok=True)


def accounts(event: "Event", audience: str) -> frozenset[str]:
    """Return the accounts whose answers count: the members of the teams that took part, or the tutors."""
    if audience == "tutors":
        return frozenset({tutor.user for tutor in event.tutors}.union(*(team.tutors for team in event.teams)))
    return frozenset(user for team in event.teams if team.took_part for user in team.accounts)
