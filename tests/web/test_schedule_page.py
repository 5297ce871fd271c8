"""The schedule as a page: days and items as they are, what is on now, and only where it is published."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hackathon.config.event import Item
from hackathon.config.load import load_event
from hackathon.index.catalog import Catalog
from hackathon.text.messages import speaking
from hackathon.web.views.schedule import ScheduleView, values
from support.event_2019 import event_2019
from support.pages.rendered import HOSTILE, harmless, page, read


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    event_2019(tmp_path)
    return Catalog(event=load_event(tmp_path), event_folder=tmp_path, live=True)


@pytest.fixture(autouse=True)
def _zone() -> object:
    yield
    time.tzset()


def _at(source: Catalog, text: str) -> Catalog:
    return replace(source, now=time.mktime(time.strptime(text, "%Y-%m-%d %H:%M")))


def _view(source: Catalog, language: str = "en") -> ScheduleView:
    with speaking(language):
        found = values(source, "")
    assert found is not None
    view: ScheduleView = found["view"]
    return view


def test_the_schedule_of_2019(source: Catalog) -> None:
    view = _view(replace(source, live=False), "ja")
    assert [day.title for day in view.days] == ["2019年1月24日（木）", "2019年1月25日（金）"]
    assert [len(day.slots) for day in view.days] == [9, 3]
    assert [(slot.time, slot.title) for slot in view.days[0].slots[4:7]] == [
        ("11:20–11:40", "TensorFlow による分散学習"), ("", "休憩"), ("13:00–13:45", "参加者・チームの自己紹介"),
    ]  # fmt: skip
    assert view.days[1].slots[-1].time == "17:15–"
    assert not view.on and view.next is None and not any(slot.state for day in view.days for slot in day.slots)


@pytest.mark.parametrize(
    ("now", "on", "following", "wait"),
    [
        ("2019-01-24 09:45", "Reception", "Introduction to Reedbush-H, log-in", 15),
        ("2019-01-24 12:30", None, "Participants and teams introduce themselves", 30),
        ("2019-01-24 14:00", "Hands-on (free breaks)", "End", None),
        ("2019-01-24 23:00", "End", "Hands-on (free breaks)", None),
        ("2019-01-25 16:30", "Results presented and shared", "Questionnaire, end", 45),
    ],
)
def test_what_is_on_now(source: Catalog, now: str, on: str | None, following: str, wait: int | None) -> None:
    view = _view(_at(source, now))
    assert [slot.title for slot in view.on] == ([on] if on else [])
    assert view.next is not None and view.next.title == following and view.wait == wait
    html = page("schedule", _at(source, now))
    assert html.count('aria-current="time"') == len(view.on)
    read(html)


def test_before_and_after_the_event_nothing_is_on(source: Catalog) -> None:
    for now in ("2019-01-20 12:00", "2019-02-01 12:00"):
        view = _view(_at(source, now))
        assert not view.running and not view.on
    assert _view(_at(source, "2019-01-20 12:00")).next_day == "Thu, 24 January 2019"
    assert 'class="badge' not in page("schedule", _at(source, "2019-02-01 12:00"))


def test_a_night_goes_on_after_midnight(source: Catalog) -> None:
    assert source.event is not None
    event = replace(source.event, schedule=[Item("Night run", "2019-01-24", "22:00", "26:00")])
    late = _at(replace(source, event=event), "2019-01-25 01:30")
    assert [slot.time for slot in _view(late).on] == ["22:00–26:00"]
    assert not _view(_at(replace(source, event=event), "2019-01-25 02:30")).on


@pytest.mark.parametrize(
    ("now", "day"),
    [
        ("2019-01-24 10:30", ""),  # nothing is on, and the next item is hours away, but today
        ("2019-01-24 15:30", "Fri, 25 January 2019"),
        ("2019-01-25 00:30", ""),  # the night before goes on
    ],
)
def test_the_day_is_named_only_where_it_is_another(source: Catalog, now: str, day: str) -> None:
    assert source.event is not None
    items = [("2019-01-24", "09:00", "10:00"), ("2019-01-24", "14:00", "15:00"), ("2019-01-24", "22:00", "26:00"),
             ("2019-01-25", "13:00", "14:00")]  # fmt: skip
    if day:
        del items[2]
    event = replace(source.event, schedule=[Item("x", *each) for each in items])
    assert _view(_at(replace(source, event=event), now)).next_day == day


def test_the_site_shows_it_only_where_it_is_published(source: Catalog) -> None:
    assert source.event is not None
    secret = replace(source.event, publish=replace(source.event.publish, schedule=False))
    with speaking("en"):
        assert values(replace(source, event=secret, live=False), "") is None
        assert values(replace(source, event=secret), "") is not None, "the dashboard is the tutors' own"
        assert values(replace(source, event=replace(source.event, schedule=[]), live=False), "") is None
        assert values(source, "x") is None


def test_no_event_and_no_schedule_are_said(source: Catalog) -> None:
    assert source.event is not None
    for each in (Catalog(live=True), replace(source, event=replace(source.event, schedule=[]))):
        assert "This event has no schedule." in page("schedule", each)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_hostile_titles_are_only_text(source: Catalog, language: str) -> None:
    assert source.event is not None
    items = [Item(HOSTILE, "2019-01-24", "09:00", "24:00"), Item(HOSTILE, "2019-01-24")]
    event = replace(source.event, schedule=items, place=HOSTILE)
    harmless(page("schedule", _at(replace(source, event=event), "2019-01-24 12:00"), language))
