"""Create the files of a site (pages, tables, crates), with two processes if there are many teams."""

import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hackathon.config.event import Publish
from hackathon.index.catalog import Catalog
from hackathon.index.memory import Memory
from hackathon.index.outcomes import outcome
from hackathon.index.published import laptops
from hackathon.index.studies import results_of
from hackathon.prediction.results import with_predictions
from hackathon.text.errors import HackathonError
from hackathon.text.files import write_whole
from hackathon.text.messages import _, localized, speaking
from hackathon.web.crate import crate
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.masked_page import mask_page
from hackathon.web.page import figures
from hackathon.web.page.dates import days_text
from hackathon.web.page.pages import About, Logo, Site, render
from hackathon.web.page.photographs import Picture
from hackathon.web.page.sanitize import line
from hackathon.web.page.scripts import FILES
from hackathon.web.routing.registry import values_of
from hackathon.web.site import downloads, plot_files
from hackathon.web.site.compact import compact
from hackathon.web.site.site_map import ALL_RESULTS, PICTURED, SiteMap, SitePage, SiteSection, logo_name
from hackathon.web.site.switch import SITE
from hackathon.web.views import home

POLICY = (
    "default-src 'none';script-src 'self' file:;style-src 'self' file:;img-src 'self' file: data:;"
    "base-uri 'none';form-action 'none'"
)
"""`self` does not cover `file:` for pages opened from a disk."""
GARBAGE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)
"""Exceptions of a page for unexpected content of a run's files."""
TOGETHER = 10
"""Teams whose pictures one drawing process draws."""


@dataclass
class BuiltPart:
    """Created files, as one process reports them to another."""

    warnings: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    """Files with a missing part, which the next publication creates again."""
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    failed: str = ""
    """Why a process failed."""

    def take(self, other: "BuiltPart") -> None:
        """Add the files of another process."""
        self.warnings = list(dict.fromkeys([*self.warnings, *other.warnings]))
        self.incomplete += other.incomplete
        self.counts.update(other.counts)
        for kind, examples in other.examples.items():
            self.examples.setdefault(kind, []).extend(examples)
        self.failed = self.failed or other.failed


@dataclass(frozen=True)
class SiteBuilder:
    """The input of a site's files."""

    source: Catalog
    site: SiteMap
    mask: Mask
    rules: Publish
    title: str
    """Empty: the event's."""
    whole: bool
    """Whether it contains all studies and the table of all results."""
    cache: Path
    """This user's folder for drawings, and for slow results that are the same in every site."""
    logo: Picture | None = None
    """The event's logo, for every page."""

    def make(self, folder: Path, files: Iterable[str], parts: Sequence[SiteSection], *, general: bool) -> BuiltPart:
        """Create those of the files that belong to these parts, and with `general` those that belong to none."""
        names = set(files)
        output = BuiltPart()
        if general:
            self._files(folder, names, output)
            self._pages(folder, names, [(page, self.source) for page in self.site.general], output)
        for start in range(0, len(parts), TOGETHER):
            some = parts[start : start + TOGETHER]
            pages = [(page, self._source_of(part)) for part in some for page in part.pages]
            self._pages(folder, names, pages, output)
            for part in some:
                self._tables(folder, names, part)
                self._crates(folder, names, part, output)
        return output

    def _lines(self, part: SiteSection) -> Iterator[list[object]]:
        """Yield a team's rows of the table of all results."""
        away = laptops(self.source)
        main = outcome(part.team, self.source, away).main
        for study in part.studies:
            leads = main.series.settings if main is not None and main.study == study.key else None
            compared = not away or not {run.cluster for run in study.runs} <= away
            yield from downloads.rows(
                part.team.name, study, results_of(study), self.mask, main=leads, compared=compared
            )

    def _source_of(self, part: SiteSection) -> Catalog:
        projects = [project for project in self.source.projects if project.path in part.team.projects]
        return replace(self.source, summaries=part.team.runs, unseen=part.team.unseen, projects=projects)

    def _pages(
        self, folder: Path, names: set[str], pages: Sequence[tuple[SitePage, Catalog]], output: BuiltPart
    ) -> None:
        todo = [
            (page, source, language)
            for page, source in pages
            for language in self.site.languages
            if self.site.file(page.name, language) in names
        ]
        # All values are computed first, which requests the pictures, so that one process draws all of them.
        with figures.ahead(self.source.memory) as requests:
            contents: list[tuple[tuple[str, dict[str, Any]] | None, bool]] = []
            for page, source, language in todo:
                before = requests.times
                try:
                    values = self._values(page, source, language)
                except GARBAGE as error:  # one run's bad files must not keep the others from being published
                    output.warnings.append(self._left_out(page, language, error))
                    contents.append((None, False))
                    continue
                contents.append((values, requests.times > before))
                if values is None:
                    output.warnings.append(self._left_out(page, language, "–"))
        pictures: dict[SitePage, dict[str, plot_files.Specs]] = {}
        for (page, source, language), (values, draws) in zip(todo, contents, strict=True):
            file = self.site.file(page.name, language)
            if draws and values is not None:
                values = _with_pictures(values, self.source.memory) or self._values(page, source, language)
            if values is None:
                continue
            problem = values[1].get("problem")
            if problem:
                output.warnings.append(_("the page of {study} has no plot: {reason}", study=file, reason=problem))
                output.incomplete.append(file)
            text, specs = plot_files.parted(self._page(page, language, *values))
            write_whole(folder / file, compact(text))
            pictures.setdefault(page, {})[language] = specs
        for page, by_language in pictures.items():
            if page.kind in PICTURED:
                write_whole(folder / f"{page.name}.js", plot_files.plot_file(by_language))

    def _left_out(self, page: SitePage, language: str, why: object) -> str:
        name = type(why).__name__ if isinstance(why, Exception) else why
        return _("{page} is not in the site: {reason}", page=self.site.file(page.name, language), reason=name)

    def _values(self, page: SitePage, source: Catalog, language: str) -> tuple[str, dict[str, Any]] | None:
        with speaking(language):
            if page.kind == "home":
                values = home.values(source, page.key)
                return None if values is None else ("home.html.j2", values)
            return values_of(page.kind, page.key, source)

    def _page(self, page: SitePage, language: str, template: str, values: Mapping[str, Any]) -> str:
        def link(kind: str, key: str) -> str | None:
            return self.site.link(page, language, kind, key)

        site = Site(
            title=self.title_in(language),
            languages=self.site.languages,
            masked=not (self.rules.users and self.rules.hosts and self.rules.paths),
            scripts=("plots.js", "tables.js"),
            stylesheet="style.css",
            policy=POLICY,
            logo=self._logo(),
            about=self._about(language),
        )
        translations = self.site.others(page, language)
        file = self.site.file(page.name, language)
        text = render(
            template, site, language, link, others=translations, now=self.source.now, here=page.kind, file=file,
            **values,
        )  # fmt: skip
        return mask_page(text, self.mask, self.site.addresses)

    @property
    def logo_name(self) -> str:
        """The name of the logo's file; empty without one."""
        return logo_name(self.logo) if self.logo else ""

    def _logo(self) -> Logo | None:
        return Logo(self.logo_name, self.logo.width, self.logo.height) if self.logo else None

    def _about(self, language: str) -> About:
        """Return the preview of a linked page for other services."""
        event = self.source.event
        texts: list[str] = []
        with speaking(language):
            if event is not None:
                texts = [days_text(event.dates), localized(event.place), *(localized(host) for host in event.hosts[:1])]
            lead = (
                _("What the teams built, how far their training scales, and how to run it again.")
                if event
                else _(
                    "How training scales beyond one GPU: measured throughput, speed-up, and parallel "
                    "efficiency of every study."
                )
            )
            host = texts[2] if len(texts) > 2 else ""
        address = self.rules.address
        base = address if address.endswith("/") or not address else f"{address}/"
        image = f"{base}{SITE}/{self.logo_name}" if base and self.logo else ""
        return About(
            " · ".join(line(text, 200) for text in (*texts, lead) if text),
            host,
            f"{base}{SITE}/" if base else "",
            image,
        )

    def title_in(self, language: str) -> str:
        """Return the title of the site in a language."""
        with speaking(language):
            return self.title or (localized(self.source.event.title) if self.source.event else "hackathon")

    def _tables(self, folder: Path, names: set[str], part: SiteSection) -> None:
        studies = {study.key: study for study in part.studies}
        for page in part.pages:
            if page.kind != "study" or f"{page.name}.csv" not in names:
                continue
            results = with_predictions(results_of(studies[page.key]))
            with speaking("en"):
                write_whole(folder / f"{page.name}.csv", downloads.study_csv(results, self.mask))
                write_whole(folder / f"{page.name}.json", downloads.study_json(results, self.mask))

    def _crates(self, folder: Path, names: set[str], part: SiteSection, output: BuiltPart) -> None:
        for name, run in part.crates.items():
            if name not in names:
                continue
            path = Path(run.project) / "runs" / run.id
            try:
                (folder / name).parent.mkdir(exist_ok=True)
                crate.write_crate(path, folder / name, mask=self.mask, publish=self.rules)
            except (HackathonError, *GARBAGE) as error:
                reason = error.message if isinstance(error, HackathonError) else type(error).__name__
                output.warnings.append(_("{page} is not in the site: {reason}", page=name, reason=reason))

    def _files(self, folder: Path, names: set[str], output: BuiltPart) -> None:
        if self.logo is not None and self.logo_name in names:
            write_whole(folder / self.logo_name, self.logo.raw)
        for name in ("style.css", "plots.js", "tables.js", "forms.js", "vega.js"):
            if name not in names:
                continue
            try:
                write_whole(folder / name, FILES[name](self.cache))
            except HackathonError as error:
                output.warnings.append(
                    _("plots are static images and cannot be zoomed: {reason}", reason=error.message)
                )
        if f"{ALL_RESULTS}.csv" not in names:
            return
        lines = [line for part in self.site.parts for line in self._lines(part)]
        event = self.source.event
        about = {"title": event.title, "dates": event.dates, "place": event.place} if event else {}
        write_whole(folder / f"{ALL_RESULTS}.csv", downloads.all_csv(lines))
        write_whole(folder / f"{ALL_RESULTS}.json", downloads.all_json(self.mask.value(about), lines))


def _with_pictures(content: tuple[str, dict[str, Any]], memory: Memory) -> tuple[str, dict[str, Any]] | None:
    """Return a page's values with its drawn pictures; None if they are not all in one place."""
    template, values = content
    if "figures" not in values or "problem" not in values:
        return None
    shares = values.get("shares", [])
    pictures, problem = figures.drawn([*shares, *values["figures"]], memory)
    updates = {"shares": pictures[: len(shares)], "figures": pictures[len(shares) :], "problem": problem}
    return template, {**values, **updates}


def made_by(maker: SiteBuilder, folder: Path, files: Sequence[str], workers: int) -> BuiltPart:
    """Create the files with this number of processes, including this one.

    Raises HackathonError if another process fails, because an incomplete site must not be published.
    """
    maker.source.memory.folder = maker.cache
    parts = maker.site.parts
    if workers < 2 or len(parts) < 2:
        return maker.make(folder, files, parts, general=True)
    context = multiprocessing.get_context("fork")
    children = []
    for number in range(1, workers):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(maker, folder, files, parts[number::workers], sender))
        child.start()
        sender.close()
        children.append((child, receiver))
    try:
        output = maker.make(folder, files, parts[::workers], general=True)
        for child, receiver in children:
            try:
                other: BuiltPart = receiver.recv()
            except EOFError:
                other = BuiltPart(failed="killed")
            output.take(other)
            child.join()
    finally:
        for child, receiver in children:
            receiver.close()
            if child.is_alive():
                child.terminate()
                child.join()
    if output.failed:
        raise HackathonError("site.worker_failed", "the site could not be created: {reason}", reason=output.failed)
    return output


def _work(
    maker: SiteBuilder, folder: Path, files: Sequence[str], parts: Sequence[SiteSection], sender: Connection
) -> None:
    # After its parent was killed, a child's files are in a folder that no page refers to.
    try:
        output = maker.make(folder, files, parts, general=False)
        output.counts = maker.mask.counts
        output.examples = {kind: list(originals) for kind, originals in maker.mask.examples.items()}
    except (HackathonError, OSError, ValueError) as error:
        output = BuiltPart(failed=str(error) or type(error).__name__)
    sender.send(output)
    sender.close()
