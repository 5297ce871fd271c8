"""Surveys that are open for exports of other programs, for tests."""

from pathlib import Path

from hackathon.survey.collection import Collection, find_collection
from hackathon.survey.importing import Imported
from support.paths import ROOT

SAMPLES = ROOT / "tests" / "samples" / "surveys"
EVENT = """\
title: {ja: 催し, en: Event}
shared: shared
dates: [2026-11-27, 2026-11-28]
teams:
  - name: Aurora
    members:
      - {user: a1, kind: undergraduate}
      - {user: a2, kind: master}
      - {user: a3, kind: doctoral}
      - {user: a4, kind: staff}
"""
CLOSING = {"length": 32, "lecture": 35, "handouts": 34, "satisfaction": 45}
"""Sums of the levels in the eleven answers that most of the files contain."""


def opened(folder: Path, questionnaire: Path) -> Collection:
    """Return an open survey in an event of its own."""
    (folder / "shared").mkdir(parents=True)
    (folder / "surveys" / "closing").mkdir(parents=True)
    (folder / "hackathon.yaml").write_text(EVENT, encoding="utf-8")
    (folder / "surveys" / "closing" / "survey.yaml").write_text(
        questionnaire.read_text(encoding="utf-8"), encoding="utf-8"
    )
    collection = find_collection("closing", folder)
    collection.open(0)
    return collection


def sums(survey: Collection) -> dict[str, int]:
    """Return the sum of the levels of each rating."""
    answers = [answer.values for answer in survey.answers()]
    return {name: sum(int(str(values.get(name, 0))) for values in answers) for name in CLOSING}


def ids(imported: Imported) -> set[str]:
    """Return what the problems are called."""
    return {problem.id.partition(".")[2] for problem in imported.problems}


def remedies(imported: Imported) -> str:
    """Return what the problems advise."""
    return "\n".join(problem.remedy for problem in imported.problems)
