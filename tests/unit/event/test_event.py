"""An event's file, schedule, people, teams from a table, and what `event init`, `check` and `show` say about them."""

import contextlib
import datetime
import errno
import io
import json
import os
import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hackathon.access.acl import ACCESS_LIST, group_list, packed
from hackathon.access.permissions import user_name
from hackathon.cli.main import run
from hackathon.config.check_event import KINDS, date_of, minutes_of, time_text
from hackathon.config.event import Event, Item, Member, Team, Tutor
from hackathon.config.load import load_event
from hackathon.config.problems import ConfigError
from hackathon.event.checks import look
from hackathon.event.draft import Draft, checked, event_text, left_as_written, scalar, with_teams
from hackathon.event.kinds import kind_label, kind_named, kinds_of
from hackathon.event.participation import participation, who_knows
from hackathon.event.schedule import date_text, days, now, overlaps
from hackathon.event.table import member_column, read_table
from hackathon.schedulers.registry import load_cluster
from hackathon.schedulers.slurm.parse import FIELD
from hackathon.text.errors import RequestError
from hackathon.text.messages import speaking
from support.event_2019 import DAYS, TEAMS, event_2019, values_2019
from support.paths import ROOT

FILE = Path("hackathon.yaml")


@dataclass
class Result:
    """What a command said and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def cli(*words: str) -> Result:
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = run(words)
    return Result(code, out.getvalue(), error.getvalue())


def problems(**changes: Any) -> list[tuple[str, str, int | None]]:
    """Return (message id, key path, line) of what is wrong with the event of 2019 after changes."""
    text = yaml.safe_dump({**values_2019(), **changes}, allow_unicode=True, sort_keys=False)
    try:
        checked(text, FILE)
    except ConfigError as error:
        return [(each.id.partition(".")[2], each.key, each.line) for each in error.problems]
    return []


def ids(**changes: Any) -> list[tuple[str, str]]:
    return [(identifier, key) for identifier, key, _ in problems(**changes)]


def item(**values: Any) -> list[dict[str, Any]]:
    return [{"title": "x", "day": DAYS[0], **values}]


# the file


def test_the_event_of_2019_is_a_valid_file(tmp_path: Path) -> None:
    event_2019(tmp_path)
    event = load_event(tmp_path)
    assert [team.name for team in event.teams] == list(TEAMS)
    assert problems() == []


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (item(start="09:30", end="9:45"), []),
        (item(start="22:00", end="26:00"), []),
        (item(start="24:30"), []),
        (item(), []),
        (item(start="22:00", end="02:00"), [("end_before_start", "schedule[1].end")]),
        (item(start="30:00", end="26:00"), [("end_earlier", "schedule[1].end")]),
        (item(start="10:00", end="10:00"), [("end_at_start", "schedule[1].end")]),
        (item(end="10:00"), [("end_alone", "schedule[1].end")]),
        (item(start="9.30"), [("bad_time", "schedule[1].start")]),
        (item(start="09:60", end="48:00"), [("bad_time", "schedule[1].start"), ("bad_time", "schedule[1].end")]),
        (item(start="０９：３０"), [("bad_time", "schedule[1].start")]),
        (item(day="2019-01-26"), [("day_outside", "schedule[1].day")]),
        (item(day="2019-02-29"), [("bad_date", "schedule[1].day")]),
        (item(day="24 Jan"), [("bad_date", "schedule[1].day")]),
    ],
)
def test_items_of_the_schedule(schedule: Any, expected: list[tuple[str, str]]) -> None:
    assert ids(schedule=schedule) == expected


def test_an_end_after_midnight_is_told_how_to_write() -> None:
    text = yaml.safe_dump({"title": "x", "schedule": item(start="22:00", end="02:15")})
    with pytest.raises(ConfigError, match=r"after midnight write 26:15"):
        checked(text, FILE)
    with speaking("ja"), pytest.raises(ConfigError, match=r"26:15 と書いてください"):
        checked(text, FILE)


def test_people_stand_once_and_have_known_kinds() -> None:
    teams = [
        {"name": "A", "members": [{"user": "ann", "kind": "masters"}, {"user": "ann"}, {"user": "a b"}]},
        {"name": "B", "members": [{"user": "ann", "kind": "guest"}], "tutors": ["tomoo"]},
        {"name": "B", "members": [{"user": "ben", "kind": "zzz"}]},
    ]
    tutors = [{"user": "tomo"}, {"user": "tomo"}]
    assert ids(teams=teams, tutors=tutors, kinds={"guest": "Guest"}, chosen=None) == [
        ("no_kind_near", "teams[1].members[1].kind"),
        ("member_twice", "teams[1].members[2].user"),
        ("user_name", "teams[1].members[3].user"),
        ("member_elsewhere", "teams[2].members[1].user"),
        ("no_tutor_near", "teams[2].tutors[1]"),
        ("team_twice", "teams[3].name"),
        ("no_kind", "teams[3].members[1].kind"),
        ("tutor_twice", "tutors[2].user"),
    ]


def test_names_that_look_alike_are_one_name() -> None:
    teams = [{"name": "が"}, {"name": "か\u3099"}]
    assert ids(teams=teams, chosen=None) == [("team_twice", "teams[2].name")]


def test_every_problem_has_its_line() -> None:
    found = problems(schedule=[*values_2019()["schedule"], *item(start="25:99")], dates=[*DAYS, DAYS[0]])
    text = yaml.safe_dump({**values_2019(), "dates": [*DAYS, DAYS[0]]}, allow_unicode=True, sort_keys=False)
    assert (found[0][0], found[0][2]) == ("date_twice", text.splitlines().index(f"- '{DAYS[1]}'") + 2)
    assert found[-1][0] == "bad_time" and found[-1][2] is not None and found[-1][2] > len(text.splitlines())


def test_counts_agree() -> None:
    assert ids(chosen=5) == [("chosen_few", "chosen")]
    assert ids(applied=7) == [("applied_few", "applied")]
    assert ids(applied=8) == []
    teams = [{**team, "took_part": False} for team in values_2019()["teams"]]
    assert ids(chosen=0, teams=teams) == []


@given(st.integers(0, 47 * 60 + 59))
def test_times_are_read_as_they_are_written(minutes: int) -> None:
    assert minutes_of(time_text(minutes)) == minutes


@given(st.text(max_size=12))
def test_other_texts_are_no_times_and_dates(text: str) -> None:
    minutes = minutes_of(text)
    assert minutes is None or (0 <= minutes < 48 * 60 and text.isascii())
    known = date_of(text)
    assert known is None or text == "{:04d}-{:02d}-{:02d}".format(*known)


# the schedule


def test_the_schedule_of_2019_by_days(tmp_path: Path) -> None:
    event_2019(tmp_path)
    first, second = days(load_event(tmp_path))
    assert (first.date, first.weekday, len(first.slots)) == ("2019-01-24", "Thu", 9)
    assert [slot.time for slot in first.slots][4:7] == ["11:20–11:40", "(no time)", "13:00–13:45"]
    assert [(slot.time, slot.title) for slot in second.slots] == [
        ("10:00–16:00", "Hands-on (free breaks)"),
        ("16:00–17:15", "Results presented and shared"),
        ("17:15–", "Questionnaire, end"),
    ]
    with speaking("ja"):
        first, _ = days(load_event(tmp_path))
        assert date_text(first.date) == "2019-01-24（木）"
        assert first.slots[5].time == "（時間未定）" and first.slots[5].title == "休憩"


def slots(*times: tuple[str | None, str | None], day: str = DAYS[0]) -> Event:
    return Event("x", schedule=[Item(str(number), day, *each) for number, each in enumerate(times)])


def test_items_come_by_time_and_one_without_a_time_stays_where_it_was_written() -> None:
    event = slots(("13:00", "14:00"), (None, None), ("09:00", None), ("9:00", "10:00"), (None, None))
    assert [slot.title for slot in days(event)[0].slots] == ["2", "3", "4", "0", "1"]


def pairs(event: Event) -> list[tuple[str, str]]:
    return [(one.title, other.title) for one, other in overlaps(event)]


def test_overlaps() -> None:
    assert pairs(slots(("09:00", "10:00"), ("10:00", "11:00"), (None, None), ("11:00", None))) == []
    assert pairs(slots(("09:00", "10:00"), ("09:59", "11:00"))) == [("0", "1")]
    assert pairs(slots(("09:00", "12:00"), ("10:00", None))) == [("0", "1")]
    assert pairs(slots(("09:00", None), ("08:00", "09:00"), ("09:00", "09:30"))) == []
    assert pairs(slots(("09:00", "12:00"), ("10:00", "10:30"), ("11:00", "11:30"))) == [("0", "1"), ("0", "2")]
    night = slots(("22:00", "26:00"))
    morning = Item("early", DAYS[1], "01:00", "03:00")
    assert pairs(Event("x", schedule=[*night.schedule, morning])) == [("0", "early")]
    assert pairs(Event("x", schedule=[*night.schedule, Item("later", DAYS[1], "02:00", "03:00")])) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=8))
def test_overlaps_are_those_that_share_a_minute(spans: list[tuple[int, int]]) -> None:
    event = slots(*((time_text(60 + begin), time_text(60 + begin + length)) for begin, length in spans))
    expected = {
        frozenset((one, other))
        for one in range(len(spans))
        for other in range(one)
        if set(range(spans[one][0], sum(spans[one]))) & set(range(spans[other][0], sum(spans[other])))
    }
    assert {frozenset((one.index, other.index)) for one, other in overlaps(event)} == expected


def at(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def test_what_is_on_now_and_what_is_next(tmp_path: Path) -> None:
    event_2019(tmp_path)
    event = load_event(tmp_path)

    def told(moment: str) -> tuple[list[str], str, int | None, bool]:
        found = now(event, at(moment))
        return [slot.title for slot in found.on], found.next.title if found.next else "", found.wait, found.running

    assert told("2019-01-24 10:40")[:3] == (["Distributed training basics"], "ChainerMN", 20)
    assert told("2019-01-24 12:00") == ([], "Participants and teams introduce themselves", 60, True)
    assert told("2019-01-24 18:00") == (["End"], "Hands-on (free breaks)", 16 * 60, True)
    assert told("2019-01-25 17:20") == (["Questionnaire, end"], "", None, True)
    assert told("2019-01-26 00:30") == ([], "", None, False)
    assert told("2019-01-23 23:30") == ([], "Reception", 600, False)
    night = slots(("23:00", "26:00"))
    assert [slot.title for slot in now(night, at("2019-01-25 01:59")).on] == ["0"]
    assert now(night, at("2019-01-25 01:59")).running and not now(night, at("2019-01-25 02:00")).running


# people


def test_who_took_part_in_2019(tmp_path: Path) -> None:
    event_2019(tmp_path)
    found = participation(load_event(tmp_path))
    assert (found.applied, found.chosen, found.took_part, found.people) == (None, 8, 6, 11)
    assert found.kinds == (("undergraduate", 1), ("master", 5), ("doctoral", 4), ("staff", 1))


def test_teams_that_did_not_come_are_chosen_and_count_for_nothing_else() -> None:
    teams = [Team("A", members=[Member("a", "master"), Member("b")]), Team("B", members=[Member("c")], took_part=False)]
    found = participation(Event("x", teams=teams))
    assert (found.chosen, found.took_part, found.people, found.kinds) == (2, 1, 2, (("master", 1), ("", 1)))


def test_kinds_have_labels_and_are_understood_by_them() -> None:
    event = Event("x", kinds={"pupil": {"en": "pupil", "ja": "高校生"}, "master": "M"})
    assert kinds_of(event) == [*KINDS, "pupil"]
    assert [kind_label(event, kind) for kind in ("pupil", "master", "staff", "", "other")] == [
        "pupil", "M", "university staff", "not given", "other",
    ]  # fmt: skip
    with speaking("ja"):
        assert kind_label(event, "pupil") == "高校生" and kind_label(event, "doctoral") == "博士課程"
    words = {
        "高校生": "pupil", "修士課程": "master", "Doctoral Student": "doctoral", "Ｄ２": "doctoral",
        "学部": "undergraduate", "Master’s student": "master", "企業": "company", "friend": None,
    }  # fmt: skip
    assert {word: kind_named(event, word) for word in words} == words


def test_who_knows() -> None:
    event = Event("x", tutors=[Tutor("a", knows=["NCCL", "PyTorch DDP"]), Tutor("b", knows=["ＮＣＣＬ tuning"])])
    assert [tutor.user for tutor in who_knows(event, "nccl")] == ["a", "b"]
    assert [tutor.user for tutor in who_knows(event, "DDP")] == ["a"]
    assert who_knows(event, " ") == []


# teams from a table

Write = Callable[[str, str], Path]


@pytest.fixture
def table(tmp_path: Path) -> Write:
    def write(text: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "teams.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


ROWS = """チーム,アカウント,区分,氏名,チューター,課題
ひので,haruto,博士課程,"佐藤, 太郎",tomo;tamaki,digits
ひので,ｈｉｎａ,M1,,tomo,

Aurora,,,,,
""".replace("\n", "\r\n")
PEOPLE = [Member("haruto", "doctoral", "佐藤, 太郎"), Member("hina", "master")]
READ = (Team("ひので", None, PEOPLE, ["tomo", "tamaki"], project="digits"), Team("Aurora"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_table_in_every_usual_form(table: Write, encoding: str, separator: str) -> None:
    text = ROWS.replace("佐藤, 太郎", "佐藤氏").replace(",", separator).replace("佐藤氏", "佐藤, 太郎")
    found = read_table(table(text, encoding))
    assert found.teams == READ
    assert found.encoding == ("cp932" if encoding == "cp932" else "utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("event.table_empty", 1, "")]),
        ("team,user\n", [("event.table_empty", 1, "")]),
        ("name,user\nA,a\n", [("event.table_no_team", 1, "")]),
        ("team,users\nA,a\n", [("event.table_column", 1, "")]),
        ("team,user,team\nA,a,B\n", [("event.table_column_twice", 1, "team")]),
        ("team,user,ユーザ\nA,a,b\n", [("event.table_column_twice", 1, "user")]),
        ("team,user\nA,a\nB,a\n", [("event.table_user_twice", 3, "user")]),
        ("team,user\n,a\n", [("event.table_no_name", 2, "team")]),
        ("team,user\nA,a,b\n", [("event.table_cells", 2, "")]),
        ("team,user,kind\nA,a,masterr\nA,b,???\n", [("config.no_kind_near", 2, "kind"), ("config.no_kind", 3, "kind")]),
        ("team,user,kind\nA,,master\n", [("event.table_no_user", 2, "user")]),
        ("team,member 1 name,name1\nA,Ann,Bob\n", [("event.table_column_twice", 1, '"name 1"')]),
        ("team,user,アカウント2\nA,ann,ann\n", [("event.table_user_twice", 2, "user")]),
        ("team,user\nA,a/b\n", [("config.user_name", 2, "user")]),
        ("team,user,group\nA,a,g1\nA,b,g2\n", [("event.table_differs", 3, "group")]),
        ('team,user\nA,"a\nb\n', [("event.table_quote", 2, "")]),
        ('team,name,user\nA,"two\nlines",a\nA,,a\n', [("event.table_user_twice", 4, "user")]),
    ],
)
def test_what_is_wrong_with_a_table(table: Write, text: str, expected: list[tuple[str, int, str]]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_table(table(text))
    assert [(each.id, each.line, each.key) for each in caught.value.problems] == expected
    for language in ("en", "ja"):
        with speaking(language):
            assert all(f"teams.csv:{line}" in caught.value.message for _, line, _ in expected)


@pytest.mark.parametrize(
    "head",
    [
        "member 1 user,member 1 name,member 1 kind,member 2 user,member 2 name,member 2 kind",
        "アカウント1,氏名1,身分1,アカウント2,氏名2,身分2",
        "メンバー1のアカウント,メンバー1の氏名,メンバー1の区分,メンバー2のアカウント,メンバー2の氏名,メンバー2の区分",
        "代表者アカウント,代表者氏名,代表者身分,利用者番号（2人目）,氏名（2人目）,身分（2人目）",
        "User_1,Name_1,Kind_1,user 2,name 2,kind 2",
    ],
)
def test_members_side_by_side_are_read(table: Write, head: str) -> None:
    order = [member_column(name)[1] for name in head.split(",")[:3]]
    people = [{"user": "a01", "name": "青木", "kind": "修士課程"}, {"user": "b02", "name": "馬場", "kind": "博士課程"}]
    both = ",".join(person[column] for person in people for column in order)
    alone = ",".join({"user": "", "name": "千葉", "kind": "修士課程"}[column] for column in order)
    rows = f"北,{both},窓側\n南,{alone},,,,\n"
    found = read_table(table(f"チーム名,{head},備考\n{rows}"))
    assert [(team.name, [(each.user, each.name) for each in team.members]) for team in found.teams] == [
        ("北", [("a01", "青木"), ("b02", "馬場")]), ("南", [("", "千葉")]),
    ]  # fmt: skip
    assert [each.kind for each in found.teams[0].members] == ["master", "doctoral"]
    assert found.ignored == ("備考",)


@pytest.mark.parametrize("head", ["代表者 氏名,区分", "氏名（1人目）,区分", "氏名,区分"])
def test_what_has_no_number_is_the_first_members(table: Write, head: str) -> None:
    rows = "北,青木,修士課程,馬場,博士課程\n南,千葉,修士課程,,\n"
    found = read_table(table(f"チーム名,{head},氏名（2人目）,区分（2人目）\n{rows}"))
    assert [[(member.name, member.kind) for member in team.members] for team in found.teams] == [
        [("青木", "master"), ("馬場", "doctoral")], [("千葉", "master")],
    ]  # fmt: skip


def test_a_form_as_it_was_exported() -> None:
    found = read_table(ROOT / "tests" / "samples" / "surveys" / "teams_form.csv")
    assert [len(team.members) for team in found.teams] == [3, 2, 2, 2, 1, 1]
    again = read_table(ROOT / "tests" / "samples" / "surveys" / "teams_form2.csv")
    assert again.teams == found.teams and found.teams[0].members[0].kind == "master"


@pytest.mark.parametrize(
    "head", ["電話1", "project 2", "氏名", "name", "1", "member 2", "課題1", "年齢（1人目）", "user name of 3 systems"]
)
def test_other_columns_are_nobodys(head: str) -> None:
    assert member_column(head) is None


def test_a_team_without_accounts_can_be_planned(tmp_path: Path) -> None:
    members = [{"name": "青木", "kind": "master"}, {"name": "馬場"}, {"user": "c03"}]
    path = event_2019(tmp_path, teams=[], tutors=[], schedule=[], chosen=1)
    values = {**yaml.safe_load(path.read_text("utf-8")), "teams": [{"name": "北", "members": members}]}
    path.write_text(yaml.safe_dump(values, allow_unicode=True), "utf-8")
    event = load_event(tmp_path)
    assert event.teams[0].accounts == ["c03"] and participation(event).people == 3
    (found,) = [each for each in look(tmp_path)[1] if each.id == "member_no_user"]
    assert found.level == "warning" and found.values["names"] == "青木, 馬場"
    text = path.read_text("utf-8")
    path.write_text(text.replace("name: 馬場", "kind: master"), "utf-8")
    with pytest.raises(ConfigError):
        load_event(tmp_path)


def test_a_table_that_is_no_text_or_no_file(table: Write, tmp_path: Path) -> None:
    path = tmp_path / "teams.csv"
    path.write_bytes("team,user\nA,a\n".encode("utf-16"))
    with pytest.raises(ConfigError, match="neither UTF-8 nor cp932"):
        read_table(path)
    path.write_bytes(b"team,user\nA,\x81 a\n")
    with pytest.raises(ConfigError, match=r"teams.csv:2: neither"):
        read_table(path)
    path.write_bytes(b"team,user\nA,\xff\n")
    with pytest.raises(ConfigError, match=r"teams.csv:2: neither"):
        read_table(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_table(path)


def test_formulas_of_a_table_stay_text(table: Write) -> None:
    found = read_table(table("team,user,name\n'=cmd|x,a,'+1\n"))
    assert (found.teams[0].name, found.teams[0].members[0].name) == ("=cmd|x", "+1")
    event = checked(event_text(Draft("x", teams=found.teams)), FILE)
    assert event.teams == list(found.teams)


# writing the file

NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20).filter(str.strip)


@settings(max_examples=30)
@given(
    title=NAMES,
    place=st.just("") | NAMES,
    teams=st.lists(NAMES, max_size=4, unique=True),
    person=NAMES,
)
def test_a_draft_of_any_names_is_read_back_as_it_was(title: str, place: str, teams: list[str], person: str) -> None:
    if len({unicodedata.normalize("NFC", name) for name in teams}) < len(teams):
        return
    made = tuple(Team(name, members=[Member(f"u{at}", "staff", person)], tutors=["t"]) for at, name in enumerate(teams))
    draft = Draft(title, DAYS, place, "reedbush-h", "h-debug" if place else "", teams=made)
    for language in ("en", "ja"):
        with speaking(language):
            event = checked(event_text(draft), FILE)
    assert (event.title, event.place, event.dates) == (title, place, list(DAYS))
    assert tuple(event.teams) == made
    assert [tutor.user for tutor in event.tutors] == (["t"] if made else [])


@pytest.mark.parametrize(("language", "first"), [("en", ["en", "ja"]), ("ja", ["ja", "en"])])
def test_pages_are_in_the_organisers_language_first(language: str, first: list[str]) -> None:
    with speaking(language):
        assert checked(event_text(Draft("H")), FILE).languages == first


@settings(max_examples=50)
@given(NAMES)
def test_scalars_are_texts(text: str) -> None:
    assert checked(f"title: {scalar(text)}", FILE).title == text


def test_what_stands_in_comments_of_a_draft_is_valid_without_them() -> None:
    for language in ("en", "ja"):
        with speaking(language):
            lines = event_text(Draft("x", dates=DAYS)).splitlines()
        event = checked("\n".join(re.sub(r"^( *)# (?= *(- |[a-z_-]+:))", r"\1", line) for line in lines), FILE)
        assert event.clusters["reedbush-h"].budget and event.clusters["reedbush-h"].queue == "h-debug"
        assert [team.name for team in event.teams] == ["Aurora"] and event.tutors and len(event.schedule) == 3
        assert event.when_spent == "refuse"


TEXT = """# mine
title: x
teams:   # ours
  - name: A
    members:
      - {user: a}
    # a note on A

# tutors come here
tutors:
- user: t
schedule: []
"""


def test_teams_of_a_table_that_are_left_as_written_are_told() -> None:
    text = "title: x\nteams:\n- name: A\n  members:\n  - {name: Ann}\n"
    for more in (Team("A", members=[Member("ann", "", "Ann")]), Team("A", members=[Member("new")]), Team("A", "gz1")):
        assert left_as_written(text, FILE, [more]) == ["A"]
    assert left_as_written(text, FILE, [Team("A", members=[Member("", "", "Ann")]), Team("B")]) == []


def test_teams_are_added_and_nothing_else_changes() -> None:
    teams = [Team("A", members=[Member("zz")]), Team("B", "gz1", [Member("b", "staff")], ["t", "new"])]
    text, names = with_teams(TEXT, FILE, teams)
    event = checked(text, FILE)
    assert names == ["B"]
    assert [team.name for team in event.teams] == ["A", "B"] and event.teams[1] == teams[1]
    assert [tutor.user for tutor in event.tutors] == ["t", "new"]
    assert [line for line in TEXT.splitlines() if line not in text.splitlines()] == []
    assert text.index("# a note on A") < text.index("name: B") < text.index("# tutors come here")
    assert with_teams(text, FILE, teams) == (text, [])


@pytest.mark.parametrize("text", ["title: x", "title: x\nteams: []\n", "title: x\n\n\n", "teams: []\ntitle: x\n"])
def test_teams_are_added_where_there_are_none(text: str) -> None:
    added, names = with_teams(text, FILE, [Team("B", tutors=["t"])])
    assert names == ["B"] and checked(added, FILE).teams == [Team("B", tutors=["t"])]


def test_what_is_written_behind_an_empty_list_stays() -> None:
    text = "title: x\nteams: []   # filled in by Sato\r\ntutors: [ ]  # from Osaka: two\n"
    added, _ = with_teams(text, FILE, [Team("B", tutors=["t"])])
    assert "teams:   # filled in by Sato\r\n- name: B" in added and "tutors:  # from Osaka: two\n- " in added


@pytest.mark.parametrize("lists", ["teams: [{name: A}]", "teams:\n  []", "teams: [  # none\n]", "teams: &a []"])
def test_lists_in_brackets_are_left_to_people(lists: str) -> None:
    with pytest.raises(RequestError) as caught:
        with_teams(f"title: x\n{lists}\n", FILE, [Team("B")])
    assert caught.value.id == "event.list_in_brackets" and "hackathon.yaml:2" in caught.value.message


# commands


def test_init_writes_once_and_mends(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "event"
    words = ("event", "init", str(folder))
    dry = cli(*words, "--title", "テスト", "--date", "2099-01-24", "--dry-run")
    assert dry.exit_code == 0 and 'title: "テスト"' in dry.stdout and not folder.exists()
    first = cli(*words, "--title", "テスト", "--date", "2099-01-24", "--tutor", "root")
    assert first.exit_code == 0, first.stderr
    assert (folder / "surveys").stat().st_mode & 0o777 == 0o700
    assert (folder / "shared" / "board.json").is_file()
    text = (folder / "hackathon.yaml").read_text()
    again = cli(*words, "--title", "Other")
    assert again.exit_code == 2 and "already exists" in again.stderr
    assert (folder / "hackathon.yaml").read_text() == text
    (folder / "surveys").chmod(0o755)
    assert cli(*words).exit_code == 0
    assert (folder / "surveys").stat().st_mode & 0o777 == 0o700


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


def test_init_asks_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "event"
    answers = ["", "2099-01-24, tomorrow", "2099-01-24", "柏", "reedbush-hh", "reedbush-h", "", "2", "tomo", "y"]
    error = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(answers) + "\n"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
        assert run(["event", "init", str(folder)]) == 0
    said = error.getvalue()
    assert '"tomorrow" is not a date' in said and "did you mean `reedbush-h`?" in said and "title: event" in said
    event = load_event(folder)
    assert (event.title, event.dates, event.place, list(event.clusters)) == (
        "event",
        ["2099-01-24"],
        "柏",
        ["reedbush-h"],
    )
    assert event.clusters["reedbush-h"].queue == "h-debug" and len(event.teams) == 2 and event.tutors[0].user == "tomo"
    assert sorted(each.name for each in folder.iterdir()) == ["hackathon.yaml", "shared", "surveys"]


def test_init_writes_nothing_when_the_answer_is_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\n" * 6 + "n\n"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(Terminal()):
        assert run(["event", "init", str(tmp_path / "event")]) == 0
    assert list(tmp_path.iterdir()) == []


def test_init_takes_a_file_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    source = event_2019(tmp_path / "source")
    done = cli("event", "init", str(tmp_path / "event"), "--from", str(source), "--json")
    value = json.loads(done.stdout)
    assert done.exit_code == 0 and value["teams_added"] == list(TEAMS)
    assert (tmp_path / "event" / "hackathon.yaml").read_bytes() == source.read_bytes()
    assert all((tmp_path / "event" / name).is_dir() for name in TEAMS)
    both = cli("event", "init", str(tmp_path / "both"), "--from", str(source), "--date", "2099-01-24")
    assert both.exit_code == 2 and "--from" in both.stderr and not (tmp_path / "both").exists()
    source.write_text(source.read_text().replace("17:15", "17:75"))
    wrong = cli("event", "init", str(tmp_path / "other"), "--from", str(source))
    assert wrong.exit_code == 2 and "schedule[8].end" in wrong.stderr and not (tmp_path / "other").exists()


def test_init_refuses_an_unknown_cluster_and_writes_nothing(tmp_path: Path) -> None:
    result = cli("event", "init", str(tmp_path / "event"), "--cluster", "reedbush-hh")
    assert result.exit_code == 2 and "reedbush-h" in result.stderr and not (tmp_path / "event").exists()


def test_init_warns_of_a_queue_that_the_profile_lacks_and_says_how_to_add_it(tmp_path: Path) -> None:
    made = cli("event", "init", str(tmp_path / "event"), "--cluster", "reedbush-h", "--queue", "h-tutorial")
    assert made.exit_code == 0 and (tmp_path / "event" / "hackathon.yaml").is_file()
    assert "reedbush-h has no queue h-tutorial; known: h-debug" in made.stderr
    assert "templates/clusters/reedbush-h.yaml" in made.stderr and "queues:" in made.stderr
    known = cli("event", "init", str(tmp_path / "other"), "--cluster", "reedbush-h", "--queue", "h-debug")
    assert known.exit_code == 0 and "no queue" not in known.stderr
    assert "templates/clusters/reedbush-h.yaml" in str(check(tmp_path / "event")[1]["queue_unknown"])


@pytest.mark.parametrize("name", ["organise-an-event.md", "organise-an-event.ja.md"])
def test_the_example_of_the_how_to_names_queues_of_the_profile(name: str) -> None:
    text = (ROOT / "docs" / "how-to" / name).read_text("utf-8")
    example = yaml.safe_load(re.search(r"```yaml\n(clusters:.*?)```", text, re.DOTALL)[1])  # type: ignore[index]
    for cluster, used in example["clusters"].items():
        assert used["queue"] in load_cluster(cluster, []).queues


def test_names_that_are_no_folders_are_told_and_nothing_is_made_outside(tmp_path: Path) -> None:
    names = ("../out", "shared", "surveys", ".hidden", "a/../../b", "Fine")
    teams = [{"name": name, "members": [{"user": f"u{number}"}]} for number, name in enumerate(names)]
    path = event_2019(tmp_path / "event", teams=teams, tutors=None, chosen=None)
    done = cli("event", "init", str(path.parent), "--json")
    value = json.loads(done.stdout)
    made = {each["team"] for each in value["folders"]} - {""}
    assert made == {"Fine"}
    assert [each["id"] for each in value["notes"] if each["id"] != "no_account"] == ["folder_reserved"] * 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["event"]
    found = json.loads(cli("event", "check", str(path.parent), "--json").stdout)["troubles"]
    assert [each["team"] for each in found if each["id"] == "folder_reserved"] == ["shared", "surveys", ".hidden"]
    missing = {each["team"] for each in found if each["id"] == "folder_elsewhere"}
    assert missing == {"../out", "a/../../b"}


def test_a_team_folder_on_the_way_to_another_is_a_team_folder(tmp_path: Path) -> None:
    teams = [{"name": name, "members": [{"user": f"u-{name}"}], "folders": [place]}
             for name, place in (("Inner", "hall/inner"), ("Outer", "hall"))]  # fmt: skip
    path = event_2019(tmp_path, teams=teams, tutors=None, chosen=None)
    value = json.loads(cli("event", "init", str(path.parent), "--json").stdout)
    assert [(Path(each["path"]).name, each["team"]) for each in value["folders"] if each["team"]] == [
        ("hall", "Outer"), ("inner", "Inner"),
    ]  # fmt: skip


def test_a_file_system_without_lists_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr("os.setxattr", refuse)
    teams = [{"name": "A", "members": [{"user": "root"}, {"user": "daemon"}]}]
    path = event_2019(tmp_path, teams=teams, chosen=None)
    result = cli("event", "init", str(path.parent))
    assert result.exit_code == 0 and "does not support access control lists" in result.stdout


def test_a_board_that_can_not_be_made_keeps_no_team_from_its_folder(tmp_path: Path) -> None:
    teams = [{"name": "A", "members": [{"user": "daemon"}]}]
    path = event_2019(tmp_path / "event", teams=teams, chosen=None, shared="../file/shared")
    (tmp_path / "file").touch()
    result = cli("event", "init", str(path.parent), "--json")
    states = {each["what"]: each["state"] for each in json.loads(result.stdout)["folders"]}
    assert result.exit_code == 1 and states == {"board": "missing", "surveys": "made", "team": "made"}


def test_a_team_that_disappears_keeps_its_folder(tmp_path: Path) -> None:
    me = user_name(os.geteuid())  # only root makes a folder for somebody else
    teams = [{"name": name, "members": [{"user": "no-such-account" if name == "A" else me}]} for name in "AB"]
    path = event_2019(tmp_path, teams=teams, chosen=None)
    assert cli("event", "init", str(tmp_path)).exit_code == 0
    assert "folder_stray" not in check(tmp_path)[1]
    path.write_text(path.read_text().replace("name: B", "name: C"))
    assert check(tmp_path)[1]["folder_stray"]["where"] == "B"
    assert cli("event", "init", str(tmp_path)).exit_code == 0 and (tmp_path / "B").is_dir()


def check(folder: Path, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit code of `event check` and the first trouble of each kind."""
    result = cli("event", "check", str(folder), "--json", *words)
    assert result.exit_code in (0, 1), result.stderr
    first: dict[str, dict[str, str]] = {}
    for each in json.loads(result.stdout)["troubles"]:
        first.setdefault(each["id"], each)
    return result.exit_code, first


def test_check_names_the_lines(tmp_path: Path) -> None:
    values = values_2019()
    values["schedule"] += [{"title": "Late", "day": DAYS[0], "start": "17:00", "end": "18:00"}]
    values["teams"][0]["tutors"] = []
    values["teams"][1]["members"] += [{"user": f"more{number}"} for number in range(2)]
    values["clusters"] = {
        "reedbush-h": {"queue": "h-debgu", "budget": {"tokens": 3}}, "reedbush-u": {"budget": {"gpu_hours": 3}},
        "nowhere": {"budget": {}},
    }  # fmt: skip
    path = event_2019(tmp_path, **values)
    code, found = check(tmp_path)
    assert code == 1
    assert {identifier: each["level"] for identifier, each in found.items()} == {
        "past": "warning", "overlap": "error", "queue_near": "error", "budget_tokens": "error", "budget_gpus": "error",
        "cluster_unknown": "error", "no_accounts_here": "warning", "team_no_tutor": "warning", "team_large": "remark",
        "kind_missing": "remark", "no_group": "warning", "no_board": "error", "folder_missing": "warning",
    }  # fmt: skip
    lines = path.read_text().splitlines()

    def line(identifier: str) -> str:
        name, _, number = found[identifier]["where"].rpartition(":")
        assert name == "hackathon.yaml"
        return lines[int(number) - 1].strip()

    assert line("overlap") == "- title: Late"
    assert "Hands-on" in found["overlap"]["what"] and found["overlap"]["remedy"]
    assert line("queue_near") == "queue: h-debgu" and "h-debug" in found["queue_near"]["what"]
    assert line("cluster_unknown") == "nowhere:"
    assert line("team_no_tutor") == "- name: Aurora"
    assert found["team_large"]["team"] == "Borealis"


def test_check_asks_the_scheduler_with_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event_2019(tmp_path, clusters={"slurm": {"queue": "debug"}})
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _, found = check(tmp_path, "--live")
    assert found["live_silent"]["level"] == "warning"
    assert "live_silent" not in check(tmp_path)[1]
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "sinfo"

    def partition(name: str, state: str) -> None:
        fields = FIELD.join((name, state, "4", "1:00:00", "0/4/0/4", "1-infinite"))
        program.write_text(f"#!/bin/sh\necho '{fields}'\n")
        program.chmod(0o755)

    partition("debug", "up")
    assert not {"live_silent", "live_unknown", "live_closed"} & set(check(tmp_path, "--live")[1])
    partition("debug", "down")
    assert check(tmp_path, "--live")[1]["live_closed"]["level"] == "warning"
    partition("batch", "up")
    code, found = check(tmp_path, "--live")
    assert code == 1 and "batch" in found["live_unknown"]["what"]


def test_warnings_alone_end_with_0(tmp_path: Path) -> None:
    path = event_2019(tmp_path / "event", schedule=None)
    assert cli("event", "init", str(path.parent)).exit_code == 0
    code, found = check(path.parent)
    assert code == 0 and found["no_schedule"]["level"] == "warning"
    assert found["no_schedule"]["where"] == "hackathon.yaml"
    for language, word in (("en", "warning"), ("ja", "警告")):
        text = cli("event", "check", str(path.parent), "--lang", language).stdout
        assert word in text and "ひので" in text


def test_an_administrator_s_script_that_is_not_needed_is_said_to_be_none(tmp_path: Path) -> None:
    done = cli("event", "init", str(tmp_path / "event"), "--title", "x", "--admin-script", str(tmp_path / "admin.sh"))
    assert done.exit_code == 0 and "admin.sh was not written" in done.stderr and not (tmp_path / "admin.sh").exists()


def test_show_in_both_languages(tmp_path: Path) -> None:
    event_2019(tmp_path)
    shown = cli("event", "show", str(tmp_path)).stdout
    assert "  09:30–10:00  Reception\n" in shown and "  (no time)    Break\n" in shown
    assert "  17:15–       Questionnaire, end\n" in shown
    assert "chosen: 8, took part: 6\n" in shown
    assert "people: 11 (undergraduate student 1, master's student 5, doctoral student 4, university staff 1)" in shown
    japanese = cli("event", "show", str(tmp_path), "--lang", "ja").stdout
    assert "  （時間未定）  休憩\n" in japanese and "参加者 11 人（学部学生 1 人、修士課程 5 人" in japanese
    value = json.loads(cli("event", "show", str(tmp_path), "--json").stdout)
    assert value["participation"]["people"] == 11 and len(value["schedule"][0]["slots"]) == 9


def test_show_tells_whom_to_ask(tmp_path: Path) -> None:
    event_2019(tmp_path)
    found = cli("event", "show", str(tmp_path), "--knows", "nccl")
    assert found.exit_code == 0 and "Tomo" in found.stdout and "Tamaki" not in found.stdout
    nobody = cli("event", "show", str(tmp_path), "--knows", "Fortran")
    assert nobody.exit_code == 1 and "Horovod" in nobody.stderr
    event_2019(tmp_path, tutors=[{"user": "tamaki"}], teams=[], chosen=None)
    assert "does not list what its tutors know" in cli("event", "show", str(tmp_path), "--knows", "NCCL").stderr


def test_show_tells_what_is_on(tmp_path: Path) -> None:
    today = datetime.date.today()
    days = [(today + datetime.timedelta(days=later)).isoformat() for later in (0, 1)]  # it may be midnight meanwhile
    items_now = [{"title": "All day", "day": day, "start": "00:00", "end": "24:00"} for day in days]
    event_2019(tmp_path, dates=days, schedule=items_now)
    assert "Now: All day (00:00–24:00)" in cli("event", "show", str(tmp_path)).stdout


def test_show_tells_that_it_has_not_begun_or_is_over(tmp_path: Path) -> None:
    event_2019(tmp_path)
    assert "The event is over: its last day was 2019-01-25 (Fri)." in cli("event", "show", str(tmp_path)).stdout
    assert "終了しました。最終日: 2019-01-25（金）" in cli("event", "show", str(tmp_path), "--lang", "ja").stdout
    assert json.loads(cli("event", "show", str(tmp_path), "--json").stdout)["now"]["phase"] == "over"
    event = load_event(tmp_path)
    assert [now(event, at(f"2019-01-{day} 23:59")).days for day in (20, 23, 24, 30)] == [4, 1, 0, 0]
    assert now(Event("x"), at("2019-01-24 12:00")).phase == ""
    later = (datetime.date.today() + datetime.timedelta(days=40)).isoformat()
    event_2019(tmp_path, dates=[later], schedule=None)
    assert re.search(r"Starts in (40|39) days\.", cli("event", "show", str(tmp_path)).stdout)  # 39: behind midnight


def test_hostile_names_steer_no_terminal(tmp_path: Path) -> None:
    name = "Evil\x1b[31m\u202eteam"
    values = values_2019()
    values["teams"][0].update(name=name, project=name)
    values["schedule"][0]["title"] = name
    event_2019(tmp_path, **values)
    for verb in ("show", "check", "init"):
        done = cli("event", verb, str(tmp_path))
        said = (done.stdout, done.stderr)
        for text in "".join(said).splitlines():
            assert "\x1b" not in text and "\u202e" not in text


def test_a_folder_without_an_event(tmp_path: Path) -> None:
    result = cli("event", "show", str(tmp_path))
    assert result.exit_code == 2 and "event init" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another group")
def test_a_file_that_a_group_of_one_may_write_is_the_organisers_own(tmp_path: Path) -> None:
    path = event_2019(tmp_path)

    def found(gid: int, mode: int, folder_mode: int = 0o755) -> list[str]:
        for each, bits in ((path, mode), (path.parent, folder_mode)):
            os.chown(each, 71001, gid)
            each.chmod(bits)
        return [trouble.id for trouble in look(path.parent)[1] if trouble.id in ("file_open", "folder_open")]

    assert found(71001, 0o664, 0o775) == []  # umask 002: the account's own group
    assert found(72001, 0o664, 0o1775) == ["file_open"]
    assert found(72001, 0o644, 0o775) == ["folder_open"]
    assert found(71001, 0o666, 0o777) == ["file_open", "folder_open"]
    assert found(71001, 0o644) == []
    os.setxattr(path, ACCESS_LIST, packed(group_list(0o644, [(71002, 6)], [])))
    assert "file_open" in [trouble.id for trouble in look(path.parent)[1]]
