"""One survey of an event: its questionnaire, its tokens and its answers, in a folder of the collecting account.

<event>/surveys/<name>/              mode 0700
  survey.yaml                        what the organisers write
  opened.json, opened.yaml           the questionnaire as it was opened; it never changes once answers came
  tokens/                            tokens.py
  answers/<128 random bits>.json     one confirmed answer each; who gave it and with which token is not in it
  imports/                           importing.py
  closed/                            folding.py: after `close` the only place of answers
<shared>/surveys/<name>/             dropbox.py: what participants read, and the box they write into
"""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hackathon.runs import faults
from hackathon.share.survey.durable import held, names, put, replace_bytes, replace_with
from hackathon.share.survey.frozen import Frozen, freeze, read_frozen, survey_digest, to_json
from hackathon.share.survey.records import Answer, Value
from hackathon.share.survey.tokens import TokenError, Tokens, TokenState, digest, plain_token
from hackathon.share.survey.values import read_stored, to_stored
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import read_json

if TYPE_CHECKING:
    from hackathon.config.event import Event
    from hackathon.config.survey import Survey
    from hackathon.share.survey.gathered import Gathered

SURVEYS, SURVEY_FILE = "surveys", "survey.yaml"
ACCEPT_STEPS = ("after-answer", "after-token")
"""Steps of `accept` at which a test can kill the process: the answer is on the disk; the token is spent, too."""
OPEN_STEPS = ("after-frozen", "after-box", "after-tokens")
"""Steps of `open`: the questionnaire is frozen; people can answer in their accounts; the tokens are kept."""
State = Literal["draft", "open", "closed"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z")


def survey_name(text: str) -> str:
    """Return a survey's name. Raises RequestError for one that can not be a folder's name and part of an address."""
    if not _NAME.match(text):
        raise RequestError("survey.bad_name", name=text)
    return text


def surveys_folder(start: Path) -> Path:
    """Return the folder of the surveys of the event around a folder. Raises RequestError when there is no event."""
    from hackathon.config.load import find_event

    event = find_event(start)
    if event is None:
        raise RequestError("survey.no_event", folder=start)
    return event / SURVEYS


def find_collections(start: Path) -> "list[Collection]":
    """Return the surveys of the event around a folder by name.

    Raises RequestError when there is no event, or its surveys belong to another account.
    """
    folder = surveys_folder(start)
    try:
        return [
            Collection(folder / name)
            for name in names(folder)
            if _NAME.match(name) and (folder / name / SURVEY_FILE).exists()
        ]
    except PermissionError as error:
        raise RequestError("survey.not_yours", folder=folder) from error


def find_collection(name: str | None, start: Path, states: Sequence[State] = ()) -> "Collection":
    """Return a survey of the event around a folder: by name, or the only one, or the only one in one of these states.

    Raises RequestError: no event, no such survey, or several and no name.
    """
    found = {each.name: each for each in find_collections(start)}
    if name is None:
        if len(found) == 1:
            return next(iter(found.values()))
        fitting = [each for each in found.values() if each.state in states]
        if len(fitting) == 1:
            return fitting[0]
        if found:
            raise RequestError("survey.which", names=", ".join(found))
        raise RequestError("survey.none")
    if name in found:
        return found[name]
    from hackathon.config.problems import nearest

    near = nearest(name, found)
    raise (
        RequestError("survey.unknown_near", name=name, near=near)
        if near
        else RequestError("survey.unknown", name=name, known=", ".join(found) or "–")
    )


@dataclass(frozen=True)
class Box:
    """Where participants write answers in their own accounts."""

    shared: Path
    """The event's shared directory."""
    folder: Path
    """<shared>/surveys/<name>."""


class Collection:
    """A survey that is written (draft), collects answers (open), or is over (closed)."""

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
    def frozen(self) -> Frozen | None:
        """The questionnaire as it was opened; None for a draft. Raises RequestError when its file is damaged."""
        path = self.folder / "opened.json"
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        stamp = (found.st_ino, found.st_mtime_ns)
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
        path = self.event_folder / Path(shared).expanduser()
        return Box(path, path / SURVEYS / self.name)

    # opening

    def open(self, tokens: int = 0) -> list[str]:
        """Freeze the questionnaire, make the drop box and return new tokens; again: more tokens.

        Raises ConfigError (survey.yaml is wrong), RequestError (closed; changed after answers came) and
        HackathonError (no permission, no locks).
        """
        from hackathon.share.survey.dropbox import make_box

        survey = self.written()
        frozen = freeze(survey, self.event())
        try:
            self.folder.chmod(0o700)
            for folder in (self.answers_folder, self.imports_folder, self.folder / "locks"):
                folder.mkdir(mode=0o700, exist_ok=True)
            self.tokens.make()
            with self.alone():
                self.refuse_closed()
                kept = read_frozen(self.folder / "opened.json")
                if kept is not None and (kept.source == frozen.source or self.has_answers()):
                    if kept.source != frozen.source:
                        raise RequestError("survey.changed", folder=self.folder, name=self.name)
                    frozen = kept if kept.shared else replace(kept, shared=frozen.shared)
                if frozen is not kept:
                    replace_bytes(self.folder / "opened.yaml", (self.folder / SURVEY_FILE).read_bytes())
                    replace_with(self.folder / "opened.json", to_json(frozen))
                faults.step("after-frozen")
                box = self.box()
                if box is not None:
                    make_box(box, self.name, frozen)
                faults.step("after-box")
                # the last of all: tokens of which nobody was told would count as handed out
                made = self.tokens.issue(tokens)
                faults.step("after-tokens")
        except OSError as error:
            raise HackathonError("survey.can_not_open", name=self.name, what=error) from error
        return made

    def changed(self) -> bool:
        """Return whether survey.yaml says something else than what was opened. Raises ConfigError when it is wrong."""
        frozen = self.frozen
        return frozen is not None and survey_digest(self.written()) != frozen.source

    def has_answers(self) -> bool:
        """Return whether anything came, through any channel."""
        from hackathon.share.survey.dropbox import box_is_empty

        folders = (self.answers_folder, self.imports_folder)
        kept = any(names(folder) for folder in folders)
        box = None if kept else self.box()
        return kept or (box is not None and not box_is_empty(box))

    # answering

    def token_state(self, token: str) -> TokenState:
        """Return whether a token was handed out, and whether it was used; of a closed survey, too."""
        if self.state == "closed":
            kept = self._closed("tokens.json")
            found = digest(token)
            if found not in kept.get("issued", ()):
                return "unknown"
            return "spent" if found in kept.get("spent", ()) else "unused"
        return self.tokens.state(token)

    def accept(self, values: Mapping[str, Value], token: str) -> None:
        """Take an answer that `read_values` has read. When this returns, the answer is on the disk and counts once.

        The answer is on the disk before its token is spent: a crash in between lets one person answer again and loses
        nothing. Raises TokenError (unknown, used), RequestError (not open, closed) and HackathonError (full disk):
        then nothing was taken.
        """
        from hackathon.share.survey.importing import finish_spending

        if self.frozen is None:
            raise RequestError("survey.not_open", name=self.name)
        found = digest(token)
        stored = to_stored(values)
        try:
            with self.together(), held(self.folder / "locks" / found[:2]):
                self.refuse_closed()
                finish_spending(self)
                state = self.tokens.state(token) if plain_token(token) else "unknown"
                if state != "unused":
                    raise TokenError(f"survey.token_{state}")
                if read_stored(self.survey, stored)[1]:
                    # the questionnaire was opened anew since it was shown, or a caller did not read the values
                    raise RequestError("survey.opened_anew", name=self.name)
                name = f"{secrets.token_hex(16)}.json"
                put(self.answers_folder, name, encode_answer(self.digest, stored))
                faults.step("after-answer")
                try:
                    self.tokens.spend([found])
                except OSError:
                    self._take_back(name, found)
                    raise
                faults.step("after-token")
        except OSError as error:
            raise HackathonError("survey.can_not_take", what=error.strerror or error) from error

    def _take_back(self, name: str, token: str) -> None:
        """Remove an answer whose token could not be spent: its respondent is told to try again, and counts once."""
        if not (self.tokens.spent_folder / token).exists():
            (self.answers_folder / name).unlink(missing_ok=True)

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

    # afterwards

    def gathered(self) -> "Gathered":
        """Return all answers with what does not count and what could not be read. Raises RequestError for a draft."""
        from hackathon.share.survey.gathered import gather

        return gather(self)

    def answers(self) -> list[Answer]:
        """Return the answers that count, in no order that says anything. Raises RequestError, HackathonError."""
        if self.state != "closed":
            return self.gathered().answers
        kept = self._closed("answers.json")
        read = [read_stored(self.survey, each) for each in kept["answers"]]
        if any(problems for _, problems in read):
            raise RequestError("survey.damaged_closed", file=self.closed_folder / "answers.json")
        return [Answer(values) for values, _ in read]

    def participation(self) -> tuple[int, int | None]:
        """Return how many answered and how many were asked; None where nobody can tell."""
        if self.state == "closed":
            kept = self._closed("answers.json")
            invited = kept.get("invited")
            return len(kept.get("answers", ())), invited if isinstance(invited, int) else None
        return len(self.answers()), self.invited()

    def invited(self) -> int | None:
        """Return how many were asked: as the questionnaire says, else by its audience from hackathon.yaml."""
        from hackathon.share.survey.gathered import accounts

        survey = self.survey
        if survey.invited is not None:
            return survey.invited
        return len(accounts(self.event(), survey.audience)) or None

    def close(self) -> None:
        """Fold all answers into shuffled files without times, tokens and users; nothing is accepted afterwards.

        Repeatable: after a crash the same call finishes it. Raises RequestError for a draft, HackathonError.
        """
        from hackathon.share.survey.folding import fold

        fold(self)

    def kept(self) -> tuple[int, int, int, list[str]]:
        """Return of a closed survey: tokens issued, tokens used, answers left out, names of files not read."""
        tokens = self._closed("tokens.json")
        left_out = self._closed("left-out.json").get("answers", ())
        unread = names(self.closed_folder / "unread")
        return len(tokens.get("issued", ())), len(tokens.get("spent", ())), len(left_out), unread

    def _closed(self, name: str) -> dict[str, Any]:
        kept = read_json(self.closed_folder / name)
        lists = ("issued", "spent") if name == "tokens.json" else ("answers",)
        if not isinstance(kept, dict) or not all(isinstance(kept.get(each), list) for each in lists):
            raise RequestError("survey.damaged_closed", file=self.closed_folder / name)
        return kept


def encode_answer(survey: str, stored: Mapping[str, Any]) -> bytes:
    """Return an answer to the questionnaire with this digest as the bytes of a file."""
    import json

    value = {"schema_version": 1, "digest": survey, "values": stored}
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()
