"""Encode and decode one shared entry (post, answer, request, report, proof) as the bytes of one file.

The author is not in the file: it is the file's owner, which no user can choose. Texts of others are cleaned when they
are read, so that no character in them can control a terminal.
"""

import json
import math
import os
import re
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hackathon.text.errors import RequestError
from hackathon.text.messages import LANGUAGES, language
from hackathon.text.numbers import integer
from hackathon.text.printable import printable
from hackathon.text.told import Told

if TYPE_CHECKING:
    from hackathon.diagnosis.findings import Finding

SCHEMA_VERSION = 1
GUESSED = "guessed"
"""The toolkit chose the run of a request."""
KINDS = ("post", "ask", "answer", "solve", "take", "standup", "ready")
REPLIES = ("answer", "solve", "take")
"""Kinds that reply to a post or a request."""
SECTIONS = ("progress", "goals", "problems", "solved")
"""Sections of a member's report for the daily status report."""
LARGEST = 1_000_000
"""Bytes of a file; a larger file is not an entry."""
LONGEST = 100_000
"""Characters of one text that is written."""
LINE = 300
"""Characters of a text on one line: a title, a name, a path."""
PROOFS, FACTS = 20, 20
"""The most points of one checklist, and the most facts of one point."""
ENDING = ".json"
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_FACT = re.compile(r"[a-z][a-z0-9_]{0,39}\Z", re.ASCII)
_ID = re.compile(r"\d{8}-\d{6}-(\d{1,10})-[a-z2-7]{8}\Z", re.ASCII)


class BadEntry(ValueError):
    """A file that is not an entry of this board.

    Its argument is the reason: garbage, other_name, other_board, newer.
    """


@dataclass(frozen=True)
class Attached:
    """The finding in an entry: the diagnosis, and the line of the log."""

    rule: str
    part: str
    level: str
    message: str
    advice: str = ""
    file: str = ""
    line: int | None = None
    text: str = ""
    rank: int | None = None
    host: str = ""
    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Language → (message, advice); empty for an older post."""

    def spoken(self) -> "Attached":
        """Return a copy with message and advice in the current language, if the post has them."""
        text, advice = self.said.get(language(), (self.message, self.advice))
        return replace(self, message=text, advice=advice)


@dataclass(frozen=True)
class Proof:
    """One point of a team's checklist, as its member saw it (`hackathon.readiness.collected`)."""

    name: str
    ok: bool | None
    """None: it could not be checked."""
    evidence: str = ""
    """In the author's language."""
    facts: dict[str, str | float | bool] = field(default_factory=dict)
    """The basis of the evidence, to be checked again: ids of runs, values, seconds."""
    told: tuple[Told | str, ...] = ()
    """The evidence as messages, and as literal texts by others; empty for an older checklist."""
    said: dict[str, str] = field(default_factory=dict)
    """Language → evidence; only in older checklists."""

    def spoken(self) -> str:
        """Return the evidence in the current language; in the author's, if this toolkit lacks one of its messages."""
        try:
            return clean_line("; ".join(map(str, self.told))) or self.said.get(language(), self.evidence)
        except (LookupError, ValueError, TypeError, AttributeError):  # the file may contain anything
            return self.evidence


@dataclass(frozen=True)
class Entry:
    """One shared entry."""

    id: str
    """The name of its file without the suffix."""
    kind: str
    """One of KINDS."""
    time: float
    """When it was written, by its author's clock, in seconds since 1970."""
    board: str
    """The id of the board it was written for, so that a file copied from another board is refused."""
    to: str = ""
    """The id of the post or request that it replies to."""
    text: str = ""
    part: str = ""
    rule: str = ""
    run: str = ""
    """A run's id."""
    folder: str = ""
    """The run's directory."""
    finding: Attached | None = None
    sections: dict[str, str] = field(default_factory=dict)
    """Non-empty SECTIONS of a report."""
    ready: tuple[Proof, ...] = ()
    """Points of a checklist."""
    basis: str = ""
    """GUESSED for a run that the author did not name; else empty."""

    @property
    def uid(self) -> int:
        """The user in its id; readers compare it with the file's owner."""
        match = _ID.match(self.id)
        return int(match[1]) if match else -1

    @property
    def title(self) -> str:
        """The first line of its text."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")[:LINE]


def letters(count: int = 8) -> str:
    """Return random characters with five bits each."""
    return "".join(_LETTERS[byte & 31] for byte in os.urandom(count))


def new_id(uid: int, now: float | None = None) -> str:
    """Return `YYYYMMDD-HHMMSS-<uid>-<8 random>` (UTC), which is unique without a lock and differs between users."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{uid}-{letters()}"


def uid_in(name: str) -> int | None:
    """Return the uid in the name of an entry's file; None for another kind of name."""
    match = _ID.match(name.removesuffix(ENDING)) if name.endswith(ENDING) else None
    return int(match[1]) if match else None


def clean(text: str) -> str:
    """Return a text without control characters, direction marks and lone surrogates; line ends and tabs stay.

    Spaces of other widths become plain spaces.
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return printable(text, kept="\n\t")


def clean_line(text: str) -> str:
    """Return a text as one cleaned line of at most LINE characters."""
    return " ".join(clean(text[: 4 * LINE]).split())[:LINE]


def attach(finding: "Finding") -> Attached:
    """Return the part of a finding that a post stores."""
    evidence = finding.evidence
    return Attached(
        rule=clean_line(finding.rule),
        part=clean_line(finding.part),
        level=clean_line(finding.level),
        message=clean_line(finding.message),
        advice=clean(finding.advice)[:LONGEST],
        file=clean_line(evidence.file) if evidence else "",
        line=evidence.line if evidence else None,
        text=clean_line(evidence.text) if evidence else "",
        rank=evidence.rank if evidence else None,
        host=clean_line(evidence.host) if evidence else "",
        said={code: (clean_line(text), clean(advice)[:LONGEST]) for code, (text, advice) in finding.said.items()},
    )


def encode(entry: Entry) -> bytes:
    """Return an entry as the bytes of its file. Raises RequestError if a text is too long."""
    for text in (entry.text, *entry.sections.values()):
        if len(text) > LONGEST:
            raise RequestError(
                "board.text_long",
                "the text has {count} characters; the limit is {limit}",
                count=len(text),
                limit=LONGEST,
            )
    value = {name: field for name, field in asdict(entry).items() if field not in ("", None, {}, ())}
    raw = json.dumps({"schema_version": SCHEMA_VERSION, **value}, ensure_ascii=False, indent=1, allow_nan=False)
    return clean(raw).encode() + b"\n"


def decode(raw: bytes, name: str, board: str) -> Entry:
    """Return the entry in a file with this name on this board, its texts cleaned.

    Raises BadEntry for everything that is not an entry.
    """
    try:
        value = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise BadEntry("garbage") from error
    if not isinstance(value, dict) or not isinstance(value.get("schema_version"), int):
        raise BadEntry("garbage")
    if value["schema_version"] > SCHEMA_VERSION:
        raise BadEntry("newer")
    # somebody else may have linked or copied the file under another name, or to another board
    identifier = _word(value, "id")
    if not _ID.match(identifier) or f"{identifier}{ENDING}" != name:
        raise BadEntry("other_name")
    if _word(value, "board") != board:
        raise BadEntry("other_board")
    kind, to, moment = _word(value, "kind"), _word(value, "to"), _moment(value.get("time"))
    if kind not in KINDS or moment is None or (kind in REPLIES) != bool(_ID.match(to)):
        raise BadEntry("garbage")
    sections = value.get("sections")
    return Entry(
        id=identifier,
        kind=kind,
        time=moment,
        board=board,
        to=to,
        text=_text(value, "text"),
        **{key: _line(value, key) for key in ("part", "rule", "run", "folder", "basis")},
        finding=_attached(value.get("finding")),
        sections={section: text for section in SECTIONS if (text := _text(sections, section).strip())}
        if isinstance(sections, dict)
        else {},
        ready=_proofs(value.get("ready")),
    )


def _attached(value: Any) -> Attached | None:
    if not isinstance(value, dict):
        return None
    return Attached(
        **{key: _line(value, key) for key in ("rule", "part", "level", "message", "file", "text", "host")},
        advice=_text(value, "advice"),
        line=_exact_integer(value.get("line")),
        rank=_exact_integer(value.get("rank")),
        said=_findings_said(value.get("said")),
    )


def _findings_said(value: Any) -> dict[str, tuple[str, str]]:
    """Return the texts of a finding by language, cleaned; malformed ones are left out."""
    texts = {}
    for code in LANGUAGES if isinstance(value, dict) else ():
        match value.get(code):
            case [str(text), str(advice)]:
                texts[code] = (clean_line(text), clean(advice[:LONGEST]))
    return texts


def _proofs(value: Any) -> tuple[Proof, ...]:
    """Return the points of a checklist, the first of each name; malformed ones are left out."""
    proofs: dict[str, Proof] = {}
    for record in value[:PROOFS] if isinstance(value, list) else ():
        if not isinstance(record, dict) or not _FACT.match(name := _word(record, "name")):
            continue
        ok = record.get("ok")
        facts = record.get("facts")
        checked: dict[str, str | float | bool] = {}
        for key, raw in facts.items() if isinstance(facts, dict) else ():
            fact = _fact(raw)
            if len(checked) < FACTS and _FACT.match(key) and fact is not None:
                checked[key] = fact
        texts = record.get("said")
        sentences = {code: _line(texts, code) for code in LANGUAGES if isinstance(texts, dict) and _word(texts, code)}
        ok = ok if isinstance(ok, bool) else None
        proofs.setdefault(
            name, Proof(name, ok, _line(record, "evidence"), checked, _told(record.get("told")), sentences)
        )
    return tuple(proofs.values())


def _told(value: Any) -> tuple[Told | str, ...]:
    """Return messages with their values, all as cleaned lines; malformed ones are left out."""
    messages: list[Told | str] = []
    for record in value[:FACTS] if isinstance(value, list) else ():
        match record:
            case str():
                messages.append(clean_line(record))
            case {"id": str(identifier), "values": dict(values)}:
                texts = {
                    name: clean_line(str(text)) for name, text in list(values.items())[:FACTS] if _FACT.match(name)
                }
                messages.append(Told(clean_line(identifier), texts))
    return tuple(messages)


def _fact(value: Any) -> str | float | bool | None:
    """Return a fact as a cleaned line, a finite number or a boolean; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_line(value)
    if isinstance(value, int):
        return float(value) if abs(value) < 2**53 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _word(value: dict[str, Any], name: str) -> str:
    text = value.get(name, "")
    return text if isinstance(text, str) else ""


def _text(value: dict[str, Any], name: str) -> str:
    return clean(_word(value, name)[:LONGEST])


def _line(value: dict[str, Any], name: str) -> str:
    return clean_line(_word(value, name))


def _exact_integer(value: Any) -> int | None:
    """Return a whole number that every reader of JSON reads alike, None for anything else."""
    number = integer(value)
    return number if number is not None and abs(number) < 2**53 else None


def _moment(value: Any) -> float | None:
    """Return a time within the next centuries; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # compared before conversion: a JSON integer can be too large for a float, and NaN fails every comparison
    return float(value) if 0 <= value < 1e11 else None
