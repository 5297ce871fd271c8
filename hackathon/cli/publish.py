"""`hackathon publish`: the static site of an event, or of a project's studies."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import completing, named, runs_folder
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, NP_, _, ngettext, pgettext

if TYPE_CHECKING:
    from hackathon.index.catalog import Catalog
    from hackathon.web.site.publish import Published

_KIND_TEXTS = {
    "secret": N_("secrets"),
    "e-mail": N_("e-mail addresses"),
    "address": N_("network addresses"),
    "path": N_("paths"),
    "host": N_("hosts"),
    "group": N_("groups"),
    "user": NP_("site", "people"),
    "team": NP_("site", "teams"),
    "random": N_("looks like a key"),
}

SHOWN = 20
"""The most findings that `--check` lists."""


@named(
    "publish",
    help=_(
        "Write the static site of the event that contains this folder: teams, studies, scaling results, runs, "
        "downloads. Outside an event, or with names: pages of this project's studies. The pages can be opened "
        "as files and load nothing from other hosts. Names of people, hosts, paths, and secrets are removed; "
        "hackathon.yaml defines what may be shown. The old site stays until the new one is complete.\n"
        "\n"
        "  hackathon publish --check            what would be published, what was removed\n"
        "  hackathon publish --to site\n"
        "  hackathon publish k3x9 --to pages    one study"
    ),
)
@click.argument("names", nargs=-1, metavar="[STUDY]...", shell_complete=completing("study"))
@click.option("--to", "directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help=_("Output folder."))  # fmt: skip
@click.option("--check", is_flag=True, help=_("Write nothing; show what would be published and what was removed."))
@click.option("--title", default="", metavar="TEXT", help=pgettext("help", "Title of the pages."))
@click.option("--doubtful", is_flag=True, help=_("Also publish results that are not believable, with a mark."))
@click.option("--no-ask", is_flag=True, help=_("Do not query the scheduler."))
def command(
    names: tuple[str, ...], directory: Path | None, check: bool, title: str, doubtful: bool, no_ask: bool
) -> None:
    import gc

    from hackathon.cli.working import working

    if directory is None and not check:
        raise RequestError(
            "site.no_folder", "no output folder given: --to DIR", hint="`--check` alone shows what would be published"
        )
    gc.enable()  # thousands of pages create garbage
    with working(_("reading all runs")):
        source, title, studies = _source(names, title, ask=not no_ask)
    if not doubtful:
        source = _believable(source)
    if check:
        _check(source, title, studies)
        return
    from hackathon.web.site.publish import publish

    assert directory is not None
    _keep_apart(directory, source)
    with working(_("writing pages")):
        published = publish(source, directory, title=title, studies=studies)
    for problem in [*source.problems, *published.warnings]:
        click.echo(f"{_('warning')}: {problem}", err=True)
    click.echo(
        _(
            "{count} pages written to {folder}; open {file}",
            count=len(published.pages),
            folder=directory,
            file=directory / "index.html",
        )
    )
    click.echo(
        _(
            "{count} files, {size}; {made} of them new or changed",
            made=len(published.made),
            count=len(published.files),
            size=_size(published),
        )
    )
    _tell_copy(directory)


def _source(names: tuple[str, ...], title: str, *, ask: bool) -> "tuple[Catalog, str, list[str] | None]":
    """Return the catalog to publish, its title (empty: the event's), and the studies; None: the complete event."""
    from dataclasses import replace

    from hackathon.config.load import find_event, load_event
    from hackathon.index.gather import gather
    from hackathon.runs.study import find_studies, find_study

    folder = find_event(Path.cwd())
    event = load_event(folder) if folder is not None else None
    if folder is not None and not names:
        source = gather(folder.absolute(), event, ask=ask)
        return replace(source, problems=[*source.problems, *_unreadable(source)]), title, None
    project = runs_folder().parent
    if names:
        studies = [study for name in dict.fromkeys(names) if (study := find_study(name, project)) is not None]
    else:
        studies = find_studies(project)
    if not studies:
        raise RequestError(
            "cli.no_study",
            "there is no study in {folder}",
            hint="`hackathon scale --processes 1,2` creates one",
            folder=project,
        )
    source = gather(None, None, [project], ask=ask)
    # the event's rules for publication also apply to a single study
    source = replace(source, event=event, event_folder=folder)
    return source, title or _title(project), [study.id for study in studies]


def _believable(source: "Catalog") -> "Catalog":
    """Return the catalog without false results, and print which ones are left out."""
    from dataclasses import replace

    from hackathon.index.believable import without_false

    catalog, withheld = without_false(source)
    if not withheld:
        return catalog
    runs = ", ".join([run.id for run in withheld[:SHOWN]] + (["…"] if len(withheld) > SHOWN else []))
    return replace(
        catalog,
        problems=[
            *catalog.problems,
            ngettext(
                "{count} result is not published, because it is not believable: {runs}; --doubtful publishes "
                "it, marked",
                "{count} results are not published, because they are not believable: {runs}; --doubtful "
                "publishes them, marked",
                len(withheld),
                count=len(withheld),
                runs=runs,
            ),
        ],
    )


def _unreadable(source: "Catalog") -> list[str]:
    """Return the surveys that this account may not read, or that would reveal few people; the site lacks them."""
    from hackathon.web.views.published_surveys import too_like, unreadable

    if source.event is None or source.event_folder is None or not source.event.publish.surveys:
        return []
    remarks = [
        _("survey {survey} is not in the report: only the account that collects its answers can read it", survey=name)
        for name in unreadable(source.event_folder)
    ]
    apart = too_like(source.event_folder)
    return remarks + [
        _(
            "survey {survey} is left out: nearly all of its answers are also in survey {other}, so the difference "
            "of the two summaries would reveal single answers",
            survey=name,
            other=other,
        )
        for name, other in apart.items()
    ]


def _keep_apart(directory: Path, source: "Catalog") -> None:
    """Refuse a folder that contains the runs themselves, because copying the site would copy them too."""
    target = directory.resolve()
    folders = [*(project.path for project in source.projects), *filter(None, [source.event_folder])]
    if any(Path(folder).resolve().is_relative_to(target) for folder in folders):
        raise RequestError(
            "site.holds_runs",
            "{path} contains the event or its runs; anyone who copies the site would copy them too",
            hint="choose a separate folder: --to site",
            path=directory,
        )


def _title(project: Path) -> str:
    from hackathon.config import load

    if (project / "project.yaml").is_file():
        return load.load_project(project).name
    return project.absolute().name


def _tell_copy(directory: Path) -> None:
    """Print how to copy the site; with this machine's own name, because the login name may be shared by several."""
    import os
    import pwd
    import shlex

    from hackathon.web.dashboard.endpoint import host_name

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a uid without an account, as in containers
        user = str(os.geteuid())

    def remote(path: str) -> str:
        # quoted twice: for the remote shell, and for the local one
        return shlex.quote(f"{user}@{host_name()}:{shlex.quote(path)}")

    path = str(directory.absolute())
    own = shlex.quote(directory.absolute().name)
    click.echo(_("To copy it, run on your own computer:"))
    click.echo(f"  rsync -az {remote(f'{path}/')} {own}/")
    click.echo(f"  scp -r {remote(path)} {own}")


def _check(source: "Catalog", title: str, studies: list[str] | None) -> None:
    """Print what would be published and what was removed; exit code 1 if a text looks like a secret."""
    from hackathon.cli.show import printable
    from hackathon.web.site.leak_check import residues
    from hackathon.web.site.publish import rehearsal

    with rehearsal(source, title=title, studies=studies) as published:
        for problem in [*source.problems, *published.warnings]:
            click.echo(f"{_('warning')}: {problem}", err=True)
        counts = dict(published.mask.counts)
        examples = {kind: list(values) for kind, values in published.mask.examples.items()}
        suspicions = residues(published.folder, list(published.files), published.mask)
        _list_files(published)
    click.echo(_("Removed (the original values are shown only here):"))
    for kind, count in sorted(counts.items()):
        excerpt = ", ".join(printable(example) for example in examples.get(kind, ())[:3])
        click.echo(f"  {_(_KIND_TEXTS[kind]):<24} {count:>7}  {excerpt}")
    if not counts:
        click.echo(f"  {_('nothing')}")
    if suspicions:
        click.echo(
            ngettext(
                "{count} place may still contain private data:",
                "{count} places may still contain private data:",
                len(suspicions),
                count=len(suspicions),
            )
        )
        for residue in suspicions[:SHOWN]:
            kind = _(_KIND_TEXTS[residue.kind])
            click.echo(f"  {printable(residue.file)}: {kind}: {printable(residue.sample)}")
        raise click.exceptions.Exit(1)
    click.echo(_("Nothing in it looks like private data."))


def _list_files(published: "Published") -> None:
    from hackathon.cli.show import printable

    site = published.site
    assert site is not None
    sizes = published.files
    click.echo(_("Would be published: {count} files, {size}", count=len(sizes), size=_size(published)))
    by_kind: dict[str, tuple[int, int]] = {}
    for name, size in sizes.items():
        kind = "crate" if name.endswith(".zip") else Path(name).suffix.removeprefix(".")
        count, total = by_kind.get(kind, (0, 0))
        by_kind[kind] = count + 1, total + size
    for kind, (count, total) in by_kind.items():
        click.echo(f"  {kind:<8} {count:>6}  {_kilobytes(total):>13}")
    for part in site.parts:
        names = [name for name in sizes if name in part.crates]
        pages = [page for page in part.pages if f"{page.name}.html" in sizes]
        runs = sum(page.kind == "run" for page in pages)
        click.echo(
            _(
                "  {team}: pages {pages}, studies {studies}, runs with a page {runs}, RO-Crates {crates}",
                team=printable(published.mask.text(part.team.name)),
                pages=len(pages),
                studies=len(part.studies),
                runs=runs,
                crates=len(names),
            )
        )


def _size(published: "Published") -> str:
    return _kilobytes(sum(published.files.values()))


def _kilobytes(size: int) -> str:
    return f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size} B"
