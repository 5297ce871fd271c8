"""A questionnaire as it was opened: it includes the event's options and never changes again."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.config.records import rebuild
from hackathon.config.survey import Question, Survey
from hackathon.text.errors import RequestError
from hackathon.text.files import known_json
from hackathon.text.messages import LANGUAGES, _, speaking

if TYPE_CHECKING:
    from hackathon.config.event import Event

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Frozen:
    """An opened questionnaire."""

    survey: Survey
    digest: str
    """Digest of the questionnaire with the event's options; answers contain it."""
    source: str
    """Digest of the questionnaire in survey.yaml, to detect later changes."""
    shared: str = ""
    """The event's shared directory in hackathon.yaml when it was opened.

    Answers may be there even if the file changes.
    """


def survey_digest(survey: Survey) -> str:
    """Return 32 hexadecimal digits that differ if any part of the questions differs."""
    value = asdict(survey)
    del value["headline"]  # the event's headline question does not change what is asked
    if survey.anonymous:  # so that questionnaires opened by versions without this choice keep their digest
        del value["anonymous"]
    raw = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(raw.encode()).hexdigest()[:32]


def promise(survey: Survey) -> str:
    """Return the promise to respondents, in the current language."""
    return (
        _(
            "Anonymous in everything that is published: results of small groups are not shown separately, and "
            "free-text answers are published only after review. Not anonymous to the organisers who collect "
            "it: until the survey is closed, files show who wrote them and when."
        )
        if survey.anonymous
        else _(
            "Not anonymous: the organisers and the tutors read your answers together with your team, to "
            "prepare the event. Nothing of them is published."
        )
    )


def freeze(survey: Survey, event: "Event | None") -> Frozen:
    """Return a questionnaire with the options that come from the event.

    Raises RequestError if there is no event, or if it lacks the options (no teams, no kinds, no dates).
    """
    questions = [_resolved(question, event) if question.options_from else question for question in survey.questions]
    resolved = replace(survey, questions=questions)
    shared = event.shared if event else None
    return Frozen(resolved, survey_digest(resolved), survey_digest(survey), shared or "")


def _resolved(question: Question, event: "Event | None") -> Question:
    options = event_options(str(question.options_from), event) if event else {}
    if not options:
        raise RequestError(
            "survey.no_event_options",
            "question {question}: hackathon.yaml has none of its options ({what})",
            hint="add {what} to hackathon.yaml (kinds: of the members; days: `dates`), or write `options` yourself",
            question=question.id,
            what=question.options_from,
        )
    return replace(question, options=options)


def event_options(source: str, event: "Event") -> dict[str, Any]:
    """Return value → label of an event's teams that took part, of their kinds of participants, or of its days."""
    if source == "teams":
        return {team.name: team.name for team in event.teams if team.took_part}
    if source == "days":
        from hackathon.event.schedule import date_text

        return {day: _in_all_languages(lambda day=day: date_text(day)) for day in event.dates}
    from hackathon.event.kinds import kind_label
    from hackathon.event.participation import participation

    # if no participant is of the kind `company`, it is not an option
    kinds = [kind for kind, _ in participation(event).kinds if kind]
    return {kind: _in_all_languages(lambda kind=kind: kind_label(event, kind)) for kind in kinds}


def _in_all_languages(make: Any) -> dict[str, str]:
    texts = {}
    for code in LANGUAGES:
        with speaking(code):
            texts[code] = make()
    return texts


def to_json(frozen: Frozen) -> dict[str, Any]:
    """Return an opened questionnaire as JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "digest": frozen.digest,
        "source": frozen.source,
        "shared": frozen.shared,
        "survey": asdict(frozen.survey),
    }


def read_frozen(path: Path) -> Frozen | None:
    """Return the opened questionnaire in a file; None if there is no file.

    Raises RequestError for a file that is damaged, altered, or of a later version, OSError if it cannot be read.
    """
    value = known_json(path)
    if value is None and not path.exists():
        return None
    if isinstance(value, dict) and isinstance(value.get("schema_version"), int):
        if value["schema_version"] > SCHEMA_VERSION:
            raise RequestError("survey.newer", "{file} was created by a newer version of hackathon", file=path)
        try:
            survey: Survey = rebuild(Survey, value.get("survey"))
        except (ValueError, TypeError):
            raise RequestError(
                "survey.damaged",
                "{file} is damaged",
                hint="restore it from a backup; without it, the questions are unknown",
                file=path,
            ) from None
        if survey_digest(survey) == value.get("digest"):
            source, shared = (str(value.get(name) or "") for name in ("source", "shared"))
            return Frozen(survey, str(value["digest"]), source, shared)
    raise RequestError(
        "survey.damaged",
        "{file} is damaged",
        hint="restore it from a backup; without it, the questions are unknown",
        file=path,
    )
