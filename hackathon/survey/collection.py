"""One survey of an event: open it, accept answers, read them and close it."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hackathon.survey.closing import close
from hackathon.survey.dropbox import box_is_empty, make_box
from hackathon.survey.durable import held, names, put, replace_bytes, replace_with
from hackathon.survey.frozen import SCHEMA_VERSION, freeze, read_frozen, to_json
from hackathon.survey.gather import Gathered, gather
from hackathon.survey.records import Answer, Value
from hackathon.survey.storage import SURVEY_FILE, State, SurveyFolder, is_name, surveys_folder
from hackathon.survey.tokens import TokenError, TokenState, digest, plain_token
from hackathon.survey.values import read_stored, to_stored
from hackathon.text import kill_points as faults
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import Message
from hackathon.text.numbers import integer

_TOKEN_TEXTS = {
    "ask": Message("survey.token_ask", "Your token"),
    "unknown": Message(
        "survey.token_unknown",
        "this token was never issued",
        hint="copy it again from the organisers' message: 16 letters and digits",
    ),
    "spent": Message("survey.token_spent", "this token was already used, and its answer is counted"),
}

ACCEPT_STEPS = ("after-answer", "after-token")
"""Steps of `accept` at which a test can kill the process: the answer is on the disk; the token is also spent."""
OPEN_STEPS = ("after-frozen", "after-box", "after-tokens")
"""Steps of `open`: the questionnaire is frozen; people can answer in their accounts; the tokens are stored."""


def find_collections(start: Path) -> "list[Collection]":
    """Return the surveys of the event around a folder by name.

    Raises RequestError if there is no event, or if its surveys belong to another account.
    """
    folder = surveys_folder(start)
    try:
        return [
            Collection(folder / name)
            for name in names(folder)
            if is_name(name) and (folder / name / SURVEY_FILE).exists()
        ]
    except PermissionError as error:
        raise RequestError(
            "survey.not_yours",
            "only the organisers can access the surveys in {folder}",
            hint="to answer: `hackathon survey answer`",
            folder=folder,
        ) from error


def find_collection(name: str | None, start: Path, states: Sequence[State] = ()) -> "Collection":
    """Return a survey of the event around a folder: by name, or the only one, or the only one in one of these states.

    Raises RequestError: no event, no such survey, or several and no name.
    """
    surveys = {survey.name: survey for survey in find_collections(start)}
    if name is None:
        if len(surveys) == 1:
            return next(iter(surveys.values()))
        fitting = [survey for survey in surveys.values() if survey.state in states]
        if len(fitting) == 1:
            return fitting[0]
        if surveys:
            raise RequestError(
                "survey.which", "there are several surveys: {names}", hint="name one of them", names=", ".join(surveys)
            )
        raise RequestError(
            "survey.none", "the event has no surveys yet", hint="create one: `hackathon survey new NAME`"
        )
    if name in surveys:
        return surveys[name]
    from hackathon.config.problems import nearest

    near = nearest(name, surveys)
    raise (
        RequestError("survey.unknown_near", "there is no survey {name}; did you mean `{near}`?", name=name, near=near)
        if near
        else RequestError(
            "survey.unknown",
            "there is no survey {name}; there are: {known}",
            name=name,
            known=", ".join(surveys) or "–",
        )
    )


class Collection(SurveyFolder):
    """A survey that is a draft, collects answers (open), or is closed."""

    # opening

    def open(self, tokens: int = 0) -> list[str]:
        """Freeze the questionnaire, create the drop box and return new tokens; called again, it adds tokens.

        Raises ConfigError (survey.yaml is invalid), RequestError (closed; changed after the first answer) and
        HackathonError (no permission, no locks).
        """
        survey = self.written()
        frozen = freeze(survey, self.event())
        try:
            self.folder.chmod(0o700)
            for folder in (self.answers_folder, self.imports_folder, self.folder / "locks"):
                folder.mkdir(mode=0o700, exist_ok=True)
            self.tokens.make()
            with self.alone():
                self.refuse_closed()
                opened = read_frozen(self.folder / "opened.json")
                if opened is not None and (opened.source == frozen.source or self.has_answers()):
                    if opened.source != frozen.source:
                        raise RequestError(
                            "survey.changed",
                            "survey.yaml of {name} was changed after answers had arrived",
                            hint="undo the change: cp {folder}/opened.yaml {folder}/survey.yaml; to change "
                            "questions, create a new survey",
                            folder=self.folder,
                            name=self.name,
                        )
                    frozen = opened if opened.shared else replace(opened, shared=frozen.shared)
                if frozen is not opened:
                    replace_bytes(self.folder / "opened.yaml", (self.folder / SURVEY_FILE).read_bytes())
                    replace_with(self.folder / "opened.json", to_json(frozen))
                faults.step("after-frozen")
                box = self.box()
                if box is not None:
                    make_box(box, self.name, frozen)
                faults.step("after-box")
                # last, because tokens count as issued even if an error keeps the caller from getting them
                issued = self.tokens.issue(tokens)
                faults.step("after-tokens")
        except OSError as error:
            raise HackathonError(
                "survey.can_not_open", "cannot open survey {name}: {what}", name=self.name, what=error
            ) from error
        return issued

    def has_answers(self) -> bool:
        """Return whether any answer came, through any channel."""
        folders = (self.answers_folder, self.imports_folder)
        stored = any(names(folder) for folder in folders)
        box = None if stored else self.box()
        return stored or (box is not None and not box_is_empty(box))

    # answering

    def token_state(self, token: str) -> TokenState:
        """Return whether a token was issued, and whether it was used; for a closed survey, too."""
        if self.state == "closed":
            record = self._closed("tokens.json")
            token_digest = digest(token)
            if token_digest not in record.get("issued", ()):
                return "unknown"
            return "spent" if token_digest in record.get("spent", ()) else "unused"
        return self.tokens.state(token)

    def accept(self, values: Mapping[str, Value], token: str) -> None:
        """Accept an answer from `read_values`. On return, the answer is on the disk and counts once.

        The answer is on the disk before its token is spent: a crash between the two lets one person answer again and
        loses nothing. Raises TokenError (unknown, used), RequestError (not open, closed) and HackathonError (full
        disk); the answer is not stored then.
        """
        if self.frozen is None:
            raise RequestError(
                "survey.not_open",
                "survey {name} is not open yet",
                hint="open it: `hackathon survey open {name!q}`",
                name=self.name,
            )
        token_digest = digest(token)
        stored = to_stored(values)
        try:
            with self.together(), held(self.folder / "locks" / token_digest[:2]):
                self.refuse_closed()
                self.finish_spending()
                state = self.tokens.state(token) if plain_token(token) else "unknown"
                if state != "unused":
                    raise TokenError(_TOKEN_TEXTS[state])
                if read_stored(self.survey, stored)[1]:
                    # the questionnaire was opened again since it was displayed, or the caller did not read the values
                    raise RequestError(
                        "survey.opened_anew",
                        "the questions of {name} were changed since they were shown",
                        hint="nothing was saved; load them again",
                        name=self.name,
                    )
                name = f"{secrets.token_hex(16)}.json"
                put(self.answers_folder, name, encode_answer(self.digest, stored))
                faults.step("after-answer")
                try:
                    self.tokens.spend([token_digest])
                except OSError:
                    self._take_back(name, token_digest)
                    raise
                faults.step("after-token")
        except OSError as error:
            raise HackathonError(
                "survey.can_not_take",
                "could not save the answer: {what}",
                hint="nothing was saved; try again in a moment",
                what=error.strerror or error,
            ) from error

    def _take_back(self, name: str, token: str) -> None:
        """Remove an answer whose token could not be spent; its respondent tries again, and must count once."""
        if not (self.tokens.spent_folder / token).exists():
            (self.answers_folder / name).unlink(missing_ok=True)

    # reading and closing

    def gathered(self) -> Gathered:
        """Return all answers, those that do not count, and unreadable files. Raises RequestError for a draft."""
        return gather(self)

    def answers(self) -> list[Answer]:
        """Return the answers that count, in an order without meaning. Raises RequestError, HackathonError."""
        if self.state != "closed":
            return self.gathered().answers
        record = self._closed("answers.json")
        read = [read_stored(self.survey, values) for values in record["answers"]]
        if any(problems for _, problems in read):
            raise RequestError(
                "survey.damaged_closed",
                "{file} is damaged",
                hint="restore it from a backup; the answers are not stored anywhere else",
                file=self.closed_folder / "answers.json",
            )
        return [Answer(values) for values, _ in read]

    def participation(self) -> tuple[int, int | None]:
        """Return how many people answered and how many were invited; None if that is unknown."""
        if self.state == "closed":
            record = self._closed("answers.json")
            invited = record.get("invited")
            return len(record.get("answers", ())), invited if isinstance(invited, int) else None
        return len(self.answers()), self.invited()

    def close(self) -> None:
        """Collect all answers in shuffled files without times, tokens and users; later answers are refused.

        Repeatable: after a crash the same call finishes it. Raises RequestError for a draft, HackathonError.
        """
        close(self)

    def kept(self) -> tuple[int, int, int, list[str]]:
        """Return, for a closed survey: tokens issued, tokens used, answers left out, names of unreadable files."""
        tokens = self._closed("tokens.json")
        left_out = self._closed("left-out.json").get("answers", ())
        unread = names(self.closed_folder / "unread")
        return len(tokens.get("issued", ())), len(tokens.get("spent", ())), len(left_out), unread

    def _closed(self, name: str) -> dict[str, Any]:
        record = read_json(self.closed_folder / name)
        lists = ("issued", "spent") if name == "tokens.json" else ("answers",)
        if not isinstance(record, dict) or not all(isinstance(record.get(key), list) for key in lists):
            raise RequestError(
                "survey.damaged_closed",
                "{file} is damaged",
                hint="restore it from a backup; the answers are not stored anywhere else",
                file=self.closed_folder / name,
            )
        if (integer(record.get("schema_version")) or 0) > SCHEMA_VERSION:
            raise RequestError(
                "survey.newer", "{file} was created by a newer version of hackathon", file=self.closed_folder / name
            )
        return record


def encode_answer(survey: str, stored: Mapping[str, Any]) -> bytes:
    """Return an answer to the questionnaire with this digest as the bytes of a file."""
    value = {"schema_version": 1, "digest": survey, "values": stored}
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()
