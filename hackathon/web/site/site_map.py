"""The pages and files of a published site and their names, by the available data and the event's publish rules."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from hackathon.config.event import Publish
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns, TeamRuns, best_series, by_study, by_team, results_of, run_key
from hackathon.profiling.traces.recording import FOLDER
from hackathon.runs.record import SPEEDUP_TAG
from hackathon.scaling.doubts import is_false
from hackathon.scaling.table import SUCCEEDED
from hackathon.web.masking.mask import Mask
from hackathon.web.page.photographs import Picture
from hackathon.web.views.published_surveys import foremost, published
from hackathon.web.views.schedule import shown as has_schedule

ALL_RESULTS = "results"
"""File name, without suffix, of the results of all studies."""
PICTURED = frozenset({"home", "scaling", "cluster", "survey", "team", "study", "run", "profile", "speedup"})
"""Kinds of pages that may have pictures, and so a file of `plot_files`."""
CRATES = "crates"
"""The folder of the runs' crates."""


_ID = re.compile(r"(\d{8}-\d{6})-(.+)-([a-z2-7]{8})\Z")


@dataclass(frozen=True)
class SitePage:
    """A page of the site, in every language."""

    kind: str
    key: str
    name: str
    """The name of its files, without language and suffix."""


@dataclass(frozen=True)
class SiteSection:
    """A team with its pages and files, which are created together, and again after any change."""

    team: TeamRuns
    studies: tuple[StudyRuns, ...]
    """Its displayed studies."""
    pages: tuple[SitePage, ...]
    crates: Mapping[str, RunEntry]
    """Path in the site → the run."""


class SiteMap:
    """The pages of a site and their addresses.

    `studies` (ids) leaves out all others, and all pages that are not about studies.
    """

    def __init__(
        self,
        source: Catalog,
        rules: Publish,
        languages: Sequence[str],
        mask: Mask,
        studies: Sequence[str] | None = None,
    ) -> None:
        self.languages = tuple(languages)
        self.event = source.event
        self._rules, self._mask = rules, mask
        self._taken: set[str] = {"index", ALL_RESULTS}
        self._names: dict[tuple[str, str], str] = {("home", ""): "index"}
        self._crates: dict[str, str] = {}
        self.general = [SitePage("home", "", "index")]
        if source.event is not None:
            conditions = {"schedule": has_schedule(source), "board": rules.board and bool(source.event.shared)}
            kinds = [
                kind for kind in ("schedule", "teams", "scaling", "board", "cluster") if conditions.get(kind, True)
            ]
            self.general += [self._page(kind, "", kind) for kind in kinds]
            surveys = published(source)
            self.general += [
                self._page("survey", survey.name, f"survey-{stable_name(mask.text(survey.name))}") for survey in surveys
            ]
            first = foremost(surveys)
            if first is not None:  # the address in the menu
                self._names[("survey", "")] = self._names[("survey", first.name)]
        self.parts = [self._part(team, studies, source.memory) for team in by_team(source)]
        names = [page.name for page in (*self.general, *(page for part in self.parts for page in part.pages))]
        self.addresses = frozenset(
            [self.file(name, language) for name in names for language in self.languages]
            + [f"{name}.{suffix}" for name in (*names, ALL_RESULTS) for suffix in ("csv", "json")]
            + [*self._crates.values(), "style.css"]
        )
        """All addresses that a page may contain."""

    def _part(self, team: TeamRuns, ids: Sequence[str] | None, memory: Memory) -> SiteSection:
        studies = [study for study in by_study(team.runs, memory) if ids is None or study.id in ids]
        pages = []
        if self.event is not None:
            pages.append(self._page("team", team.name, f"team-{stable_name(self._mask.text(team.name))}"))
        pages += [self._page("study", study.key, f"study-{self._plain_id(study.id)}") for study in studies]
        candidates = [run for study in studies for run in study.runs] if ids is not None else list(team.runs)
        runs = list(self._with_page(candidates, studies))
        for run in runs:
            pages.append(self._page("run", run_key(run), f"run-{self._plain_id(run.id)}"))
        recorded = [run for run in team.runs if FOLDER in run.tags]
        if recorded:
            from hackathon.web.views.profile import profile_of

            profiles = {
                run_key(profile): profile.id for run in runs if (profile := profile_of(run, recorded)) is not None
            }
            pages += [self._page("profile", key, f"profile-{self._plain_id(id)}") for key, id in profiles.items()]
        if ids is None and any(SPEEDUP_TAG in run.tags for run in team.runs):
            from hackathon.web.views.speedup import speedup_rows

            rows = speedup_rows(team.runs)
            pages += [self._page("speedup", row.key, f"speedup-{self._plain_id(row.id)}") for row in rows]
        crates: dict[str, RunEntry] = {}
        if self._rules.crates:
            for run in (run for study in studies for run in study.runs if run.state == SUCCEEDED):
                path = f"{CRATES}/{self._free(self._plain_id(run.id))}.zip"
                crates[path] = run
                self._crates[run_key(run)] = path
        return SiteSection(team, tuple(studies), tuple(pages), crates)

    def _with_page(self, runs: Sequence[RunEntry], studies: Sequence[StudyRuns]) -> Iterator[RunEntry]:
        if self._rules.runs == "all":
            yield from runs
        elif self._rules.runs == "best":
            yield from (run for study in studies if (run := best_run(study)) is not None)

    def _page(self, kind: str, key: str, name: str) -> SitePage:
        page = SitePage(kind, key, self._free(name))
        self._names[(kind, key)] = page.name
        return page

    def _plain_id(self, identifier: str) -> str:
        """Return an id for a file's name with its words masked; its time and random part stay."""
        parts = _ID.match(identifier)
        if parts is None:
            return _plain(self._mask.text(identifier))
        return f"{parts[1]}-{_plain(self._mask.text(parts[2]))}-{parts[3]}"

    def _free(self, name: str) -> str:
        candidate, number = name, 2
        while candidate.lower() in self._taken:
            candidate, number = f"{name}-{number}", number + 1
        self._taken.add(candidate.lower())
        return candidate

    def file(self, name: str, language: str) -> str:
        """Return the file of a page in a language; the first one has the plain names."""
        return f"{name}.html" if language == self.languages[0] else f"{name}.{language}.html"

    def torn(self, taken: Set[str]) -> set[str]:
        """Return the page files that are only partly in `taken`: all languages of a page are created together."""
        names = set()
        for page in (*self.general, *(page for part in self.parts for page in part.pages)):
            files = {self.file(page.name, language) for language in self.languages}
            files |= {f"{page.name}.js"} if page.kind in PICTURED else set()
            if not files <= taken:
                names |= files
        return names

    def link(self, page: SitePage, language: str, kind: str, key: str) -> str | None:
        """Return the address of another page, or of a file, relative to `page`; None if the site does not have it."""
        if kind == "file":
            return self._data(page, key)
        name = self._names.get((kind, key))
        return self.file(name, language) if name else None

    def _data(self, page: SitePage, key: str) -> str | None:
        """Return the address of a page's own CSV, JSON or crate, of the table of all results, or of a run's crate.

        `….csv`, `….json`: those of a study's page, for any name. `….zip`: of a run's page, or of the run with that key.
        """
        suffix = Path(key).suffix
        if suffix == ".zip":
            return self._crates.get(page.key if page.kind == "run" else key.removesuffix(suffix))
        if suffix in (".csv", ".json"):
            if page.kind == "study":
                return f"{page.name}{suffix}"
            if key == f"{ALL_RESULTS}{suffix}":
                return key
        return None

    def others(self, page: SitePage, language: str) -> list[tuple[str, str]]:
        """Return (language, address) of the same page in the other languages."""
        return [(other, self.file(page.name, other)) for other in self.languages if other != language]


def logo_name(logo: Picture) -> str:
    """Return the name of the logo's file in a site."""
    return f"logo{logo.suffix}"


def best_run(study: StudyRuns) -> RunEntry | None:
    """Return the run that represents a study: at its largest point with a value, the run closest to that value."""
    study = best_series(study)
    points = [point for point in results_of(study)["points"] if point["value"] is not None]
    points = [point for point in points if not is_false(point["doubts"])] or points
    if not points:
        return None
    good = [run for run in study.runs if run.processes == points[-1]["processes"] and run.state == SUCCEEDED]
    good = [run for run in good if run.value is not None]
    return min(good, key=lambda run: abs((run.value or 0.0) - points[-1]["value"]), default=None)


def stable_name(name: str) -> str:
    """Return a file name that does not depend on other names; a digest replaces non-ASCII letters.

    `Team 1` is `Team-1`, `四つ葉` is `x1f3c9a20`, `チームA` is `A-x…`.
    """
    plain = _plain(name)
    if not any(letter.isalnum() and not letter.isascii() for letter in name) and plain:
        return plain
    return "-".join(filter(None, (plain, "x" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8])))


def _plain(name: str) -> str:
    """Return a file name of ASCII letters, digits, `-` and `_`, without folders."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:100]
