"""`hackathon rules add`: turn a tutor's insight into a rule for everybody."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hackathon.cli.options import named, runs_folder
from hackathon.text.messages import Message, _, ngettext

if TYPE_CHECKING:
    from hackathon.config.rule import Level, Part
    from hackathon.diagnosis.teach import Taught
    from hackathon.runs.directory import RunDirectory

    AgreedRule = Callable[[], Taught]

_ADD_NO_TEXTS = {
    "file": Message("rules.add_no_file", "no such file"),
    "line": Message("rules.add_no_line", "line {line} of {path} is empty or does not exist ({count} lines)"),
    "event": Message(
        "rules.add_no_event",
        "this folder is not in an event (hackathon.yaml)",
        hint="go there, or write the rule with --here project or --here user",
    ),
    "project": Message("rules.add_no_project", "this folder is not in a project", hint="go there, or use --here user"),
}

PLACES = ("event", "project", "user")

_Function = TypeVar("_Function", bound=Callable[..., Any])


def rule_options(function: _Function) -> _Function:
    """Add --here and --yes."""
    function = click.option("--yes", is_flag=True, help=_("Write the rule for a run without asking."))(function)
    return click.option(
        "--here",
        "scope",
        type=click.Choice(PLACES),
        default="event",
        show_default=True,
        help=_("Where to store the rule."),
    )(function)


@named(
    "add",
    help=_(
        "Create a rule for everybody from a line that you recognised. Numbers, paths, hosts, and similar parts "
        "may differ. The rule is tested at once. Give the line as `hackathon diagnose` shows it; a file that "
        "is not here belongs to the newest run.\n"
        "\n"
        "  hackathon rules add --from logs/rank-1.log:812 --advice 'Load the module gcc/12 first.'\n"
        "  hackathon rules add --from slurm-7.out:90 --part mpi --healthy slurm-6.out\n"
        "  hackathon rules add --run k3m9x2qa --advice 'Load the module gcc/12 first.'"
    ),
    short=_("Create a rule from a line in a log."),
)
@click.option("--from", "origin", metavar="FILE:LINE", help=_("The line, for example logs/rank-1.log:812."))
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help=_("Instead of a line, a failed run that no rule explains: its decisive line, after a question."),
)
@click.option("--part", metavar="NAME", help=_("Part that failed: nccl, mpi, … (default: guessed)."))
@click.option(
    "--level",
    type=click.Choice(("root", "likely", "secondary", "benign")),
    default="root",
    show_default=True,
    help=_("How strongly the line indicates the cause."),
)
@click.option("--title", metavar="TEXT", default="", help=_("Meaning, in one line (default: the line itself)."))
@click.option("--advice", metavar="TEXT", default="", help=_("How to fix it."))
@click.option(
    "--healthy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    multiple=True,
    help=_("Log of a successful run; a rule that matches it is refused."),
)
@rule_options
def add(
    origin: str | None,
    run: str | None,
    part: "Part | None",
    level: "Level",
    title: str,
    advice: str,
    healthy: tuple[Path, ...],
    scope: str,
    yes: bool,
) -> None:
    from typing import get_args

    from hackathon.cli.show import printable
    from hackathon.config.rule import Part
    from hackathon.config.rule_files import load_rules
    from hackathon.config.trust import folders_that_count
    from hackathon.diagnosis.teach import make_rule, place_of, try_rule, write_rule

    if part is not None and part not in get_args(Part):
        raise click.UsageError(_("there is no part {name}; known: {known}", name=part, known=", ".join(get_args(Part))))
    if (origin is None) == (run is None):
        raise click.UsageError(_("pass either --from or --run"))
    if origin is None:
        from hackathon.runs.directory import find_run

        found = find_run(run or "", runs_folder())
        agreed = agreed_rule(
            found, yes=yes, part=part, level=level, title=title, advice=advice, healthy=healthy, scope=scope
        )
        if agreed is not None:
            write_agreed(agreed)
        return
    folder = _folder(scope)
    path, number, hosts = _origin(origin)
    position = place_of(path, number)
    rules = load_rules(folders_that_count(Path.cwd()))[0]
    rule = make_rule(position, rules, part=part, level=level, title=title, advice=advice, hosts=hosts)
    count = try_rule(rule, position, healthy, rules)
    taught = write_rule(folder, rule, rules)
    click.echo(_("added {id} to {path}:", id=taught.rule.id, path=taught.path), err=True)
    click.echo("\n".join(printable(line) for line in taught.text.splitlines()))
    click.echo(
        ngettext(
            "found {count} time in {log}", "found {count} times in {log}", count, count=count, log=printable(str(path))
        ),
        err=True,
    )
    if not healthy:
        click.echo(
            _("Not tested on a healthy log. With --healthy FILE, a rule that matches that log is refused."), err=True
        )


def agreed_rule(
    run: "RunDirectory",
    *,
    yes: bool,
    part: "Part | None",
    level: "Level" = "root",
    title: str,
    advice: str,
    healthy: Sequence[Path] = (),
    scope: str,
) -> "AgreedRule | None":
    """Show a rule for a run's failure on stderr and ask; return how to write it, None for a no.

    `yes`: do not ask. Raises RequestError when there is no such rule, or no terminal to ask on.
    """
    import sys
    from dataclasses import replace
    from functools import partial

    from hackathon.cli.show import printable
    from hackathon.config.rule_files import load_rules
    from hackathon.config.trust import folders_that_count
    from hackathon.diagnosis.proposal import proposed
    from hackathon.diagnosis.teach import as_yaml, write_rule
    from hackathon.text.errors import RequestError

    folder = _folder(scope)
    rules = load_rules(folders_that_count(Path.cwd(), run.path))[0]
    proposal = proposed(run, rules, part=part, title=title, advice=advice, healthy=healthy)
    rule = replace(proposal.rule, level=level)
    log = f"{proposal.line.path.name}:{proposal.line.number}"
    click.echo(_("rule for {run}, from {log}:", run=run.id, log=printable(log)), err=True)
    click.echo("\n".join(printable(line) for line in as_yaml(rule).splitlines()), err=True)
    click.echo(
        _(
            "It matches {count} {count:line|lines} of this log, and nothing in {healthy} {healthy:log|logs} of "
            "successful runs.",
            count=proposal.count,
            healthy=proposal.healthy,
        ),
        err=True,
    )
    if not yes:
        if not sys.stdin.isatty():
            raise RequestError(
                "rules.add_nobody", "nobody is at a terminal to confirm the rule", hint="Confirm with --yes."
            )
        if not click.confirm(_("Add this rule to {folder}?", folder=folder), err=True):
            return None
    return partial(write_rule, folder, rule, rules)


def write_agreed(write: "AgreedRule") -> None:
    """Write a rule that the user agreed to, and print where it is."""
    taught = write()
    click.echo(_("added {id} to {path}", id=taught.rule.id, path=taught.path), err=True)
    click.echo(_("Each diagnosis here uses it from now on. Other centres can use the file as it is."), err=True)


def _folder(scope: str) -> Path:
    """Return the folder for the rule. Raises RequestError outside of an event or a project."""
    from hackathon.config.load import find_project
    from hackathon.config.trust import trusted_event_folder
    from hackathon.text.errors import RequestError
    from hackathon.text.paths import user_config

    if scope == "user":
        return user_config() / "rules"
    root = (trusted_event_folder if scope == "event" else find_project)(Path.cwd())
    if root is None:
        raise RequestError(_ADD_NO_TEXTS[scope])
    return root / "templates" / "rules"


def _origin(origin: str) -> tuple[Path, int, list[str]]:
    """Return (file, line, hosts of its run) of FILE:LINE; a missing file is looked for in the newest run.

    Raises RequestError for another format, or if there is no such file.
    """
    from hackathon.runs.chain import latest_run
    from hackathon.runs.events import rank_events
    from hackathon.text.errors import RequestError

    name, __, line = origin.rpartition(":")
    if not name or not (line.isascii() and line.isdigit()) or int(line) < 1:
        raise RequestError(
            "rules.add_origin",
            "{origin!r} is not FILE:LINE",
            hint="for example --from logs/rank-1.log:812, as printed by `hackathon diagnose`",
            origin=origin,
        )
    path = Path(name)
    try:
        exists = path.is_file()
    except OSError as error:
        raise RequestError(
            "rules.add_unreadable", "{path} cannot be read: {what}", path=name, what=error.strerror
        ) from error
    if not exists:
        try:
            path = latest_run(runs_folder()).path / name
        except RequestError:
            path = Path(name)
        if not path.is_file():
            raise RequestError(
                "rules.add_unreadable", "{path} cannot be read: {what}", path=name, what=_("no such file")
            )
    run = next((parent for parent in path.resolve().parents if (parent / "request.json").is_file()), None)
    events = rank_events(run).values() if run is not None else ()
    hosts = {str(event["host"]) for listed in events for event in listed if event.get("host")}
    return path, int(line), sorted(hosts)
