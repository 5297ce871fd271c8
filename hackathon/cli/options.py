"""Options that several commands share."""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hackathon.config.records import LEAST_MEMORY
from hackathon.text.messages import LANGUAGES, _, pgettext
from hackathon.text.units import clear_walltimes, parse_size, parse_walltime, with_unit

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign

Function = TypeVar("Function", bound=Callable[..., Any])


class Walltime(click.ParamType[int]):
    """A walltime in seconds from 00:30:00, 90m or 2h."""

    name = "HH:MM:SS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and (forms := clear_walltimes(value)):
            self.fail(
                _(
                    "{value} is ambiguous as a time limit; write {short} or {long}",
                    value=repr(value),
                    short=forms[0],
                    long=forms[1],
                ),
                param,
                ctx,
            )
        try:
            return parse_walltime(value)
        except ValueError:
            self.fail(_("{value!r} is not a walltime such as 00:30:00, 90m or 2h", value=value), param, ctx)


class Size(click.ParamType[int]):
    """Bytes from 16GB (10⁹), 16GiB (2³⁰) or a number; at least one."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = parse_size(value)
        except ValueError:
            size = 0
        if size <= 0:
            self.fail(_("{value!r} is not a size such as 16GB or 16GiB", value=value), param, ctx)
        return size


class MemorySize(Size):
    """Bytes of memory; a number without a unit is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        size = super().convert(value, param, ctx)
        if size < LEAST_MEMORY:
            meant = (with_unit(value) or "").replace(" ", "")
            words = (
                _("{value} without a unit would be bytes; write a unit, e.g. {meant}", value=value, meant=meant)
                if meant
                else None
            )
            self.fail(words or _("must be at least {limit}", limit="1 MiB"), param, ctx)
        return size


class Assignment(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not sign or not name:
            self.fail(_("{value!r} is not NAME=VALUE", value=value), param, ctx)
        return name, text


class Processes(click.ParamType[list[int]]):
    """A list of process counts: 1,2,4."""

    name = "N,N,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if isinstance(value, list):
            return value
        try:
            counts = [int(part) for part in str(value).split(",") if part.strip()]
        except ValueError:
            counts = []
        if not counts or min(counts) < 1:
            self.fail(_("{value!r} is not a list of process counts such as 1,2,4", value=value), param, ctx)
        return counts


class LocalizedCommand(click.Command):
    """A command whose --help option is in the current language."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = pgettext("help", "Show this message and exit.")
        return option

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if isinstance(self, click.Group):  # its sub-commands have codes of their own
            return
        from hackathon.cli.exit_codes import line_of

        text = _("Exit code: {codes}", codes=line_of(ctx.command_path.partition(" ")[2]))
        formatter.write_paragraph()
        formatter.write(click.formatting.wrap_text(text, formatter.width) + "\n")


class LocalizedGroup(LocalizedCommand, click.Group):
    """A noun with sub-verbs whose --help option is in the current language."""


def named(
    name: str, *, help: str, short: str = "", cls: type[click.Command] = LocalizedCommand, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a click command with its help text. `short`: what a list says; a lazy group adds that of its own list."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        decorator: Callable[[Callable[..., Any]], click.Command] = click.command(
            name,
            cls=cls,
            help=re.sub(r"\n\n(?=  |hackathon )", "\n\n\b\n", help),  # click keeps the lines of examples
            short_help=short or None,
            **settings,
        )
        command = decorator(function)
        command.context_settings.setdefault("help_option_names", ["-h", "--help"])
        return option_lang(command)

    return decorate


def option_lang(command: click.Command) -> click.Command:
    """Add --lang, which `main` has already applied when options are read."""
    command.params.append(
        click.Option(["--lang"], type=click.Choice(LANGUAGES), expose_value=False, help=_("Language of messages."))
    )
    return command


def site_options(function: Function) -> Function:
    """Add the options about the account to charge and the choice of nodes; the function receives each by its name."""

    def one_group(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
        if len(set(values)) > 1:
            names = {"first": values[0], "second": values[1]}
            raise click.UsageError(
                _("--group and --account are one option, and have different values: {first}, {second}", **names)
            )
        return values[0] if values else None

    for option in reversed(
        [
            click.option(
                "--group",
                "--account",
                "group",
                metavar="NAME",
                multiple=True,
                callback=one_group,
                help=_("Group or account to charge."),
            ),
            click.option("--reservation", metavar="NAME", help=_("Reservation name.")),
            click.option("--qos", metavar="NAME", help=_("Slurm's quality of service.")),
            click.option("--constraint", metavar="FEATURES", help=_("Features of the nodes (Slurm).")),
        ]
    ):
        function = option(function)
    return function


def job_options(function: Function) -> Function:
    """Add the shared options of a request; the function receives them as one `Options` named `options`."""
    import functools

    from hackathon.jobs.request import Options

    @functools.wraps(function)
    def collect(
        *arguments: Any,
        cluster: str | None, queue: str | None, group: str | None, reservation: str | None, qos: str | None,
        constraint: str | None, nodes: int | None,
        processes: Any, processes_per_node: int | None, threads: int | None, walltime: int | None,
        launcher: str | None, binding: str | None, no_project: bool, parameter: tuple[tuple[str, str], ...],
        **keywords: Any,
    ) -> Any:  # fmt: skip
        counts = processes if isinstance(processes, list) else None
        options = Options(
            cluster=cluster, queue=queue, group=group, reservation=reservation, qos=qos,
            constraint=constraint, nodes=nodes,
            processes=None if counts else processes, processes_per_node=processes_per_node, threads=threads,
            walltime=walltime, launcher=launcher, binding=binding, parameters=dict(parameter),
            in_place=keywords.pop("in_place", None), requeue=keywords.pop("requeue", None), no_project=no_project,
        )  # fmt: skip
        if counts:
            keywords["counts"] = counts
        return function(*arguments, options=options, **keywords)

    several = getattr(function, "several_processes", False)
    positive = click.IntRange(min=1)
    for option in reversed(
        [
            click.option(
                "--cluster",
                metavar="NAME",
                shell_complete=completing("cluster"),
                help=_("Cluster profile (`hackathon clusters` lists them)."),
            ),
            click.option(
                "--queue",
                metavar="NAME",
                shell_complete=completing("queue"),
                help=_("Queue, partition, resource group or resource type."),
            ),
            site_options,
            click.option("--nodes", metavar="N", type=positive, help=_("Number of nodes.")),
            click.option(
                "--processes",
                type=Processes() if several else positive,
                metavar=None if several else "N",
                help=_("Process counts to measure, for example 1,2,4.")
                if several
                else _("Total number of processes, normally one per GPU."),
            ),
            click.option("--processes-per-node", metavar="N", type=positive, help=_("Processes per node.")),
            click.option("--threads", metavar="N", type=positive, help=_("Threads per process.")),
            click.option("--walltime", type=Walltime(), help=_("Time limit: 00:30:00, 90m, 2h.")),
            click.option(
                "--launcher",
                metavar="NAME",
                shell_complete=completing("launcher"),
                help=_("torchrun, mpirun, srun, local, horovodrun or horovodrun-mpi."),
            ),
            click.option(
                "--binding",
                metavar="none|numa|cores",
                help=_(
                    "Cores of a rank: those of its GPU's memory node (numa), some of its own (cores), or all (none)."
                ),
            ),
            click.option(
                "--no-project",
                is_flag=True,
                help=_("Run a recipe without the cluster, queue, group and time limit of the project in this folder."),
            ),
            click.option(
                "-p", "--parameter", type=Assignment(), multiple=True, help=_("Set a parameter; may be repeated.")
            ),
        ]
    ):
        collect = option(collect)
    return collect  # type: ignore[return-value]


def option_force(function: Function) -> Function:
    """Add --force: submit a program even if its text contains errors."""
    return click.option("--force", is_flag=True, help=_("Submit although the text of the program has errors."))(
        function
    )


def option_requeue(function: Function) -> Function:
    """Add --requeue and --no-requeue below `job_options`, which puts them into the `Options`."""
    return click.option(
        "--requeue/--no-requeue",
        default=None,
        help=_("Whether the scheduler may start the job again after a preemption or a node failure."),
    )(function)


def option_yes(function: Function) -> Function:
    """Add --yes: submit without asking."""
    return click.option("-y", "--yes", is_flag=True, help=_("Submit without asking."))(function)


def option_trust(function: Function) -> Function:
    """Add --trust: `foreign` tells the function how to treat commands, environments and templates of others."""
    import functools

    @functools.wraps(function)
    def collect(*arguments: Any, trust: bool, **keywords: Any) -> Any:
        return function(*arguments, foreign="take" if trust else "refuse", **keywords)

    return click.option("--trust", is_flag=True, help=_("Use commands, environments and templates of other accounts."))(
        collect
    )  # type: ignore[return-value]


def typed(names: Collection[str]) -> list[str]:
    """Return which of these options were typed on the running command's line, as written there: `--seconds`."""
    context = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]


def shown_only(foreign: "Foreign") -> "Foreign":
    """Return how files of others are treated by a command that runs nothing: they are left out instead of refused."""
    return "take" if foreign == "take" else "leave"


def several_processes(function: Function) -> Function:
    """Mark a command whose --processes is a list, which it receives as `counts`."""
    function.several_processes = True  # type: ignore[attr-defined]
    return function


def completing(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return a `shell_complete` for values of a kind of `completers.KINDS`, which is imported when it is called."""

    def values(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from hackathon.cli.completers import complete

        return complete(kind, incomplete, runs_folder())

    return values


def runs_folder(folder: Path | None = None) -> Path:
    """Return the folder of run directories: `runs` of the project around the folder, else `./runs`."""
    from hackathon.config.load import find_project

    current = (folder or Path.cwd()).resolve()
    return (find_project(current) or current) / "runs"
