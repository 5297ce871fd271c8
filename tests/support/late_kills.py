"""Commands that are killed at named points, most of them after the scheduler or the disk has answered.

Each play kills one command `times` times at one point, does what a person would do next, and counts what is lost and
what is there twice, from what happened (programs that started, files that lie there), not from what commands say.
"""

import json
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hackathon.text.kill_points import PUBLISH_STEPS, REPLACE_STEPS
from support.backends import LocalBackend, Site
from support.injected import injected
from support.paths import TESTS
from support.patience import STRETCH
from support.survey.event import make_event
from support.trouble import ask, runs_in, start
from support.tuned_program import COMMAND, METRICS, PARAMETERS


class Outcome(NamedTuple):
    """What a play counted."""

    kills: int
    lost: int
    """What a command had put down, or the scheduler had taken, and is gone."""
    doubled: int
    """Jobs, trials, answers or posts that are there twice though nobody asked twice."""


Play = Callable[[Path, str, int], Outcome]


@dataclass
class _Person:
    """Somebody who types commands in a project whose program notes each of its starts."""

    site: Site
    kills: int = 0

    def killed(self, point: str, *words: str) -> None:
        """Run a command that has to die at a point."""
        process = start(self.site, *words, HACKATHON_FAULT=point)
        out, err = process.communicate(timeout=STRETCH * 120)
        assert process.returncode == -signal.SIGKILL, (point, words, out, err)
        self.kills += 1
        injected()

    def starts(self) -> Counter[str]:
        """Return how often the program of each run was started."""
        return Counter(path.parent.name for path in (self.site.folder / "runs").glob("*/started-*"))

    def outcome(self, runs: int, twice: int = 0) -> Outcome:
        """Return what is lost and doubled of runs that should have started once each."""
        starts = self.starts()
        again = sum(count - 1 for count in starts.values())
        return Outcome(self.kills, max(runs - len(starts), 0), again + twice + max(len(starts) - runs, 0))


def _person(folder: Path) -> _Person:
    site = Site(LocalBackend(folder), folder / "tuned", {"HACKATHON_LOCAL_SLOTS": "8"})
    site.write_project(COMMAND, parameters=PARAMETERS, metrics=METRICS)
    (site.folder / "program.py").write_bytes((TESTS / "support" / "tuned_program.py").read_bytes())
    return _Person(site)


_QUICK = ("-p", "epochs=1", "-p", "pause=0")


def submit(folder: Path, point: str, times: int) -> Outcome:
    """A submission dies after the scheduler took the job: the run has its one job, and `status` finds it."""
    person = _person(folder)
    try:
        for _ in range(times):
            person.killed(point, "submit", *_QUICK)
        waited = ask(person.site, "status", "--all", "--wait", "--json", seconds=600).json()["runs"]
        lost = sum(row["state"] != "SUCCEEDED" for row in waited)
        outcome = person.outcome(len(runs_in(person.site.folder)))
        return outcome._replace(lost=max(outcome.lost, lost, times - len(waited)))
    finally:
        person.site.backend.stop()


def scale(folder: Path, point: str, times: int) -> Outcome:
    """A study dies at a point, and is resumed: each of its points has one run, which started once."""
    person = _person(folder)
    try:
        for _ in range(times):
            before = set((person.site.folder / "studies").glob("[!.]*"))
            person.killed(point, "scale", "--processes", "1", "--repeat", "2", *_QUICK)
            (study,) = set((person.site.folder / "studies").glob("[!.]*")) - before
            assert ask(person.site, "scale", "--resume", study.name, "--wait", seconds=600).code == 0
        return person.outcome(2 * times)
    finally:
        person.site.backend.stop()


def tune(folder: Path, point: str, times: int) -> Outcome:
    """A tuner dies at a point, and is resumed: each trial is there once, has one run, which started once."""
    person = _person(folder)
    words = ("--sampler", "random", "--space", "lr=log:1e-3:1e-1", "--objective", "accuracy", "--trials", "2")
    words = (*words, "--stopper", "none", "--concurrent", "1", "--yes", *_QUICK)
    lost = doubled = 0
    try:
        for _ in range(times):
            before = set((person.site.folder / "studies").glob("[!.]*"))
            person.killed(point, "tune", *words)
            (study,) = set((person.site.folder / "studies").glob("[!.]*")) - before
            said = ask(person.site, "tune", "--resume", study.name, "--json", seconds=600)
            assert said.code == 0, said
            trials: list[dict[str, Any]] = said.json()["trials"]
            numbers = Counter(trial["number"] for trial in trials if trial["state"] == "finished")
            lost += 2 - len(numbers)
            doubled += sum(count - 1 for count in numbers.values())
        outcome = person.outcome(2 * times, doubled)
        return outcome._replace(lost=outcome.lost + lost)
    finally:
        person.site.backend.stop()


def answer(folder: Path, point: str, times: int) -> Outcome:
    """Answers from the own account: whole and counted, or not there; the next one of the account replaces it."""
    survey = make_event(folder / "event")
    survey.open(0)
    site = Site(LocalBackend(folder), folder / "event")
    person = _Person(site)
    lost = doubled = 0
    for number in range(times):
        words = ("survey", "answer", survey.name, "--shared", str(folder / "event" / "shared"))
        person.killed(point, *words, "-p", f"words=first {number}")
        answers = [str(one.values["words"]) for one in survey.answers()]
        if point == "after-link":
            lost += answers != [f"first {number}"]
        doubled += len(answers) > 1
        assert ask(site, *words, "-p", f"words=second {number}").code == 0
        answers = [str(one.values["words"]) for one in survey.answers()]
        lost += f"second {number}" not in answers
        doubled += len(answers) > 1
    return Outcome(person.kills, lost, doubled)


def post(folder: Path, point: str, times: int) -> Outcome:
    """A post is on the board as a whole once it has its name, and not at all before; those before it stay."""
    site = Site(LocalBackend(folder), folder / "event")
    (folder / "event").mkdir(parents=True)
    assert ask(site, "event", "init", "--title", "Event", "--json").code == 0
    person = _Person(site)
    lost = doubled = 0
    confirmed: list[str] = []
    for number in range(times):
        person.killed(point, "board", "post", f"cut {number}")
        assert ask(site, "board", "post", f"whole {number}").code == 0
        confirmed += [f"cut {number}"] if point == "after-name" else []
        confirmed += [f"whole {number}"]
    titles = Counter(row["title"] for row in ask(site, "board", "list", "--json").json()["posts"])
    lost += len(set(confirmed) - set(titles))
    doubled += sum(count - 1 for count in titles.values()) + len(set(titles) - set(confirmed))
    return Outcome(person.kills, lost, doubled)


def event(folder: Path, point: str, times: int) -> Outcome:
    """hackathon.yaml is the old one or the new one, each as a whole; the same command again comes to its end."""
    site = Site(LocalBackend(folder), folder / "events")
    (folder / "events").mkdir(parents=True)
    table = folder / "teams.csv"
    table.write_text("team,user,kind,name\nRed,root,,\nBlue,daemon,,\n")
    person = _Person(site)
    lost = doubled = 0
    for number in range(times):
        place = folder / "events" / f"event{number}"
        new = ("event", "init", str(place), "--title", "Event", "--json")
        more = ("event", "init", str(place), "--teams", str(table), "--json")
        if point in PUBLISH_STEPS:
            person.killed(point, *new)
            there = (place / "hackathon.yaml").exists()
            assert there == (point == "after-name")
            assert ask(site, *(more if there else (*new, "--teams", str(table)))).code == 0
        else:
            assert point in REPLACE_STEPS
            assert ask(site, *new).code == 0
            person.killed(point, *more)
            assert len(_teams(place)) == (2 if point == "after-replace" else 0)
            assert ask(site, *more).code == 0
        teams = _teams(place)
        lost += len({"Red", "Blue"} - set(teams))
        doubled += len(teams) - len(set(teams))
    return Outcome(person.kills, lost, doubled)


def _teams(place: Path) -> list[str]:
    value = yaml.safe_load((place / "hackathon.yaml").read_text())
    assert value["title"] == "Event", json.dumps(value)
    return [team["name"] for team in value.get("teams") or []]


PLAYS: dict[str, tuple[Play, tuple[str, ...]]] = {
    "submit": (submit, ("after-scheduler", "after-submitted")),
    "scale": (scale, ("after-reserved", "after-rename", "after-scheduler", "after-submitted")),
    "tune": (tune, ("after-trial", "after-reserved", "after-rename", "after-scheduler", "after-submitted")),
    "survey answer": (answer, ("after-hidden", "after-link")),
    "board post": (post, PUBLISH_STEPS),
    "event init": (event, (*PUBLISH_STEPS, *REPLACE_STEPS)),
}
"""Command → how it is played, and where it is killed."""
