"""A closed survey as a page of the site: its numbers, its small groups, its free answers, and when it is made anew."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from hackathon.board.directory import make_place
from hackathon.config.load import load_event
from hackathon.config.problems import ConfigError
from hackathon.index.catalog import Catalog
from hackathon.survey.collection import find_collection
from hackathon.text.messages import speaking
from hackathon.web.listing.surveys import values as live_values
from hackathon.web.masking.mask import Mask
from hackathon.web.page.figures import Figure
from hackathon.web.report.report import report_view
from hackathon.web.report.sentences import words_of
from hackathon.web.site.publish import publish
from hackathon.web.site.site_map import SiteMap
from hackathon.web.views import home
from hackathon.web.views.published_surveys import mark, published, unreadable
from hackathon.web.views.survey import SurveyView, values
from support.event_2019 import event_2019
from support.pages.rendered import HOSTILE, harmless, page, read
from support.survey.closed import write_survey


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the drawing to the tests of figures: a page comes without it."""
    from hackathon.web.views import survey

    monkeypatch.setattr(survey, "drawn", lambda figures, _: (list(figures), ""))


@pytest.fixture
def event(tmp_path: Path) -> Path:
    folder = tmp_path / "event"
    event_2019(folder)
    make_place(folder / "shared", "sticky")
    return folder


def _source(folder: Path) -> Catalog:
    return Catalog(event=load_event(folder), event_folder=folder)


def _view(folder: Path, name: str = "after", language: str = "en") -> tuple[SurveyView, list[Figure]]:
    with speaking(language):
        found = values(_source(folder), name)
    assert found is not None
    return found["view"], found["figures"]


def test_no_team_is_told_apart_where_one_is_left_out(event: Path) -> None:
    teams = [team.name for team in load_event(event).teams if team.took_part][:2]
    place = event / "surveys" / "teams"
    place.mkdir(parents=True)
    asked = {"title": "S", "invited": 11, "breakdowns": ["team"], "questions": [
        {"id": "level", "kind": "rating", "text": "?", "low": "a", "high": "b", "target": "high"},
        {"id": "team", "kind": "choice", "text": "Team", "options_from": "teams"},
    ]}  # fmt: skip
    (place / "survey.yaml").write_text(yaml.safe_dump(asked))
    collection = find_collection("teams", event)
    for number, token in enumerate(collection.open(11)):
        collection.accept({"level": 1 + number % 5, "team": teams[number > 5]}, token)
    collection.close()
    (found,) = published(_source(event))
    assert [each.question.id for each in found.items] == ["level", "team"]
    assert [group.n for group in found.breakdowns[0].groups] == [6, 5]
    file = event / "hackathon.yaml"
    changed = yaml.safe_load(file.read_text("utf-8"))
    next(team for team in changed["teams"] if team["name"] == teams[0])["publish"] = False
    file.write_text(yaml.safe_dump(changed, allow_unicode=True), "utf-8")
    (found,) = published(_source(event))
    assert [each.question.id for each in found.items] == ["level"] and found.breakdowns == ()


def test_the_numbers_of_2019(event: Path) -> None:
    write_survey(event)
    view, figures = _view(event)
    assert (view.n, view.invited, view.rate) == (11, 11, 1.0)
    assert [f"{item.mean:.1f}" for item in view.ratings] == ["2.9", "3.2", "3.1", "4.1"]
    assert [count for _, count in view.ratings[0].counts] == [1, 1, 7, 2, 0]
    length, satisfaction = view.ratings[0], view.ratings[3]
    assert next((share.label, share.count) for share in length.shares) == ("In the middle", 7)
    assert length.direction == "2 towards “short”, 2 towards “long”"
    assert next((share.label, share.count) for share in satisfaction.shares) == ("Highest two levels", 9)
    assert satisfaction.direction == "", "a scale with a good end has no two bad ones"
    assert len(figures) == 1 and "Satisfaction" in str(figures[0].rows)
    reader = read(page("survey", _source(event), key="after"))
    assert "63.6 %" in reader.text and "35–85 %" in reader.text and "100.0 %" in reader.text
    assert "満足度" in page("survey", _source(event), "ja", key="after")


def test_more_answers_than_people_asked_are_no_rate(event: Path) -> None:
    write_survey(event)
    path = event / "surveys" / "after" / "closed" / "answers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "invited": 1}))
    view, _ = _view(event)
    assert (view.n, view.invited, view.rate) == (11, 1, None)
    assert "invited according to the event: 1" in page("survey", _source(event), key="after")


def test_groups_are_shown_where_all_are_large(event: Path) -> None:
    write_survey(event)
    view, _ = _view(event)
    (breakdown,) = view.breakdowns
    assert {(group.label, group.n) for group in breakdown.groups} == {("student", 6), ("staff", 5)}
    assert not breakdown.withheld


def test_a_small_group_is_nowhere_in_the_page(event: Path) -> None:
    write_survey(event, students=8)
    view, _ = _view(event)
    assert all(not each.groups and each.withheld for each in view.breakdowns)
    html = page("survey", _source(event), key="after")
    assert "Other groups are not shown" in html
    # neither the question itself, whose counts would tell it
    assert '<td class="n">3</td></tr>\n</tbody>' not in html and ">staff<" not in html


def test_fewer_than_the_smallest_group_show_nothing(event: Path) -> None:
    write_survey(event, values={"smallest_group": 12})
    view, figures = _view(event)
    assert not any(item.shown for item in view.ratings) and figures == [] and not view.texts
    text = read(page("survey", _source(event), key="after")).text
    assert "Fewer than 12 people answered" in text and "2.9" not in text


@pytest.mark.parametrize("reviewed", [True, False])
def test_free_answers_go_out_when_somebody_has_read_them(event: Path, reviewed: bool) -> None:
    write_survey(event, reviewed=reviewed)
    html = page("survey", _source(event), key="after")
    assert ("Slack" in html) == reviewed == ("What was good" in html)


def test_only_closed_surveys_and_only_on_the_site(event: Path) -> None:
    write_survey(event, close=False)
    source = _source(event)
    assert published(source) == []
    with speaking("en"):
        assert values(source, "after") is None
    write_survey(event, "later")
    assert [each.name for each in published(source)] == ["later"]
    with speaking("en"):
        assert values(source, "later") is not None
        assert values(replace(source, live=True), "later") is None
        assert values(source, "no") is None
    assert source.event is not None
    secret = replace(source.event, publish=replace(source.event.publish, surveys=False))
    with speaking("en"):
        assert values(replace(source, event=secret), "later") is None


def test_the_site_map_and_the_menu_lead_to_it(event: Path) -> None:
    write_survey(event)
    write_survey(event, "tutors", values={"audience": "tutors"})
    source = _source(event)
    assert source.event is not None
    site = SiteMap(source, source.event.publish, ["en", "ja"], Mask())
    names = [page.name for page in site.general]
    assert {"schedule", "survey-after", "survey-tutors"} <= set(names)
    home_page = site.general[0]
    assert site.link(home_page, "ja", "survey", "") == "survey-after.ja.html"
    assert site.link(home_page, "en", "survey", "tutors") == "survey-tutors.html"
    assert "survey-tutors.html" in site.addresses
    view, _ = _view(event)
    assert [name for name, _ in view.more] == ["tutors"]


def test_the_last_one_of_the_participants_stands_for_the_event(event: Path) -> None:
    for name, audience in (("zero", "participants"), ("after", "participants"), ("a-tutors", "tutors")):
        write_survey(event, name, values={"audience": audience, "title": name})
    source = _source(event)
    assert [each.name for each in published(source)] == ["zero", "after", "a-tutors"], "as they closed, not by name"
    assert source.event is not None
    site = SiteMap(source, source.event.publish, ["en"], Mask())
    assert site.link(site.general[0], "en", "survey", "") == "survey-after.html"
    with speaking("en"):
        found = home.values(source, "")
    assert found is not None and found["view"].answers.name == "after"


@pytest.mark.parametrize(("headline", "name", "rate"), [(False, "closing", "91.7 %"), (True, "pulse", "100.0 %")])
def test_the_headline_is_of_the_survey_with_most_invited_or_the_one_that_says_so(
    event: Path, headline: bool, name: str, rate: str
) -> None:
    write_survey(event, "closing", values={"title": "Closing survey", "invited": 12})
    write_survey(event, "pulse", values={"title": "Pulse of day 1", "headline": headline})
    title = {"closing": "Closing survey", "pulse": "Pulse of day 1"}[name]
    source = _source(event)
    with speaking("en"):
        found = home.values(source, "")
        assert found is not None and found["view"].answers.name == name
        summary = words_of(report_view(source, published(source)), masked=True).summary
    assert f"{rate} of those invited answered “{title}” (11 of 1" in summary and summary.count("answered") == 1


def test_the_first_page_tells_people_and_answers(event: Path) -> None:
    with speaking("en"):
        found = home.values(_source(event), "")
        assert found is not None and found["view"].answers is None and found["view"].people.people == 11
        write_survey(event)
        found = home.values(_source(event), "")
    assert found is not None
    view = found["view"]
    assert (view.people.took_part, view.people.chosen) == (6, 8)
    assert next((each.item, each.share) for each in view.highlights) == ("Satisfaction", "81.8 %")
    assert view.answers.rate == 1.0


@pytest.mark.slow
def test_a_release_of_free_answers_makes_the_pages_anew_and_nothing_else(event: Path, tmp_path: Path) -> None:
    folder = write_survey(event, reviewed=False)
    target = tmp_path / "out"
    source = _source(event)
    first = publish(source, target, languages=["en"])
    assert "survey-after.html" in first.files
    assert publish(source, target, languages=["en"]).made == []
    texts = folder / "texts.yaml"
    texts.write_text(texts.read_text("utf-8").replace("reviewed: false", "reviewed: true"), "utf-8")
    again = publish(source, target, languages=["en"])
    assert set(again.made) == {"survey-after.html", "survey-after.js", "index.html", "index.js"}
    assert "Slack" in (again.folder / "survey-after.html").read_text("utf-8")


def test_what_is_wrong_in_texts_yaml_is_told_with_its_line(event: Path) -> None:
    folder = write_survey(event)
    (folder / "texts.yaml").write_text("reviewed: perhaps\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        published(_source(event))
    assert "texts.yaml" in str(caught.value)


def test_nobody_is_named_in_a_free_answer(event: Path, tmp_path: Path) -> None:
    write_survey(event, comments=["Akari (akari) helped me on /lustre/gz00/akari/x."] * 5)
    published_site = publish(_source(event), tmp_path / "out", languages=["en"])
    text = (published_site.folder / "survey-after.html").read_text("utf-8")
    assert "helped me on" in text and "kari" not in text


def test_a_survey_that_this_account_may_not_read_is_passed_over(event: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_survey(event, "private")
    write_survey(event)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "private" not in str(path) and real(path, mode))
    assert [each.name for each in published(_source(event))] == ["after"]
    assert unreadable(event) == ["private"]


def test_a_folder_of_surveys_that_cannot_be_read_is_no_event_without_surveys(
    event: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replace(_source(event), live=True)
    assert "This event has no survey yet." in page("surveys", source)
    write_survey(event)
    real = os.listdir, os.scandir

    def closed(number: int) -> Callable[..., object]:
        def look(path: object = ".") -> object:
            if str(path).endswith("surveys"):
                raise PermissionError(13, "Permission denied", str(path))
            return real[number](path)  # type: ignore[call-overload]

        return look

    monkeypatch.setattr(os, "listdir", closed(0))
    monkeypatch.setattr(os, "scandir", closed(1))
    told = page("surveys", replace(source, now=source.now + 60))
    assert "not readable for you" in told and "no survey yet" not in told


@pytest.mark.parametrize("language", ["en", "ja"])
def test_hostile_answers_are_only_text(event: Path, language: str) -> None:
    write_survey(event, comments=[HOSTILE] * 5, values={"title": HOSTILE})
    harmless(page("survey", _source(event), language, key="after"))


def test_a_mark_changes_with_every_file(event: Path) -> None:
    folder = write_survey(event)
    changes: list[Callable[[], object]] = [
        lambda: (folder / "texts.yaml").write_text("reviewed: false\n"),
        lambda: (folder / "survey.yaml").write_text(yaml.safe_dump({"title": "x"})),
        lambda: (folder / "closed" / "more").write_text(""),
        lambda: (event / "surveys" / "new").mkdir(),
    ]
    seen = {mark(event)}
    for change in changes:
        change()
        seen.add(mark(event))
    assert len(seen) == 1 + len(changes)


def test_the_live_page_counts_answers_and_tells_nothing_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "event"
    event_2019(folder)
    make_place(folder / "shared", "sticky")
    write_survey(folder, "now", close=False, comments=["a secret opinion"], values={"invited": 16})
    write_survey(folder, "over", comments=[])
    draft = folder / "surveys" / "later"
    draft.mkdir()
    (draft / "survey.yaml").write_text((folder / "surveys/over/survey.yaml").read_text())
    broken = folder / "surveys" / "broken"
    broken.mkdir()
    (broken / "survey.yaml").write_text(f"title: {HOSTILE!r}\nquestions: 3\n")
    source = Catalog((), event=load_event(folder), event_folder=folder, live=True)
    with speaking("en"):
        found = live_values(source)
    assert found is not None
    rows = {row.name: row for row in found["view"].surveys}
    assert [row.state for row in found["view"].surveys][:2] == ["open", "draft"]
    assert (rows["now"].answers, rows["now"].invited) == (11, 16) and rows["now"].rate == pytest.approx(11 / 16)
    assert (rows["over"].answers, rows["over"].rate) == (11, 1.0)
    assert rows["later"].answers is None and rows["later"].rate is None
    assert rows["broken"].problem and rows["broken"].answers is None
    html = page("surveys", source)
    assert "11 of 16" in html and "secret opinion" not in html
    assert "<script" not in html
    assert live_values(replace(source, live=False)) is None
    assert live_values(replace(source, event=None)) is None
