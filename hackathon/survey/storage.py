"""The folder of one survey: where its questionnaire, tokens and answers lie, its state, and who may write now.

<event>/surveys/<name>/              mode 0700
  survey.yaml                        what the organisers write
  opened.json, opened.yaml           the questionnaire as it was opened; it never changes once answers came
  tokens/                            tokens.py
  answers/<128 random bits>.json     one confirmed answer each; who gave it and with which token is not in it
  imports/                           importing.py
  closed/                            closing.py: after `close` the only place of answers
<shared>/surveys/<name>/             dropbox.py: what participants read, and the box they write into
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
from hackathon.text.paths import expanded

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.survey import Survey

SURVEY_FILE = "survey.yaml"
SPENDING = ".spending"
"""A file in `imports` while tokens of an import may not be spent yet."""
State = Literal["draft", "open", "closed"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")


def is_name(text: str) -> bool:
    """Return whether a survey can have this name."""
    return _NAME.match(text) is not None


def survey_name(text: str) -> str:
    """Return a survey's name. Raises RequestError for one that cannot be a folder's name and part of an address."""
    if not is_name(text):
        raise RequestError("survey.bad_name", name=text)
    return text


def surveys_folder(start: Path) -> Path:
    """Return the folder of the surveys of the event around a folder. Raises RequestError when there is no event."""
    from hackathon.config.trust import trusted_event_folder

    event = trusted_event_folder(start)
    if event is None:
        raise RequestError("survey.no_event", folder=start)
    return event / SURVEYS


class SurveyFolder:
    """A survey as it lies on the disk, for all that read and change it."""

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
        """Confirmed answers of form and terminal."""
        return self.folder / "answers"

    @property
    def imports_folder(self) -> Path:
        """Answers from files."""
        return self.folder / "imports"

    @property
    def closed_folder(self) -> Path:
        """Everything, once the survey is closed."""
        return self.folder / "closed"

    @property
    def closing(self) -> bool:
        """Whether a closing was begun: nothing is accepted any more, also when it was interrupted."""
        return self.interrupted or self.closed_folder.exists()

    @property
    def interrupted(self) -> bool:
        """Whether a closing is under way, or was killed: `close` finishes it."""
        return (self.folder / "closing").exists()

    @property
    def state(self) -> State:
        """draft, open or closed."""
        if self.closed_folder.exists():
            return "closed"
        return "open" if (self.folder / "opened.json").exists() else "draft"

    @property
    def turn(self) -> int:
        """As which one of its event's surveys a closed one was closed, from 1; 0 for others, and of an older toolkit.

        Times would not do: who sets the clock back would have what is published taken for what was closed later.
        """
        return count_of(mapping_of(known_json(self.closed_folder / "answers.json")).get("turn"))

    def next_turn(self) -> int:
        """Return the turn of the survey of its event that is closed next."""
        beside = self.folder.parent
        return 1 + max((SurveyFolder(beside / name).turn for name in names(beside) if is_name(name)), default=0)

    @property
    def frozen(self) -> Frozen | None:
        """The questionnaire as it was opened; None for a draft. Raises RequestError when its file is damaged."""
        path = self.folder / "opened.json"
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        stamp = (status.st_ino, status.st_mtime_ns)
        # a server lives on while the organisers open a corrected questionnaire, before the first answer
        if self._frozen is None or self._frozen[0] != stamp:
            frozen = read_frozen(path)
            self._frozen = (stamp, frozen) if frozen else None
            return frozen
        return self._frozen[1]

    @property
    def survey(self) -> "Survey":
        """The questionnaire: as opened; of a draft as it is written. Raises ConfigError, RequestError."""
        frozen = self.frozen
        return frozen.survey if frozen else self.written()

    @property
    def digest(self) -> str:
        """What answers name the questionnaire by. Raises RequestError for a draft."""
        frozen = self.frozen
        if frozen is None:
            raise RequestError("survey.not_open", name=self.name)
        return frozen.digest

    def written(self) -> "Survey":
        """Return the questionnaire as survey.yaml has it now. Raises ConfigError."""
        from hackathon.config.load import load_survey

        return load_survey(self.folder / SURVEY_FILE)

    def event(self) -> "Event":
        """Return the event. Raises ConfigError."""
        from hackathon.config.load import load_event

        return load_event(self.event_folder)

    def box(self) -> Box | None:
        """Return where the drop box is, or was when the survey was opened; None without a shared directory."""
        frozen = self.frozen
        shared = (frozen.shared if frozen else "") or self.event().shared
        if not shared:
            return None
        path = self.event_folder / expanded(shared)
        return Box(path, path / SURVEYS / self.name)

    def changed(self) -> bool:
        """Return whether survey.yaml says something else than what was opened. Raises ConfigError when it is wrong."""
        frozen = self.frozen
        return frozen is not None and survey_digest(self.written()) != frozen.source

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keep `close`, `open` and `import` away for a moment, while others may answer, too."""
        with held(self.folder / "locks" / "all", shared=True):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep everything else away: nobody answers meanwhile."""
        with held(self.folder / "locks" / "all"):
            yield

    def refuse_closed(self) -> None:
        """Raise RequestError when nothing is accepted any more."""
        if self.closing:
            raise RequestError("survey.closed" if self.state == "closed" else "survey.closing", name=self.name)

    def invited(self) -> int | None:
        """Return how many were asked: as the questionnaire says, else by its audience from hackathon.yaml."""
        survey = self.survey
        if survey.invited is not None:
            return survey.invited
        return len(accounts(self.event(), survey.audience)) or None

    def finish_spending(self) -> None:
        """Spend the tokens of imports; does nothing unless an import was killed before it came to that.

        The caller keeps imports away meanwhile.
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
    """Return whose answers count: the members of the teams that took part, or the tutors."""
    if audience == "tutors":
        return frozenset({tutor.user for tutor in event.tutors}.union(*(team.tutors for team in event.teams)))
    return frozenset(user for team in event.teams if team.took_part for user in team.accounts)
