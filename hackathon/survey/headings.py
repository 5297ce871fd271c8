"""Match the columns of a table to questions: by id, by text, by an option's column, or by the user's mapping.

Google Forms: `タイムスタンプ`, the question's text, `title [row]` for grids. LimeSurvey: `id`, `submitdate`, the code,
`code[SQ001]` or `code[option]` for several choices, `text [label]` if headings are full texts, `code. text`.
Microsoft Forms: `ID`, `開始時刻`, the question's text. A scale at a heading's end is not part of the question.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from hackathon.config.survey import Question, Survey
from hackathon.survey.heading_rows import OF_QUALTRICS, Layout
from hackathon.survey.scales import scale_of, without_remark
from hackathon.survey.values import texts_of
from hackathon.text.messages import Message
from hackathon.text.normalise import plain

IGNORED = "-"
"""The value of --map for a column without a question, or for a question without a column."""
SIMILAR = 0.5
"""The least similarity of a heading to a question that is suggested."""
MOST_COMPARED, LONGEST_COMPARED = 50, 200
"""Unknown columns, and characters of a heading, that are compared with questions."""
TOKENS = frozenset({"token", "access code", "トークン", "アクセスコード", "参加コード"})
IDENTITY = frozenset(
    plain(word)
    for word in (
        "timestamp", "タイムスタンプ", "id", "response id", "回答ID", "回答 ID", "submitdate", "date submitted",
        "提出日", "提出日時", "送信日時", "完了日", "完了時刻", "startdate", "date started", "開始日", "開始日時",
        "開始時刻", "datestamp", "date last action", "最終更新日時", "最終操作日", "ipaddr", "ip address",
        "IPアドレス", "IP アドレス", "refurl", "referrer url", "参照URL", "email", "e-mail", "email address",
        "e-mail address", "mail", "username", "ユーザー名", "メールアドレス", "メール", "メール アドレス", "name",
        "your name", "full name", "名前", "お名前", "氏名", "firstname", "first name", "lastname", "last name",
        "start time", "completion time", "last modified time", "最終変更時刻", "最終変更日時",
        "respondent id", "respondentid", "回答者 ID", "collector id", "コレクター ID", "start date", "end date",
        "開始日時", "終了日時", "date created", "date modified", "custom data 1",
        "enddate", "recordeddate", "responseid", "ipaddress", "recipientlastname", "recipientfirstname",
        "recipientemail", "externalreference", "locationlatitude", "locationlongitude",
    )
)  # fmt: skip
"""Headings of the respondent and the time: never stored, but used to decide whether two equal rows are one."""
TECHNICAL = frozenset(
    {
        "lastpage",
        "last page",
        "startlanguage",
        "start language",
        "seed",
        "最終ページ",
        "開始言語",
        "シード",
        "スコア",
        "score",
        "total points",
        "quiz feedback",
        "合計ポイント",
        "合計点",
        "合計時間",
        "duration (in seconds)",
        "distributionchannel",
        "userlanguage",
    }
)
"""Headings of other columns that contain no answers."""
FINISHED = frozenset(
    plain(word) for word in ("submitdate", "date submitted", "提出日", "提出日時", "送信日時", "完了日", "完了日時")
)
"""Headings of LimeSurvey's column that is empty until the form is submitted."""
PREVIEWS = frozenset({"survey preview", "survey test", "spam", "1", "2", "8"})
"""Values of Qualtrics' `Status` of rows that are not answers: trials of the form, and robots."""
_OF_QUIZ = re.compile(r"(?:points|feedback|ポイント|点数|フィードバック)\s+[-–—]\s+\S")
_QUIZ_PARTS = frozenset({"score", "feedback", "スコア", "フィードバック"})
_TIMING = re.compile(r"(?:interviewtime|grouptime\d*|questiontime\d*|total time|group time.*|question time.*)\Z")
_PART = re.compile(r"(.*?)\s*[\[［]([^\[\]［］]*)[\]］]\s*\Z", re.DOTALL)
_NUMBERED = re.compile(r"(?:q|問|設問)?\s*\d{1,3}\s*[.．:：、)）]\s*", re.IGNORECASE)
_LIMESURVEY = re.compile(
    r"((?:id|submitdate|lastpage|startlanguage|seed|startdate|datestamp|ipaddr|refurl)(?=\.)|[a-z][a-z0-9_]*\[[^\[\]]*\])"
    r"\s*\.\s+\S",
    re.IGNORECASE,
)
"""The code before the text, where LimeSurvey writes both: `used[SQ001]. Used [PyTorch]`."""
_CODE = re.compile(r"[a-z]{1,3}\d+(?:[a-z_]{1,3}\d+)*(?:\[[a-z0-9_]+\])?\Z")
_SUBQUESTION = re.compile(r"sq0*(\d{1,3})\Z")


@dataclass(frozen=True)
class Column:
    """The meaning of a column."""

    index: int
    heading: str
    question: str = ""
    """A question's id; empty for a column without a question."""
    option: str = ""
    """choices: the option of this column; empty if it contains all options."""
    role: str = ""
    """token, identity or ignored, for a column without a question."""


@dataclass
class Columns:
    """The meanings of a table's columns, and their problems."""

    columns: list[Column] = field(default_factory=list)
    problems: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """(heading, message id, values)"""
    suggestions: list[tuple[str, str]] = field(default_factory=list)
    """Pairs for --map that solve problems: (#number, question's id or `-`)."""
    layout: Layout = ""

    def identify(self, cells: Sequence[str]) -> bool:
        """Return whether a row identifies the respondent or the time, so that an equal row is the same answer."""
        identities = [cells[column.index] for column in self.columns if column.role == "identity"]
        # LimeSurvey writes 1980-01-01 for every time in an anonymised survey
        return any(cell.strip() and not cell.startswith("1980-01-01") for cell in identities)

    def unfinished(self, cells: Sequence[str]) -> bool:
        """Return whether a row's respondent began the form and did not submit it."""
        moments = [
            cells[column.index].strip()
            for column in self.columns
            if _bare(column.heading) in FINISHED or plain(column.heading).startswith("submitdate. ")
        ]
        return any(moment in ("", "N/A") for moment in moments) or self._state(cells, "finished") in ("false", "0")

    def preview(self, cells: Sequence[str]) -> bool:
        """Return whether a row is a trial of the form in Qualtrics, or a robot's."""
        return self._state(cells, "status") in PREVIEWS

    def _state(self, cells: Sequence[str], name: str) -> str:
        """Return the cell of a column that only Qualtrics has; empty without it."""
        columns = self.columns if self.layout == "qualtrics" else []
        return next(
            (plain(cells[column.index]) for column in columns if not column.question and plain(column.heading) == name),
            "",
        )

    def certain(self, survey: Survey) -> list[Question]:
        """Return the questions whose columns are unambiguous."""
        doubtful = {values.get("question") for _, _, values in self.problems}
        return [question for question in survey.questions if self.of(question.id) and question.id not in doubtful]

    @property
    def token(self) -> Column | None:
        """The column of tokens."""
        return next((column for column in self.columns if column.role == "token"), None)

    def of(self, question: str) -> list[Column]:
        """Return the columns of a question."""
        return [column for column in self.columns if column.question == question]


def matching(survey: Survey, headings: Sequence[str]) -> int:
    """Return how many headings are questions, tokens or known headings of other programs."""
    return sum(_found(survey, index, heading) is not None for index, heading in enumerate(headings))


def columns_of(
    survey: Survey,
    headings: Sequence[str],
    mapping: Sequence[tuple[str, str]] = (),
    *,
    layout: Layout = "",
    rescaled: Collection[str] = (),
) -> Columns:
    """Return the meaning of each column of a table.

    `mapping` contains (heading or #number, question's id or `-`); `rescaled` the ids of questions whose levels the user
    maps, so that their headings may have another scale.
    """
    result = Columns(layout=layout)
    named, without = _said(survey, headings, mapping, result)
    mapped = {column.question for column in named.values()}
    unknown: list[tuple[int, str]] = []
    for index, heading in enumerate(headings):
        column = named.get(index) or _found(survey, index, heading, layout)
        if column is None:
            if heading.strip():
                unknown.append((index, heading))
            continue
        if column.question and index not in named and column.question in mapped:
            column = Column(index, heading, role="ignored")
        if column.question and column.question not in rescaled:
            _check_scale(survey, column, result)
        result.columns.append(column)
    missing = [question for question in survey.questions if not result.of(question.id) and question.id not in without]
    near = _nearest_questions(unknown, missing)
    _note_unknown(unknown, near, result)
    for question in survey.questions:
        if question in missing and question.id not in near.values():
            result.problems.append(
                (
                    "",
                    Message(
                        "survey_import.missing_column",
                        "no column matches question {question}",
                        hint="assign a column with --map 'HEADING={question}'; if it was not asked, use --map "
                        "'-={question}'",
                    ),
                    {"question": question.id},
                )
            )
        _note_double(question, result)
    if sum(column.role == "token" for column in result.columns) > 1:
        result.problems.append(
            (
                str(result.token.heading if result.token else ""),
                Message("survey_import.tokens_twice", "there are two columns of tokens"),
                {},
            )
        )
    return result


def _check_scale(survey: Survey, column: Column, result: Columns) -> None:
    """Note a scale in a heading that runs the other way than the question's, or has other levels."""
    question = next(question for question in survey.questions if question.id == column.question)
    scale = scale_of(column.heading) if question.kind == "rating" else None
    if scale is None:
        return
    if scale.reversed(question):
        levels = range(1, question.levels + 1)
        result.problems.append(
            (
                column.heading,
                Message(
                    "survey_import.reversed_scale",
                    "the scale of this column runs the other way than that of {question}",
                    hint="turn it: --values '{question}:{pairs}'",
                ),
                {
                    "question": question.id,
                    "pairs": ",".join(f"{level}={question.levels + 1 - level}" for level in levels),
                },
            )
        )
    elif scale.levels != question.levels:
        result.problems.append(
            (
                column.heading,
                Message(
                    "survey_import.other_scale",
                    "this column has {count} levels, {question} has {levels}",
                    hint="say which level each one is: --values '{question}:1=LEVEL,…,{count}=LEVEL'",
                ),
                {"question": question.id, "count": scale.levels, "levels": question.levels},
            )
        )


def _nearest_questions(unknown: Sequence[tuple[int, str]], missing: Sequence[Question]) -> dict[int, str]:
    """Return index of an unknown column → the missing question whose text is most similar, for a suggestion."""
    scores = sorted(
        (
            (_similarity(heading, question), -index, question.id)
            for index, heading in unknown[:MOST_COMPARED]
            for question in missing
        ),
        reverse=True,
    )
    near: dict[int, str] = {}
    for score, index, question in scores:
        if score >= SIMILAR and -index not in near and question not in near.values():
            near[-index] = question
    if len(unknown) == len(missing) == 1 and not near and _CODE.match(plain(unknown[0][1])):
        near[unknown[0][0]] = missing[0].id  # nothing else is left for either
    return near


def _similarity(heading: str, question: Question) -> float:
    """Return how similar a heading is to a question's texts, from 0 to 1."""
    from difflib import SequenceMatcher

    scale = scale_of(heading)
    word = _bare(scale.heading if scale else heading)[:LONGEST_COMPARED]
    best = 0.0
    for text in texts_of(question.text):
        other = _bare(text)[:LONGEST_COMPARED]
        if len(word) > 1 and len(other) > 1 and (word in other or other in word):
            best = max(best, 0.9)
        best = max(best, SequenceMatcher(None, word, other, autojunk=False).ratio())
    return best


def _note_unknown(unknown: Sequence[tuple[int, str]], near: dict[int, str], result: Columns) -> None:
    for index, heading in unknown:
        number, question = index + 1, near.get(index)
        result.suggestions.append((f"#{number}", question or IGNORED))
        message = (
            Message(
                "survey_import.near_column",
                "this column does not match a question; did you mean {near}? (column {number})",
                hint="assign it with --map '#{number}={near}', or skip it with --map '#{number}=-'",
            )
            if question
            else Message(
                "survey_import.no_column",
                "this column does not match a question (column {number}; read as {encoding})",
                hint="assign it with --map '#{number}=ID', or skip it with --map '#{number}=-'",
            )
        )
        result.problems.append((heading, message, {"number": number, "near": question or ""}))


def _note_double(question: Question, result: Columns) -> None:
    columns = result.of(question.id)
    parts = [column.option for column in columns]
    if len(set(parts)) == len(parts) and not (len(parts) > 1 and "" in parts):
        return
    numbers = ", ".join(f"#{column.index + 1}" for column in columns)
    values = {"question": question.id, "numbers": numbers, "number": columns[-1].index + 1}
    result.problems.append(
        (
            columns[-1].heading,
            Message(
                "survey_import.column_twice",
                "several columns match {question}: {numbers}",
                hint="skip all but one: --map '#{number}=-'",
            ),
            values,
        )
    )


def _said(
    survey: Survey, headings: Sequence[str], mapping: Sequence[tuple[str, str]], result: Columns
) -> tuple[dict[int, Column], set[str]]:
    """Return the columns in the user's mapping, and the questions without a column."""
    questions = {question.id: question for question in survey.questions}
    named: dict[int, Column] = {}
    without: set[str] = set()
    for name, identifier in mapping:
        if identifier != IGNORED and identifier not in questions:
            result.problems.append(
                (name, Message("survey.no_question", "there is no question {question}"), {"question": identifier})
            )
            continue
        if name == IGNORED:
            without.add(identifier)
            continue
        indices = [index for index, heading in enumerate(headings) if plain(heading) == plain(name)]
        if not indices and name.startswith("#") and name[1:].isdecimal() and 1 <= int(name[1:]) <= len(headings):
            indices = [int(name[1:]) - 1]
        if indices:
            named.update({index: _as_said(index, headings[index], identifier) for index in indices})
            continue
        parts = _parts(questions.get(identifier), headings, name)
        named.update({column.index: column for column in parts})
        if not parts:
            result.problems.append(
                (
                    name,
                    Message(
                        "survey_import.no_heading",
                        "no column has this heading",
                        hint="write the heading as in the file, or use the column number: --map '#3=ID'",
                    ),
                    {},
                )
            )
    return named, without


def _as_said(index: int, heading: str, identifier: str) -> Column:
    return Column(index, heading, role="ignored") if identifier == IGNORED else Column(index, heading, identifier)


def _parts(question: Question | None, headings: Sequence[str], name: str) -> list[Column]:
    """Return the columns `name[option]` of a question that has another code in the table: --map 'Q7=used'."""
    columns = []
    for index, heading in enumerate(headings):
        match = _PART.match(heading)
        if question is not None and question.kind == "choices" and match and plain(match[1]) == plain(name):
            option = _option_column(question, match[2])
            columns += [Column(index, heading, question.id, option)] if option else []
    return columns


def _found(survey: Survey, index: int, heading: str, layout: Layout = "") -> Column | None:
    """Return the meaning of a column by its heading; None if it is unknown."""
    found = _found_by(survey, index, heading, layout)
    coded = None if found else _LIMESURVEY.match(heading)
    if coded is not None:
        outer = _found_by(survey, index, coded[1], layout)
        found = Column(index, heading, outer.question, outer.option, outer.role) if outer else None
    scale = None if found else scale_of(heading)
    if scale is not None:
        # a scale belongs to a rating; another question with these words is another question
        outer = _found_by(survey, index, scale.heading, layout)
        kinds = {question.id: question.kind for question in survey.questions}
        found = Column(index, heading, outer.question) if outer and kinds.get(outer.question) == "rating" else None
    bare = heading if found else without_remark(heading)
    if bare != heading and not found:
        outer = _found_by(survey, index, bare, layout)
        found = Column(index, heading, outer.question, outer.option) if outer and outer.question else None
    return found


def _found_by(survey: Survey, index: int, heading: str, layout: Layout) -> Column | None:
    word = _bare(heading)
    question = _question(survey, word)
    if question is not None:
        return Column(index, heading, question.id)
    if word in TOKENS:
        return Column(index, heading, role="token")
    if word in IDENTITY:
        return Column(index, heading, role="identity")
    technical = word in TECHNICAL or _TIMING.match(word) or _OF_QUIZ.match(word)
    if technical or (layout == "qualtrics" and word in OF_QUALTRICS):
        return Column(index, heading, role="ignored")
    match = _PART.match(heading)
    if match is not None:
        outer, inner = _question(survey, _bare(match[1])), match[2].strip()
        if outer is not None and outer.kind == "choices":
            option = _option_column(outer, inner)
            return Column(index, heading, outer.id, option) if option else None
        if outer is not None and plain(inner) in _QUIZ_PARTS:
            return Column(index, heading, role="ignored")
        # the rows of a grid are separate questions here
        row = _question(survey, _bare(inner))
        return Column(index, heading, row.id) if row else None
    return None


def _bare(heading: str) -> str:
    """Return a heading for comparison: without numbering, the star of required questions, and a colon at its end."""
    word = plain(heading).rstrip("*:?。 ").strip()
    return _NUMBERED.sub("", word, count=1) if _NUMBERED.match(word) else word


def _question(survey: Survey, word: str) -> Question | None:
    if not word:
        return None
    matches = [question for question in survey.questions if question.id.lower() == word] or [
        question for question in survey.questions if word in [_bare(text) for text in texts_of(question.text)]
    ]
    if not matches:
        # LimeSurvey's headings with code and text: `length. 講習会時間`
        code = re.match(r"([a-z][a-z0-9_]*)\s*[.:]\s+\S", word)
        matches = [question for question in survey.questions if code and question.id.lower() == code[1]]
    return matches[0] if len(matches) == 1 else None


def _option_column(question: Question, inner: str) -> str:
    """Return the option of a column for one option; empty if there is none."""
    word = plain(inner)
    for value, label in question.options.items():
        if word == plain(value) or word in [plain(text) for text in texts_of(label)]:
            return value
    number = _SUBQUESTION.match(word)
    options = list(question.options)
    return options[int(number[1]) - 1] if number and 1 <= int(number[1]) <= len(options) else ""
