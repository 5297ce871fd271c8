"""Read teams from a CSV with one line per person, or with one line per team and its members side by side."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hackathon.config.event import Event, Member, Team
from hackathon.config.problems import ConfigError, Problem, listing, nearest, read_bounded, shown
from hackathon.event.kinds import kind_named, kinds_of
from hackathon.text.messages import Message
from hackathon.text.normalise import plain

COLUMNS = {
    "team": ("チーム", "チーム名", "team name"),
    "user": ("account", "ユーザ", "ユーザー", "ユーザ名", "アカウント", "利用者番号"),
    "kind": ("区分", "身分", "種別"),
    "name": ("氏名", "名前"),
    "tutors": ("tutor", "mentor", "チューター", "メンター"),
    "project": ("課題", "課題名", "プロジェクト", "テーマ"),
    "group": ("グループ", "グループ名", "プロジェクトコード"),
}
"""Columns and their other names; `team` is required, the others are optional."""
OF_MEMBERS = ("user", "kind", "name")
"""Columns that a form repeats with a number for each member: `member 2 name`, `氏名（2人目）`."""
_MEMBER_WORDS = re.compile(r"members?|participants?|persons?|メンバー?|参加者|参加メンバー|人目|名目|番目|第|no\.?|の")
_FIRST = re.compile(r"代表者?|leader")
_NUMBER = re.compile(r"[0-9]{1,2}")
_MARKS = re.compile(r"[^\w]+|_")
_SEVERAL = re.compile(r"[;,、；，\s]+")


@dataclass(frozen=True)
class ParticipantTable:
    """The content of a table."""

    teams: tuple[Team, ...]
    """In the order in which they appear."""
    encoding: str
    ignored: tuple[str, ...] = ()
    """Columns without a meaning here."""


def read_table(path: Path, event: Event | None = None) -> ParticipantTable:
    """Return the teams of a CSV in UTF-8 (with or without a BOM) or cp932, separated by commas, semicolons or tabs.

    A kind may be written as its label in any language; `event` adds further kinds. Raises ConfigError with every
    problem, each with line and column.
    """
    text, encoding = _decoded(path)
    reader = _Reader(path, event or Event(""))
    reader.read(text)
    if reader.problems:
        raise ConfigError(reader.problems)
    return ParticipantTable(tuple(reader.teams.values()), encoding, tuple(reader.ignored))


def _decoded(path: Path) -> tuple[str, str]:
    raw = read_bounded(path)
    if b"\0" in raw:
        raise ConfigError(
            [
                Problem(
                    Message("event.table_encoding", "neither UTF-8 nor cp932 (Shift_JIS); save it as CSV UTF-8"),
                    path,
                    raw[: raw.index(b"\0")].count(b"\n") + 1,
                )
            ]
        )
    at = 0
    for encoding in ("utf-8-sig", "cp932"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            at = at or error.start
            continue
        # Python maps the bytes A0, FD, FE and FF, which are invalid in cp932, to private characters
        if encoding != "cp932" or not any("\uf8f0" <= letter <= "\uf8f3" for letter in text):
            return text, "utf-8" if encoding == "utf-8-sig" else encoding
    raise ConfigError(
        [
            Problem(
                Message("event.table_encoding", "neither UTF-8 nor cp932 (Shift_JIS); save it as CSV UTF-8"),
                path,
                raw[:at].count(b"\n") + 1,
            )
        ]
    )


class _Reader:
    """Collects teams and problems."""

    def __init__(self, path: Path, event: Event) -> None:
        self._path = path
        self._event = event
        self._columns: dict[str, int] = {}
        self._members: dict[int, dict[str, int]] = {}
        self._lines: dict[str, int] = {}
        self.teams: dict[str, Team] = {}
        self.ignored: list[str] = []
        self.problems: list[Problem] = []

    def read(self, text: str) -> None:
        """Read a table."""
        first = next((line for line in text.splitlines() if line.strip()), "")
        separator = max(",;\t", key=first.count)
        rows = self._rows(text, separator)
        head = next(rows, None)
        if head is None:
            self._note(Message("event.table_empty", "the table has no teams"), 1)
            return
        line, names = head
        self._head(line, names)
        if "team" not in self._columns:
            return
        for line, cells in rows:
            if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
                self._note(
                    Message(
                        "event.table_cells",
                        "{count} cells, but the header has {columns}; put text that contains commas in quotes",
                    ),
                    line,
                    count=len(cells),
                    columns=len(names),
                )
            else:
                self._row(line, cells)
        if not self.teams and not self.problems:
            self._note(Message("event.table_empty", "the table has no teams"), line)

    def _rows(self, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        line = 1
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                self._note(Message("event.table_quote", 'a quote (") is not closed or is inside a cell'), line)
                return
            if any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1

    def _head(self, line: int, names: list[str]) -> None:
        words = {plain(word): column for column, synonyms in COLUMNS.items() for word in (column, *synonyms)}
        for number, name in enumerate(names):
            column = words.get(plain(name))
            of_member = member_column(name) if column is None else None
            if of_member is not None:
                member, column = of_member
                if column in self._members.setdefault(member, {}):
                    self._note(
                        Message("event.table_column_twice", "this column appears twice"), line, f"{column} {member}"
                    )
                self._members[member].setdefault(column, number)
            elif column is None:
                near = nearest(plain(name), COLUMNS) if name.strip() else None
                if near and near not in self._columns:
                    self._note(
                        Message("event.table_column", "there is no column {name}; did you mean `{near}`?"),
                        line,
                        name=shown(name),
                        near=near,
                    )
                elif name.strip():
                    self.ignored.append(name.strip())
            elif column in self._columns:
                self._note(Message("event.table_column_twice", "this column appears twice"), line, column)
            else:
                self._columns[column] = number
        # `代表者 氏名, 区分, 氏名（2人目）`: what has no number here belongs to the first member
        first = self._members.get(1, {})
        for column in OF_MEMBERS:
            if first and column not in first and column in self._columns:
                first[column] = self._columns.pop(column)
        if "team" not in self._columns:
            self._note(
                Message("event.table_no_team", "column `team` is missing; known columns: {known}"),
                line,
                known=listing(COLUMNS),
            )

    def _row(self, line: int, cells: list[str]) -> None:
        values = {
            column: _cell(cells[number]) if number < len(cells) else "" for column, number in self._columns.items()
        }
        name = values["team"]
        if not name:
            self._note(Message("event.table_no_name", "the team's name is missing"), line, "team")
            return
        team = self.teams.get(name, Team(name))
        for column in ("project", "group"):
            value = values.get(column, "")
            before = getattr(team, column) or ""
            if value and before and value != before:
                self._note(
                    Message("event.table_differs", "{value}, but an earlier line of the team has {before}"),
                    line,
                    column,
                    value=shown(value),
                    before=shown(before),
                )
            elif value:
                team = replace(team, project=value) if column == "project" else replace(team, group=value)
        tutors = [unicodedata.normalize("NFKC", tutor) for tutor in _SEVERAL.split(values.get("tutors", "")) if tutor]
        team = replace(team, tutors=list(dict.fromkeys([*team.tutors, *tutors])))
        members = [self._member(line, values)]
        for _, columns in sorted(self._members.items()):
            fields = {column: _cell(cells[at]) if at < len(cells) else "" for column, at in columns.items()}
            members.append(self._member(line, fields))
        self.teams[name] = replace(team, members=[*team.members, *(member for member in members if member)])

    def _member(self, line: int, values: dict[str, str]) -> Member | None:
        user = unicodedata.normalize("NFKC", values.get("user", ""))
        if not user and not values.get("name"):
            if values.get("kind"):
                self._note(Message("event.table_no_user", "the account is missing"), line, "user")
            return None
        if not user:
            pass  # planned before the accounts exist
        elif any(letter in user for letter in " /:,"):
            self._note(
                Message(
                    "config.user_name", "{name} is not an account name; it must not contain spaces, `/`, `:` or `,`"
                ),
                line,
                "user",
                name=shown(user),
            )
        elif user in self._lines:
            self._note(
                Message("event.table_user_twice", "{name} is already in line {first}"),
                line,
                "user",
                name=shown(user),
                first=self._lines[user],
            )
        if user:
            self._lines.setdefault(user, line)
        word = values.get("kind", "")
        kind = kind_named(self._event, word) if word else ""
        if kind is None:
            kinds = kinds_of(self._event)
            near = nearest(word, kinds)
            identifier = (
                Message("config.no_kind_near", "there is no kind {name}; did you mean `{near}`?")
                if near
                else Message("config.no_kind", "there is no kind {name}; known: {known}; add more under `kinds`")
            )
            self._note(identifier, line, "kind", name=shown(word), near=near, known=listing(kinds))
        return Member(user, kind or "", values.get("name", ""))

    def _note(self, identifier: str, line: int, column: str = "", **values: Any) -> None:
        path = (column,) if column else ()
        self.problems.append(Problem(identifier, self._path, line, path, values))


def member_column(name: str) -> tuple[int, str] | None:
    """Return (number of the member, column) of a header such as `member 2 name`; None for another header."""
    text = plain(name)
    number = _NUMBER.search(text)
    first = _FIRST.search(text)
    if number is None and first is None:
        return None
    remainder = _NUMBER.sub(" ", _FIRST.sub(" ", text), count=2)
    remainder = _MARKS.sub("", _MEMBER_WORDS.sub(" ", remainder))
    for column in OF_MEMBERS:
        if remainder in {_MARKS.sub("", plain(word)) for word in (column, *COLUMNS[column])}:
            return (int(number[0]) if number else 1), column
    return None


def _cell(text: str) -> str:
    """Return a cell as one line without control characters, without the quote that protects = + - @ in spreadsheets."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    line = unicodedata.normalize("NFC", line)
    return line[1:] if line[:1] == "'" and line[1:2] in tuple("=+-@") else line
