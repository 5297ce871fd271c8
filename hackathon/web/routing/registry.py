"""Maps kinds of pages to views."""

import importlib
from typing import Any

from hackathon.index.catalog import Catalog
from hackathon.web.page.addresses import OPTIONS, Options

VIEWS = {
    "now": ("now.html.j2", "hackathon.web.attention.now"),
    "wall": ("wall.html.j2", "hackathon.web.attention.wall"),
    "teams": ("teams.html.j2", "hackathon.web.views.teams"),
    "team": ("team.html.j2", "hackathon.web.views.team"),
    "study": ("study.html.j2", "hackathon.web.views.study"),
    "profile": ("profile.html.j2", "hackathon.web.views.profile"),
    "speedup": ("speedup.html.j2", "hackathon.web.views.speedup"),
    "run": ("run.html.j2", "hackathon.web.views.run"),
    "log": ("log.html.j2", "hackathon.web.listing.log"),
    "diff": ("diff.html.j2", "hackathon.web.views.diff"),
    "runs": ("runs.html.j2", "hackathon.web.listing.runs"),
    "compare": ("compare.html.j2", "hackathon.web.listing.compare"),
    "scaling": ("scaling.html.j2", "hackathon.web.views.scaling"),
    "board": ("board.html.j2", "hackathon.web.views.board"),
    "cluster": ("cluster.html.j2", "hackathon.web.views.cluster"),
    "schedule": ("schedule.html.j2", "hackathon.web.views.schedule"),
    "surveys": ("surveys.html.j2", "hackathon.web.listing.surveys"),
    "survey": ("survey.html.j2", "hackathon.web.views.survey"),
}
"""Kind → template and module; the module's `values(source, key)` returns the template's values, None: no such page."""


def values_of(kind: str, key: str, source: Catalog, options: Options = ()) -> tuple[str, dict[str, Any]] | None:
    """Return the template and the values of a page in the current language; None if there is no such page."""
    if kind not in VIEWS:
        return None
    template, module = VIEWS[kind]
    answer = importlib.import_module(module).values
    values: dict[str, Any] | None
    own = tuple(pair for pair in options if pair[0] in OPTIONS.get(kind, ()))
    values = answer(source, key, own) if own else answer(source, key)
    return None if values is None else (template, values)
