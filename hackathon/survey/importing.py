"""Import answers from files: tables of other programs (CSV, xlsx), and files of the offline page.

<survey>/imports/<128 random bits>.json   {"schema_version", "digest", "answers", "tokens", "rows"}: one import
<survey>/import-key                       256 random bits; deleted by `close`

A keyed digest (HMAC-SHA256) of every imported row is stored, so that the same export counts once; respondents and times
are not stored. Without a time, a mail address or an answer's number, two equal rows are two people; the digest then
also includes how often the row has occurred in this file.
"""

import hashlib
import hmac
import json
import random
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.survey.durable import names, put, replace_bytes
from hackathon.survey.gather import LARGEST
from hackathon.survey.headings import Column, Columns, columns_of, matching
from hackathon.survey.records import Value
from hackathon.survey.spreadsheet import Sheet, SheetRow, read_file, read_table
from hackathon.survey.storage import SPENDING, SurveyFolder
from hackathon.survey.tokens import digest as token_digest
from hackathon.survey.values import read_stored, read_values, texts_of, to_stored
from hackathon.survey.wordings import MOST_NAMED, WordValues, foreign_words, has_codes, word_values
from hackathon.text import kill_points as faults
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.files import read_json
from hackathon.text.messages import Message
from hackathon.text.normalise import plain
from hackathon.text.told import Sayable

if TYPE_CHECKING:
    from hackathon.config.survey import Survey

IMPORT_STEPS = ("after-import",)
"""The answers are on the disk, and their tokens are not spent yet."""
YES = frozenset({"y", "yes", "1", "true", "x", "✓", "✔", "○", "◯", "はい", "選択", "checked", "selected"})
NO = frozenset(
    {"", "n", "no", "0", "false", "-", "×", "いいえ", "n/a", "unchecked", "not selected", "no answer", "回答なし"}
)
"""Values of a column for one option that mean it was not chosen."""


@dataclass(frozen=True)
class ImportProblem(Sayable):
    """One problem in a file."""

    file: Path
    id: str
    values: dict[str, Any] = field(default_factory=dict)
    line: int | None = None
    column: str = ""

    @property
    def where(self) -> str:
        """File, line and column."""
        position = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{position}: {self.column}" if self.column else position


@dataclass
class Imported:
    """The outcome of an import."""

    counted: int = 0
    """Answers that were added now."""
    known: int = 0
    """Rows that an earlier import added, or duplicates in a table that identifies respondents or times."""
    spent: int = 0
    """Answers whose token was already used."""
    blank: int = 0
    """Rows without an answer."""
    incomplete: int = 0
    """Rows of people who did not submit the form, left out."""
    previews: int = 0
    """Rows that Qualtrics marks as trials of the form or as spam, left out."""
    other_texts: int = 0
    """Texts beside an option "other" that count as this option; they are not stored."""
    coded: list[str] = field(default_factory=list)
    """Ratings whose levels were read from LimeSurvey's codes (`AO01`: the first entry of the list)."""
    unused_words: list[str] = field(default_factory=list)
    """Words of --values that no file contains."""
    unknown_options: dict[str, list[str]] = field(default_factory=dict)
    """Question → answers that are not among its options, in their order, without doubles."""
    mapping: list[tuple[str, str]] = field(default_factory=list)
    """Pairs for --map that would solve the problems of columns, with those that were given."""
    skipped: int = 0
    """Rows with a problem, left out on request."""
    stored: bool = False
    """Whether anything was written; False if there are problems, or for a dry run."""
    problems: list[ImportProblem] = field(default_factory=list)
    whole_file: bool = False
    """Whether a file or its columns have a problem, so that leaving out rows does not help."""
    columns: list[tuple[Path, Column]] = field(default_factory=list)


@dataclass(frozen=True)
class _Candidate:
    """An answer from a row."""

    values: dict[str, Value]
    row: str
    """Its keyed digest."""
    token: str
    """The digest of its token; empty without a token."""


def import_answers(
    collection: SurveyFolder,
    files: Sequence[Path],
    *,
    encoding: str | None = None,
    given: Sequence[tuple[str, str]] = (),
    dry_run: bool = False,
    skip_bad: bool = False,
    incomplete: bool = False,
    values: Sequence[str] = (),
) -> Imported:
    """Import the answers in files: all, or none if there is any problem.

    `values` says what words mean: `とても満足=5,満足=4` for ratings, `kind:M2=master` for a question.

    Rows of people who did not submit the form are left out and counted; with `incomplete` they are imported. With
    `skip_bad` rows with a problem are left out; a problem of a column or a file still stops the import. Raises
    RequestError (not open, closed, `values`) and HackathonError (full disk).
    """
    frozen = collection.frozen
    if frozen is None:
        raise RequestError(
            "survey.not_open",
            "survey {name} is not open yet",
            hint="open it: `hackathon survey open {name!q}`",
            name=collection.name,
        )
    try:
        with collection.alone():
            collection.refuse_closed()
            words = word_values(frozen.survey, values)
            reader = _Reader(
                collection, frozen.survey, encoding, given, words, keep_key=not dry_run, incomplete=incomplete
            )
            for path in files:
                reader.read(path)
            result = reader.result
            result.unused_words = words.unused()
            if result.whole_file or (result.problems and not skip_bad):
                result.counted = 0
            elif not dry_run:
                _store(collection, reader.taken)
                result.stored = True
    except OSError as error:
        raise HackathonError(
            "survey.can_not_take",
            "could not save the answer: {what}",
            hint="nothing was saved; try again in a moment",
            what=error.strerror or error,
        ) from error
    return result


def _store(collection: SurveyFolder, taken: list[_Candidate]) -> None:
    if not taken:
        return
    answers = [to_stored(candidate.values) for candidate in taken]
    random.SystemRandom().shuffle(answers)
    tokens = sorted(candidate.token for candidate in taken if candidate.token)
    value = {
        "schema_version": 1, "digest": collection.digest, "answers": answers, "tokens": tokens,
        "rows": sorted(candidate.row for candidate in taken),
    }  # fmt: skip
    raw = (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()
    if len(raw) > LARGEST:
        raise RequestError(
            "survey_import.all_large",
            "together, the files contain more than {limit} MiB of answers",
            hint="import them one after another",
            limit=LARGEST >> 20,
        )
    (collection.imports_folder / SPENDING).touch()
    put(collection.imports_folder, f"{secrets.token_hex(16)}.json", raw)
    faults.step("after-import")
    collection.finish_spending()


class _Reader:
    """Reads files one after the other; a token and a row count once over all of them."""

    def __init__(
        self, collection: SurveyFolder, survey: "Survey", encoding: str | None, mapping: Sequence[tuple[str, str]],
        words: WordValues, *, keep_key: bool, incomplete: bool,
    ) -> None:  # fmt: skip
        self.collection = collection
        self.survey = survey
        self.encoding = encoding
        self.given = mapping
        self.words = words
        self.incomplete = incomplete
        self.result = Imported()
        self.taken: list[_Candidate] = []
        self._key = _key(collection, keep=keep_key)
        collection.finish_spending()
        self._issued = collection.tokens.issued()
        self._spent = collection.tokens.spent()
        self._rows: set[str] = set()
        for name in names(collection.imports_folder):
            record = read_json(collection.imports_folder / name)
            if isinstance(record, dict):
                self._rows.update(record.get("rows", ()))

    def read(self, path: Path) -> None:
        """Read one file."""
        try:
            raw = read_file(path)
            if raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
                self._read_saved(raw, path)
            else:
                self._read_csv(raw, path)
        except RequestError as error:
            self.result.whole_file = True
            self.result.problems.append(ImportProblem(path, error.id, dict(error.values)))

    def _read_csv(self, raw: bytes, path: Path) -> None:
        table = read_table(raw, path, self.encoding, lambda headings: matching(self.survey, headings))
        turned = [question.id for question in self.survey.questions if any(map(str.isdigit, self.words.of(question)))]
        columns = columns_of(self.survey, table.headings, self.given, layout=table.layout, rescaled=turned)
        if columns.suggestions:
            self.result.mapping = list(dict.fromkeys([*self.given, *self.result.mapping, *columns.suggestions]))
        self.result.columns += [(path, column) for column in columns.columns]
        for heading, identifier, values in columns.problems:
            self.result.whole_file = True
            values = {"encoding": table.encoding, **values}
            self.result.problems.append(ImportProblem(path, identifier, values, 1, heading))
        # nothing is imported if a column is ambiguous, but problems in the other columns are reported in the same run
        survey = replace(self.survey, questions=columns.certain(self.survey)) if columns.problems else self.survey
        foreign = self._foreign_words(table, survey, columns, path)
        counts: Counter[str] = Counter()
        for row in table.rows:
            self._take_row(row, table.headings, survey, columns, path, counts, foreign)

    def _foreign_words(self, table: Sheet, survey: "Survey", columns: Columns, path: Path) -> dict[str, Counter[str]]:
        """Return the words of ratings that say no level, by question, and note one problem for each."""
        foreign = {}
        rows = [row.cells for row in table.rows if len(row.cells) >= len(table.headings) and self._counts(row, columns)]
        for question in survey.questions:
            column = next(iter(columns.of(question.id)), None)
            if question.kind != "rating" or column is None:
                continue
            texts = [cells[column.index] for cells in rows]
            if has_codes(question, texts, self.words) and question.id not in self.result.coded:
                self.result.coded.append(question.id)
            words = foreign_words(question, texts, self.words)
            if words:
                foreign[question.id] = words
                named = ", ".join(f"{word[:40]} ({count})" for word, count in words.most_common(MOST_NAMED))
                values = {
                    "question": question.id,
                    "words": named + (" …" if len(words) > MOST_NAMED else ""),
                    "pairs": ",".join(f"{word[:40]}=LEVEL" for word, _ in words.most_common(MOST_NAMED)),
                    "levels": question.levels,
                }
                message = Message(
                    "survey_import.words",
                    "these answers are words, not levels from 1 to {levels}: {words}",
                    hint="say which level each word is: --values '{question}:{pairs}' (`-` for no answer)",
                )
                self.result.problems.append(ImportProblem(path, message, values, 1, column.heading))
        return foreign

    def _counts(self, row: SheetRow, columns: Columns) -> bool:
        """Return whether a row is of somebody who submitted the form."""
        return not columns.preview(row.cells) and (self.incomplete or not columns.unfinished(row.cells))

    def _take_row(
        self,
        row: SheetRow,
        headings: Sequence[str],
        survey: "Survey",
        columns: Columns,
        path: Path,
        tally: "Counter[str]",
        foreign: Mapping[str, Counter[str]],
    ) -> None:
        if len(row.cells) < len(headings) or any(cell.strip() for cell in row.cells[len(headings) :]):
            counts = {"cells": len(row.cells), "columns": len(headings)}
            self._skip(
                [
                    ImportProblem(
                        path,
                        Message(
                            "survey_import.cells",
                            "{cells} cells, but there are {columns} columns",
                            hint="the file may be incomplete, or text that contains the delimiter is not quoted: "
                            "export "
                            "it again",
                        ),
                        counts,
                        row.line,
                    )
                ]
            )
            return
        if not self._counts(row, columns):
            if columns.preview(row.cells):
                self.result.previews += 1
            else:
                self.result.incomplete += 1
            return
        if any(
            " ".join(row.cells[column.index].split()) in foreign.get(column.question, ()) for column in columns.columns
        ):
            self._skip([])  # its column has a problem
            return
        raw, problems = self._raw(survey, row, columns, path)
        if not problems and not any(text.strip() for texts in raw.values() for text in texts):
            self.result.blank += 1
            return
        values, wrong = read_values(survey, raw)
        for problem in wrong:
            known = self.result.unknown_options.setdefault(problem.question, [])
            if problem.id == "survey.no_option" and problem.values["value"] not in known:
                known.append(problem.values["value"])
        at = {column.question: column.heading for column in columns.columns if column.question}
        problems += [
            ImportProblem(path, problem.id, dict(problem.values), row.line, at.get(problem.question, problem.question))
            for problem in wrong
        ]
        word = columns.token
        token = row.cells[word.index].strip() if word is not None else ""
        cells = sorted((plain(heading), plain(cell)) for heading, cell in zip(headings, row.cells, strict=False))
        same = json.dumps(cells, ensure_ascii=False)
        tally[same] += 1
        count = 1 if token or columns.identify(row.cells) else tally[same]
        self._take(values, f"{count} {same}", token, problems, ImportProblem(path, "", {}, row.line, "token"))

    def _raw(
        self, survey: "Survey", row: SheetRow, columns: Columns, path: Path
    ) -> tuple[dict[str, list[str]], list[ImportProblem]]:
        """Return the texts of a row by question; several columns of one question are combined."""
        raw: dict[str, list[str]] = {}
        problems: list[ImportProblem] = []
        for question in survey.questions:
            for column in columns.of(question.id):
                cell = row.cells[column.index]
                if not column.option:
                    text = cell
                    if question.kind == "choices":
                        text = self.words.replaced_in(question, cell)
                    elif question.kind != "text":
                        text = self.words.replaced(question, cell)
                    raw.setdefault(question.id, []).append(text)
                elif plain(cell) in YES or plain(cell) in _names_of(survey, question.id, column.option):
                    raw.setdefault(question.id, []).append(column.option)
                elif plain(cell) not in NO and column.heading.rstrip().casefold().endswith("[other]"):
                    # LimeSurvey writes there what people typed beside "other"
                    raw.setdefault(question.id, []).append(column.option)
                    self.result.other_texts += 1
                elif plain(cell) not in NO:
                    values = {"value": " ".join(cell.split())[:60]}
                    problems.append(
                        ImportProblem(
                            path,
                            Message(
                                "survey_import.no_yes",
                                "{value} does not say whether the option was chosen: use Y or leave it empty",
                            ),
                            values,
                            row.line,
                            column.heading,
                        )
                    )
        return raw, problems

    def _read_saved(self, raw: bytes, path: Path) -> None:
        """Read a file of the offline page, which contains one answer."""
        try:
            value = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise RequestError(
                "survey_import.torn_json",
                "incomplete answer: the file is not valid JSON",
                hint="ask for the file again, unchanged, as the offline page saved it",
                file=path,
            ) from None
        if not isinstance(value, dict) or not isinstance(value.get("values"), dict):
            raise RequestError("survey_import.no_answer", "the file is not an answer", file=path)
        if value.get("digest") != self.collection.digest:
            raise RequestError(
                "survey_import.other_survey",
                "an answer to another survey than {name}, or to an earlier version of {name}",
                hint="give the survey that it belongs to: `hackathon survey import FILE NAME`",
                file=path,
                name=self.collection.name,
            )
        token = value.get("token")
        values, wrong = read_stored(self.survey, value["values"])
        problems = [ImportProblem(path, problem.id, dict(problem.values), None, problem.question) for problem in wrong]
        same = json.dumps([value["values"], token], ensure_ascii=False, sort_keys=True)
        position = ImportProblem(path, "", {}, None, "token")
        self._take(values, f"saved {same}", token if isinstance(token, str) else "", problems, position)

    def _take(
        self, values: dict[str, Value], same: str, token: str, problems: list[ImportProblem], position: ImportProblem
    ) -> None:
        row = hmac.new(self._key, same.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        digest = token_digest(token) if token else ""
        if row in self._rows:
            self.result.known += 1
            return
        if digest and digest not in self._issued:
            problems = [
                *problems,
                ImportProblem(
                    position.file,
                    Message(
                        "survey.token_unknown",
                        "this token was never issued",
                        hint="copy it again from the organisers' message: 16 letters and digits",
                    ),
                    {},
                    position.line,
                    position.column,
                ),
            ]
        if problems:
            self._skip(problems)
        elif digest and digest in self._spent:
            self.result.spent += 1
        else:
            self._rows.add(row)
            self._spent.update([digest] if digest else [])
            self.taken.append(_Candidate(values, row, digest))
            self.result.counted += 1

    def _skip(self, problems: list[ImportProblem]) -> None:
        self.result.skipped += 1
        self.result.problems += problems


def _names_of(survey: "Survey", identifier: str, option: str) -> Iterator[str]:
    yield plain(option)
    question = next(question for question in survey.questions if question.id == identifier)
    yield from map(plain, texts_of(question.options[option]))


def _key(collection: SurveyFolder, *, keep: bool) -> bytes:
    """Return the key for the digests of rows; the first import creates it."""
    path = collection.folder / "import-key"
    if not path.exists():
        key = secrets.token_bytes(32)
        if keep:
            replace_bytes(path, key)
        return key
    return path.read_bytes()
