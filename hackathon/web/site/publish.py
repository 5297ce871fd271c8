"""Publish the site: static pages of an event, or of a project's studies, without a server or other sites.

New pages are created beside the published ones and replace them in one step (`web.site.switch`). Unchanged files are
hard-linked from the last publication (`web.site.manifest`). Every page is masked after rendering
(`web.masking.masked_page`), so that no view can forget it.
"""

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.event import Publish
from hackathon.config.load import PROJECT_FILE
from hackathon.index.catalog import Catalog
from hackathon.index.published import hidden_teams, laptops, without_hidden
from hackathon.index.record import RunEntry
from hackathon.scaling.cluster_measurements import measured
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.messages import LANGUAGES, speaking
from hackathon.text.messages import language as current_language
from hackathon.text.paths import expanded, user_cache
from hackathon.web.masking.event_mask import mask_of
from hackathon.web.masking.mask import Mask
from hackathon.web.masking.names import Named
from hackathon.web.page import references
from hackathon.web.page.photographs import Picture, read_picture
from hackathon.web.site import manifest as kept_site
from hackathon.web.site import switch as swap
from hackathon.web.site.site_map import ALL_RESULTS, PICTURED, SiteMap, SitePage, logo_name
from hackathon.web.views import published_surveys
from hackathon.web.views.cluster import profile

if TYPE_CHECKING:
    from hackathon.web.site.build import BuiltPart, SiteBuilder

SCRIPTS = ("plots.js", "tables.js", "forms.js", "vega.js")
LARGEST_LOGO = 200_000
"""Bytes; every page includes it."""
WORTH = 40
"""The least number of files for a second process."""


@dataclass
class Published:
    """The outcome of a publication."""

    folder: Path
    """The folder of the pages, inside the named directory."""
    files: dict[str, int] = field(default_factory=dict)
    """File, relative to `folder` → bytes."""
    made: list[str] = field(default_factory=list)
    """Files that were created now; the others were reused."""
    warnings: list[str] = field(default_factory=list)
    """Missing parts of the site."""
    mask: Mask = field(default_factory=Mask)
    """Its counts show what was masked in the files that were created now."""
    site: SiteMap | None = None

    @property
    def pages(self) -> list[str]:
        """The files that are pages."""
        return [name for name in self.files if name.endswith(".html")]


def publish(
    source: Catalog,
    directory: Path,
    *,
    title: str = "",
    languages: Sequence[str] | None = None,
    studies: Sequence[str] | None = None,
    workers: int = 2,
) -> Published:
    """Write the site of a catalog into `directory/site`, with `directory/index.html` that leads there.

    The first language (default: those of the event, else the current one and the others) has the plain names, others
    `.<language>.html`. `studies` (ids) leaves out all others. A publication that fails or is killed leaves the old site
    unchanged; other files in the directory stay. Raises RequestError if the directory cannot be written.
    """
    record = kept_site.recall(directory)
    plan = _plan(source, record, title=title, languages=languages, studies=studies)
    live = swap.live_folder(directory)
    old_keys = record.files if live is not None and swap.publication(live) == record.publication else {}
    try:
        if live is not None and old_keys == plan.keys and _lie_in(live, old_keys):
            published = _told(live, plan, [])
            kept_site.keep(directory, kept_site.Kept(record.publication, old_keys, plan.marks))
            return published
        with swap.staging(directory) as folder:
            taken = _take_over(plan.keys, old_keys, live, folder)
            taken -= plan.site.torn(taken)
            names = [name for name in plan.keys if name not in taken]
            output = plan.make(folder, names, workers)
            entry = plan.builder.title_in(plan.site.languages[0])
            target = swap.swap(directory, folder, plan.mask.text(entry), plan.site.languages[0])
            published = _told(target, plan, output.warnings, names)
            complete = {name: plan.keys[name] for name in published.files if name not in output.incomplete}
            kept_site.keep(directory, kept_site.Kept(swap.publication(target), complete, plan.marks))
            return published
    except OSError as error:
        raise RequestError(
            "web.cannot_write",
            "{path} cannot be written: {reason}",
            hint="choose a folder of your own with --to",
            path=directory,
            reason=error.strerror or error,
        ) from None


@contextlib.contextmanager
def rehearsal(
    source: Catalog,
    *,
    title: str = "",
    studies: Sequence[str] | None = None,
) -> Iterator[Published]:
    """Create a site in a private temporary folder, yield it as Published, and remove it."""
    plan = _plan(source, kept_site.Kept(), title=title, languages=None, studies=studies)
    folder = Path(tempfile.mkdtemp(prefix="hackathon-check-"))
    try:
        names = list(plan.keys)
        output = plan.make(folder, names)
        yield _told(folder, plan, output.warnings, names)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Plan:
    """The parts of a site, before any is created."""

    source: Catalog
    site: SiteMap
    mask: Mask
    rules: Publish
    title: str
    whole: bool
    """Whether it is the site of all studies."""
    logo: Picture | None
    keys: dict[str, str]
    """File → digest of its inputs."""
    marks: dict[str, tuple[str, Named]]

    @functools.cached_property
    def builder(self) -> "SiteBuilder":
        """The creator of the files. Imported here, because an unchanged site needs no views."""
        from hackathon.web.site.build import SiteBuilder

        complete, cache = self.whole, cache_folder()
        return SiteBuilder(self.source, self.site, self.mask, self.rules, self.title, complete, cache, self.logo)

    def make(self, folder: Path, names: Sequence[str], workers: int = 2) -> "BuiltPart":
        """Create the files, with several processes if there are many, and count what was masked in them."""
        from hackathon.web.site.build import made_by

        output = made_by(self.builder, folder, names, workers if len(names) > WORTH else 1)
        self.mask.add(output.counts, output.examples)
        return output


def _plan(
    source: Catalog,
    record: kept_site.Kept,
    *,
    title: str,
    languages: Sequence[str] | None,
    studies: Sequence[str] | None,
) -> _Plan:
    rules = source.event.publish if source.event is not None else Publish()
    chosen = tuple(languages or (source.event.languages if source.event else ()) or _own_languages())
    if not rules.logs:
        source = replace(source, summaries=[without_evidence(run) for run in source.summaries])
    marks = kept_site.named_in(source.summaries, record)
    mask = mask_of(replace(source, hidden=hidden_teams(source.event)), [named for _, named in marks.values()], rules)
    source = without_hidden(source)
    source = replace(source, laptops=laptops(source))
    logo = site_logo(source) if studies is None else None
    if studies is not None:  # for single studies the event's rules apply, but its pages are left out
        source = replace(source, event=None, event_folder=None)
    site = SiteMap(source, rules, chosen, mask, studies)
    event = repr((source.event, logo, _beside(source), sorted(source.laptops or ())))
    base = kept_site.digest(kept_site.toolkit(), mask.fingerprint, rules, title, chosen, event, studies)
    digests = {part.team.name: kept_site.digest_of_runs(part.team.runs, marks) for part in site.parts}
    keys: dict[str, str] = {}
    titles = [_titles_mark(part.team.projects) for part in site.parts]
    everything = kept_site.digest(base, sorted(digests.items()), titles)
    for page in site.general:
        more = _board_mark(source) if page.kind == "board" else ""
        if page.kind in ("survey", "home") and source.event_folder is not None:
            more = published_surveys.mark(source.event_folder)
        _add(keys, site, page, kept_site.digest(everything, more))
    for name in (f"{ALL_RESULTS}.csv", f"{ALL_RESULTS}.json") if studies is None else ():
        keys[name] = everything
    for part in site.parts:
        key = kept_site.digest(base, digests[part.team.name], part.team.projects, _titles_mark(part.team.projects))
        for page in part.pages:
            _add(keys, site, page, kept_site.digest(key, page))
            if page.kind == "study":
                keys[f"{page.name}.csv"] = keys[f"{page.name}.json"] = key
        for name, run in part.crates.items():
            mark = marks[f"{run.project}/runs/{run.id}"][0]
            keys[name] = kept_site.digest(kept_site.toolkit(), mask.fingerprint, rules, mark, run.id)
    if logo is not None:
        keys[logo_name(logo)] = kept_site.digest(logo.raw)
    for name in ("style.css", *SCRIPTS):
        keys[name] = kept_site.digest(kept_site.toolkit(), name)
    return _Plan(source, site, mask, rules, title, studies is None, logo, keys, marks)


def _add(keys: dict[str, str], site: SiteMap, page: SitePage, key: str) -> None:
    for language in site.languages:
        keys[site.file(page.name, language)] = key
    if page.kind in PICTURED:
        keys[f"{page.name}.js"] = key


def site_logo(source: Catalog) -> Picture | None:
    """Return the event's logo, None without one. Raises RequestError if it must not be published."""
    if source.event is None or source.event_folder is None or not source.event.logo:
        return None
    return read_picture(source.event_folder, source.event.logo, LARGEST_LOGO)


def without_evidence(run: RunEntry) -> RunEntry:
    """Return a run's summary without the lines of its logs."""
    if not run.told:
        return run
    return replace(run, told={code: replace(diagnosis, evidence="") for code, diagnosis in run.told.items()})


def cache_folder() -> Path:
    """Return this user's folder for drawings between two publications."""
    try:
        return user_cache() / "drawings"
    except RuntimeError:  # this user has no known home
        return Path(tempfile.mkdtemp(prefix="hackathon-"))


def _own_languages() -> tuple[str, ...]:
    return tuple(dict.fromkeys((current_language(), *LANGUAGES)))


def _board_mark(source: Catalog) -> str:
    """Return a text that changes with the board."""
    if source.event is None or source.event_folder is None or not source.event.shared:
        return ""
    board = source.event_folder / expanded(source.event.shared)
    times = []
    for folder in (board / "entries", board / "people"):
        with contextlib.suppress(OSError):
            times.append(folder.stat().st_mtime_ns)
            times += [path.stat().st_mtime_ns for path in folder.iterdir() if path.is_dir()]
    return str(sorted(times))


def _beside(source: Catalog) -> list[str]:
    """Return the content of pages besides runs and hackathon.yaml: references, clusters' profiles and measurements."""
    marks = [references.mark(source.event_folder)]
    names = {*(source.event.clusters if source.event is not None else ()), *(run.cluster for run in source.summaries)}
    with speaking("en"):
        for name in sorted(name for name in names if name and name.isprintable() and "/" not in name):
            try:
                marks.append(repr(profile(source, name)))
            except (HackathonError, OSError) as error:
                marks.append(str(error))
            marks.append(repr(measured(name)))
    return marks


def _titles_mark(projects: Sequence[Path]) -> str:
    """Return a text that changes with the files that contain the projects' own titles."""
    marks = []
    for folder in projects:
        with contextlib.suppress(OSError):
            status = (folder / PROJECT_FILE).stat()
            marks.append(f"{folder} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(marks)


def _take_over(keys: Mapping[str, str], old_keys: Mapping[str, str], live: Path | None, folder: Path) -> set[str]:
    """Reuse unchanged files in the new folder, by hard link if possible; return their names."""
    taken = set()
    folders = {Path(name).parent for name in keys}
    for parent in folders:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for name, key in keys.items() if live is not None else ():
        if old_keys.get(name) != key:
            continue
        try:
            os.link(f"{live}/{name}", f"{folder}/{name}", follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError:
            try:
                shutil.copy2(f"{live}/{name}", f"{folder}/{name}")
            except OSError:
                continue
        taken.add(name)
    return taken


def _lie_in(folder: Path, names: Mapping[str, str]) -> bool:
    """Return whether all files of a publication still exist."""
    listing = {name for name in os.listdir(folder)}  # noqa: PTH208, C416 — names, not paths
    for below in {name.partition("/")[0] for name in names if "/" in name}:
        with contextlib.suppress(OSError):
            listing |= {f"{below}/{name}" for name in os.listdir(folder / below)}  # noqa: PTH208
    return all(name in listing for name in names)


def _told(folder: Path, plan: _Plan, warnings: Sequence[str], names: Sequence[str] = ()) -> Published:
    files = {}
    for name in plan.keys:
        with contextlib.suppress(OSError):
            files[name] = (folder / name).stat().st_size
    return Published(folder, files, [name for name in names if name in files], list(warnings), plan.mask, plan.site)
