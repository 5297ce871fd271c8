"""`hackathon clusters new`: create a machine's profile from a few answers and from its scheduler."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Assignment, named
from hackathon.text.errors import RequestError
from hackathon.text.messages import N_, _
from hackathon.text.numbers import digits

if TYPE_CHECKING:
    from hackathon.schedulers.comparison import Machine
    from hackathon.schedulers.profile_draft import ProfileAnswers

_ASK_TEXTS = {
    "scheduler": N_("Scheduler ({known})"),
    "title": N_("The machine's name for people"),
    "dialect": N_("dialect.{key} ({values})"),
    "gpus": N_("GPUs in a node"),
    "ranks": N_("Processes on a node (default: one per GPU)"),
    "starter": N_("What starts programs on the nodes (srun, mpirun, pbs_tmrsh, ssh; probably {likely})"),
    "environment": N_("A line that jobs begin with, e.g. module load cuda (Enter: no more)"),
}

FILE = click.Path(dir_okay=False, path_type=Path)
NOT_KNOWN = "?"
"""The answer for an unknown value: the default is written and marked."""


@named(
    "new",
    help=_(
        "Write the profile of a machine: ask its scheduler for queues, limits and nodes, and you for the rest. "
        "Values that neither of you gave are guesses and are marked as unverified. The file goes to the "
        "project or event, else to your own profiles; it never replaces another one. Without a terminal, or "
        "with --yes, nothing is asked.\n"
        "\n"
        "  hackathon clusters new kumo\n"
        '  hackathon clusters new kumo --yes --dialect group=account --environment "module load cuda"\n'
        "  hackathon clusters new kumo --scheduler pbs --no-ask --gpus 4 --output kumo.yaml"
    ),
)
@click.argument("name")
@click.option("--scheduler", metavar="NAME", help=_("Scheduler of the machine. Default: the one that answers here."))
@click.option("--title", metavar="TEXT", help=_("The machine's name for people."))
@click.option(
    "--gpus", metavar="N", type=click.IntRange(min=0), help=_("GPUs in a node, if the scheduler does not tell.")
)
@click.option("--processes-per-node", metavar="N", type=click.IntRange(min=1), help=_("Processes per node."))
@click.option(
    "--starter", metavar="NAME", help=_("What starts programs on the nodes: srun, mpirun, pbs_tmrsh, ssh or local.")
)
@click.option(
    "--dialect",
    type=Assignment(),
    multiple=True,
    help=_("A key of the scheduler's dialect, e.g. group=account; may be repeated."),
)
@click.option(
    "--environment", metavar="LINE", multiple=True, help=_("A shell line that jobs begin with; may be repeated.")
)
@click.option(
    "--visible", metavar="DIR", multiple=True, help=_("A folder that compute nodes see; may be repeated. Default: all.")
)
@click.option("--no-ask", "silent", is_flag=True, help=_("Do not ask the scheduler."))
@click.option("-y", "--yes", is_flag=True, help=_("Ask no questions."))
@click.option("-o", "--output", metavar="FILE", type=FILE, help=_("Write to this new file."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    name: str, scheduler: str | None, silent: bool, yes: bool, output: Path | None, as_json: bool, **settings: Any
) -> None:
    import time

    from hackathon.cli.clusters.check import write_new
    from hackathon.config import load
    from hackathon.schedulers import registry
    from hackathon.schedulers.comparison import commands_of
    from hackathon.schedulers.profile_draft import draft

    path = output or _place(name)
    if path.exists():
        raise RequestError(
            "clusters.exists", "{file} already exists", hint="choose another file with --output", file=path
        )
    asking = sys.stdin.isatty() and not yes and not as_json
    chosen = scheduler or _scheduler(asking, silent)
    settings["dialect"] = _typed(chosen, settings["dialect"])
    spoken = registry.load(chosen, settings["dialect"])
    machine = None if silent or spoken.dialect.this_machine else _machine(chosen, settings["dialect"])
    answers = _answers(chosen, settings, machine, asking)
    text = draft(name, answers, machine, commands_of(spoken), time.strftime("%Y-%m-%d"))
    cluster = load.read_cluster(text.encode(), path, name, registry.dialect_type)
    write_new(path, text)
    if as_json:
        value = {
            "schema_version": 1,
            "file": str(path),
            "cluster": name,
            "unverified": cluster.unverified,
            "text": text,
        }
        echo_json(value)
        return
    click.echo(text, nl=False)
    click.echo(_("created {file}", file=path), err=True)
    click.echo(
        _(
            "Next: hackathon clusters check {name!q} --live; hackathon doctor --cluster {name!q} --job\n"
            "To use it: `cluster: {name}` in project.yaml, or --cluster {name!q}",
            name=name,
        ),
        err=True,
    )


def _place(name: str) -> Path:
    """Return the path of a new profile: in the project or event around this folder, else in the user's folder."""
    from hackathon.config.check import name_problem
    from hackathon.config.cluster import RESERVED_NAMES
    from hackathon.config.trust import folders_that_count
    from hackathon.text.paths import user_config

    problem = (
        N_("`{name}` is a sub-verb of `hackathon clusters`; give the file and `name` another name, e.g. {name}-1")
        if name in RESERVED_NAMES
        else name_problem(name)
    )
    if problem:
        raise RequestError(
            "clusters.bad_name",
            "this cannot be a cluster's name: {reason}",
            hint="hackathon clusters new mycluster",
            reason=_(problem, name=name, limit=0),
        )
    folders = folders_that_count(Path.cwd())
    top = folders[0] / "templates" if folders else user_config()
    return top / "clusters" / f"{name}.yaml"


def _scheduler(asking: bool, silent: bool) -> str:
    """Return this machine's scheduler: of several whose commands exist one that answers, unless none is asked."""
    from hackathon.schedulers import registry
    from hackathon.schedulers.comparison import answering

    likely = next(iter(registry.here() if silent else answering()), None)
    if asking:
        return str(click.prompt(_("Scheduler ({known})", known=", ".join(registry.names())), default=likely, err=True))
    if likely is None:
        raise RequestError(
            "clusters.which_scheduler",
            "no scheduler was found on this machine",
            hint="add --scheduler with one of: {known}",
            known=", ".join(registry.names()),
        )
    return likely


def _machine(scheduler: str, dialect: dict[str, Any]) -> "Machine | None":
    """Return the scheduler's information; None, with a warning, if it does not answer, which the profile then notes."""
    from hackathon.cli.show import printable
    from hackathon.schedulers import comparison, registry
    from hackathon.schedulers.base import SchedulerError

    try:
        machine = comparison.ask(registry.load(scheduler, dialect))
    except SchedulerError as error:
        click.echo(
            _(
                "warning: the scheduler did not answer, so queues and nodes are not known: {reason}",
                reason=printable(error.message),
            ),
            err=True,
        )
        return None
    if not machine.nodes:
        reason = machine.problem or _("this scheduler does not describe its nodes to users")
        click.echo(_("nodes: not known: {reason}", reason=printable(reason)), err=True)
    return machine


def _answers(scheduler: str, settings: dict[str, Any], machine: "Machine | None", asking: bool) -> "ProfileAnswers":
    from hackathon.schedulers.profile_draft import ProfileAnswers, counted_keys, likely_starter, open_questions

    title, gpus, ranks, starter = (
        settings["title"],
        settings["gpus"],
        settings["processes_per_node"],
        settings["starter"],
    )
    dialect, environment = dict(settings["dialect"]), list(settings["environment"])
    if asking:
        click.echo(_("Enter ? if you do not know: a guess is written and marked as unverified."), err=True)
        title = title or _ask("title", str)
        for key in open_questions(scheduler):
            known = key in dialect or key in counted_keys(scheduler, dialect, machine)
            if not known and (answer := _ask("dialect", str, key=key, values=_values(scheduler, key))):
                dialect[key] = answer
        if gpus is None and not (machine and machine.nodes and machine.nodes[0].gpus is not None):
            gpus = _ask("gpus", int)
        ranks = ranks or _ask("ranks", int)
        starter = starter or _ask("starter", str, likely=likely_starter(scheduler))
        while not settings["environment"] and (line := _ask("environment", str)):
            environment.append(line)
    return ProfileAnswers(
        scheduler, title, gpus, ranks, starter, dialect, tuple(environment), tuple(settings["visible"])
    )


def _typed(scheduler: str, dialect: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the keys of the dialect from the command line, numbers and switches as such."""
    kinds, switches = _kinds(scheduler), {"true": True, "yes": True, "false": False, "no": False}
    values: dict[str, Any] = {}
    for key, text in dialect:
        types = get_args(kinds.get(key)) or (kinds.get(key),)
        number = digits(text) if int in types else None
        values[key] = number if number is not None else switches.get(text, text) if bool in types else text
    return values


def _values(scheduler: str, key: str) -> str:
    """Return the possible values of a key of the dialect."""
    return ", ".join(map(str, get_args(_kinds(scheduler).get(key))))


def _kinds(scheduler: str) -> dict[str, Any]:
    """Return key of the dialect → type of its values."""
    from dataclasses import fields

    from hackathon.schedulers import registry

    kind = registry.dialect_type(scheduler)
    return {entry.name: entry.type for entry in fields(kind)} if kind else {}


def _ask(question: str, kind: Callable[[str], Any], **values: object) -> Any:
    """Return a person's answer; None for `?` and for no answer."""

    def read(text: str) -> Any:
        if text.strip() in ("", NOT_KNOWN):
            return None
        try:
            return kind(text.strip())
        except ValueError:
            raise click.UsageError(_("{text} is not a number", text=text)) from None

    prompt = _(_ASK_TEXTS[question], **values)
    return click.prompt(prompt, default="", show_default=False, value_proc=read, err=True)
