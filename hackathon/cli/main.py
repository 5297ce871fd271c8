"""The console script: a lazy group of commands, the language, and the display of errors."""

import codecs
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from hackathon import __version__
from hackathon.text.errors import HackathonError, RequestError, UnavailableError
from hackathon.text.messages import LANGUAGES, N_, _, language, pgettext, set_language
from hackathon.text.printable import printable

COMMANDS = {
    # the commands that lead from a participant's own program to its scaling curve, in this order
    "start": {
        "init": "init", "try": "run.try_", "scale": "study.scale", "results": "study.results", "status": "run.status",
        "logs": "run.logs", "diagnose": "run.diagnose", "cancel": "run.cancel",
    },
    "jobs": {
        "check": "check", "submit": "run.submit", "render": "render", "shell": "machine.shell",
        "compare": "study.compare", "publish": "publish", "rerun": "run.rerun", "fetch": "run.fetch",
        "export": "study.export",
        "adopt": "run.adopt", "lint": "lint", "convert": "convert", "port": "port",
        "env": "machine.env", "data": "machine.data", "recipes": "recipes", "clean": "run.clean",
    },
    "speed": {
        "profile": "speed.profile", "speedup": "speed.speedup", "tune": "speed.tune", "predict": "speed.predict",
        "plan": "speed.plan", "microbatch": "speed.microbatch", "compress": "speed.compress",
    },
    "team": {
        "docs": "docs", "doctor": "machine.doctor", "clusters": "clusters.clusters", "ask": "board.ask",
        "board": "board.board", "standup": "board.standup", "ready": "event.ready", "slides": "slides",
        "completion": "completion", "plugins": "plugins",
    },
    "tutors": {"dashboard": "dashboard", "top": "top", "rules": "rules"},
    "organisers": {
        "event": "event.event", "survey": "survey.survey", "notify": "board.notify", "trust": "event.trust",
        "schema": "schema",
    },
}  # fmt: skip
"""Section of the help → command → the module below `hackathon.cli` that defines it as `command`."""


SUMMARIES = {
    "init": N_("Create a project in a folder."),
    "try": N_("Rehearse a program for a minute: is it ready for a study?"),
    "scale": N_("Measure scaling: one job per process count."),
    "results": N_("Show speed-up and parallel efficiency of a study."),
    "status": N_("Show the states of runs."),
    "logs": N_("Show the output of the ranks of a run."),
    "diagnose": N_("Find out what went wrong and how to fix it."),
    "cancel": N_("Cancel jobs."),
    "check": N_("Check whether the cluster accepts the job, and what it costs."),
    "submit": N_("Submit a job, once or several times."),
    "render": N_("Print the job script that `submit` would submit."),
    "shell": N_("Start an interactive job in the project's environment."),
    "compare": N_("Compare two results."),
    "publish": N_("Write the event's site, or pages of studies."),
    "rerun": N_("Re-run a recorded run or an RO-Crate, also on another cluster."),
    "fetch": N_("Copy files that a program wrote out of its run."),
    "export": N_("Write a study for MLflow or Weights & Biases."),
    "adopt": N_("Track a job submitted by hand."),
    "lint": N_("Find mistakes in a hand-written job script."),
    "convert": N_("Convert the header of a job script for another cluster."),
    "port": N_("Change a one-GPU training program for many GPUs."),
    "env": N_("Build, list, or show the Python environments of recipes."),
    "data": N_("Fetch and check the data that a program reads."),
    "recipes": N_("List recipes, or show the parameters of one."),
    "clean": N_("List deletable files with their sizes, and delete them on request."),
    "profile": N_("Record a few steps and show where their time goes."),
    "speedup": N_("Measure what makes one process faster."),
    "tune": N_("Find the best parameters with trials as jobs."),
    "predict": N_("Predict throughput at sizes that were not measured."),
    "plan": N_("Cut a model over several devices."),
    "microbatch": N_("Divide a batch so that it fits into memory."),
    "compress": N_("Measure which precision of communication pays."),
    "docs": N_("Read the documentation in the terminal."),
    "doctor": N_("Check whether this account and machine are ready."),
    "clusters": N_("List clusters, show or check a profile, write a new one."),
    "ask": N_("Ask a tutor for help, with the latest diagnosis."),
    "board": N_("Problems and their solutions, shared by all teams."),
    "standup": N_("Write or show the daily status report."),
    "ready": N_("Check with evidence that your team can start."),
    "slides": N_("Create a team's slides from its records."),
    "completion": N_("Print a shell completion script."),
    "plugins": N_("List what installed packages add to the toolkit."),
    "dashboard": N_("Show all runs of the event live in a browser."),
    "top": N_("Show what needs attention, in the terminal."),
    "rules": N_("Known failures: list, show, or check their rules."),
    "event": N_("Set up an event, check it, show its usage, write its report."),
    "survey": N_("Anonymous surveys: form, answers, summary."),
    "notify": N_("Send notifications to a chat (off by default)."),
    "trust": N_("Trust an event of another account."),
    "schema": N_("Print the JSON Schema of a configuration file."),
}
"""Command → what the list of commands says of it, so that no module of a command is imported for it."""
SECTIONS = {
    "start": N_("Start here"),
    "jobs": N_("Participants: jobs, scripts, and results"),
    "speed": N_("Participants: faster and larger"),
    "team": N_("Participants: help, machines, and your team"),
    "tutors": N_("Tutors"),
    "organisers": N_("Organisers"),
}


MEANT = {
    "run": "submit", "start": "submit", "launch": "submit", "train": "submit",
    "kill": "cancel", "stop": "cancel", "delete": "cancel", "list": "status",
    "ps": "status", "queue": "status", "jobs": "status", "output": "logs",
    "tail": "logs", "new": "init", "create": "init", "setup": "init",
    "plot": "results", "table": "results",
    "measure": "scale", "bench": "scale", "benchmark": "scale", "forecast": "predict", "extrapolate": "predict",
    "hpo": "tune", "sweep": "tune", "optuna": "tune", "optimise": "tune", "optimize": "tune",
    "why": "diagnose", "debug": "diagnose", "trace": "profile", "profiler": "profile",
    "download": "fetch", "copy": "fetch", "get": "fetch", "outputs": "fetch",
    "mlflow": "export", "wandb": "export",
    "rehearse": "try", "test": "try", "script": "render", "help": "--help", "man": "docs",
}  # fmt: skip
"""Words that users try → the intended command, if spelling alone would suggest another one."""


ALIASES = {"tune-up": "speedup"}
"""Aliases of commands; the help does not list them."""


def is_own(name: str) -> bool:
    """Return whether a command, or a second name of one, is the toolkit's own: no package replaces it."""
    return name in ALIASES or any(name in names for names in COMMANDS.values())


def _commands_of_packages() -> dict[str, str]:
    """Return name → package with its version of the commands of installed packages; none of them is imported."""
    from hackathon.config import plug_ins

    plugs = plug_ins.of_kind("commands")
    return {plug_in.name: printable(plug_in.package) for plug_in in plugs if not is_own(plug_in.name)}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*(name for names in COMMANDS.values() for name in names), *_commands_of_packages()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        for modules in COMMANDS.values():
            if cmd_name in modules:
                command: click.Command = importlib.import_module(f"hackathon.cli.{modules[cmd_name]}").command
                command.short_help = _(SUMMARIES[cmd_name])
                return command
        from hackathon.cli.lazy_groups import command_of
        from hackathon.config import plug_ins

        try:
            plug_in = plug_ins.find("commands", cmd_name)
            return command_of(plug_in) if plug_in is not None else None
        except RequestError:
            if ctx.resilient_parsing:  # the shell's completion goes through all commands
                return None
            raise

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = pgettext("help", "Show this message and exit.")
        return option

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None
        if unknown and not ctx.resilient_parsing:
            import difflib

            near = [MEANT[args[0]]] if args[0] in MEANT else []
            near = near or difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
            text = _("There is no command {name!r}.", name=args[0])
            raise click.UsageError(text + (" " + _("Did you mean {name!r}?", name=near[0]) if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in COMMANDS.items():
            with formatter.section(_(SECTIONS[section])):
                formatter.write_dl([(name, _(SUMMARIES[name])) for name in names])
        if packages := _commands_of_packages():
            with formatter.section(_("From installed packages (hackathon plugins)")):
                formatter.write_dl(list(packages.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_("In your program's folder")):
            for line in _(
                'hackathon init --command "python train.py"\n'
                "hackathon check --processes 2\n"
                "hackathon scale --processes 1,2 --wait"
            ).splitlines():
                formatter.write(f"  {line}\n")


def _language_of(arguments: Sequence[str]) -> str | None:
    """Return the value of --lang anywhere before `--`."""
    # without click, because help texts are built before click parses options
    for number, word in enumerate(arguments):
        if word == "--":
            break
        if word == "--lang" and number + 1 < len(arguments) and arguments[number + 1] in LANGUAGES:
            return arguments[number + 1]
        if word.startswith("--lang=") and word[7:] in LANGUAGES:
            return word[7:]
    return None


def _language_of_user() -> str | None:
    """Return `lang` of the user's config.yaml, unless HACKATHON_LANG is set; a broken file is reported later."""
    from hackathon.text.paths import user_config_name

    try:
        if os.environ.get("HACKATHON_LANG") or not os.path.isfile(f"{user_config_name()}/config.yaml"):  # noqa: PTH113
            return None
        from hackathon.config.load import load_user

        return load_user().lang
    except (HackathonError, OSError, RuntimeError):  # RuntimeError: this user has no known home
        return None


def build() -> click.Group:
    """Return the command group with its texts in the current language."""

    @click.group(
        cls=LazyGroup,
        help=_(
            "Distributed deep learning on a shared supercomputer: from a team's project to a measured scaling curve."
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    @click.version_option(__version__, prog_name="hackathon", help=_("Show the version and exit."))
    @click.option("--lang", type=click.Choice(LANGUAGES), help=_("Language of messages."), expose_value=False)
    def group() -> None:
        pass

    return group


def show_error(error: HackathonError) -> None:
    """Write an error and its remedy to stderr."""
    click.echo(f"{_('error')}: {error.message}", err=True)
    if error.hint:
        click.echo(f"{_('hint')}: {error.hint}", err=True)


_PASSING = (errno.ESTALE, errno.ETIMEDOUT, errno.EAGAIN, errno.EREMOTEIO, errno.ENOTCONN, errno.EHOSTDOWN)
"""Errors of a file server that is temporarily unavailable, or that reassigned a file handle."""


def _system_error(error: OSError) -> HackathonError | None:
    """Return the error to report for a failure that any command can meet; None for an unexpected one."""
    try:
        os.getcwd()  # noqa: PTH109 — it loads nothing
    except OSError:
        return RequestError(
            "cli.folder_gone", "the current folder no longer exists", hint="change to another folder: `cd`"
        )
    if error.filename is not None and error.errno in (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP):
        return RequestError(
            "cli.out_of_reach",
            "cannot access {path}: {reason}",
            path=printable(os.fsdecode(error.filename)),
            reason=error.strerror,
        )
    if error.filename is not None and error.errno in _PASSING:
        return UnavailableError(
            "cli.out_of_reach",
            "cannot access {path}: {reason}",
            path=printable(os.fsdecode(error.filename)),
            reason=error.strerror,
        )
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return None
    # unwritten output would fail once more at exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return UnavailableError("cli.can_not_write", "the output cannot be written: {reason}", reason=error.strerror)


def _asked(error: RequestError) -> bool:
    """Return whether an error is about an untrusted event, and the user has now decided about it."""
    if error.id != "trust.event":
        return False
    from hackathon.cli.event.trust import ask
    from hackathon.config.trust import UntrustedEventError

    return isinstance(error, UntrustedEventError) and ask(error.found)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; expected errors are printed without a traceback."""
    set_language(_language_of(arguments) or _language_of_user() or language())
    if language() != "en":
        from hackathon.cli.click_texts import install

        install()
    try:
        color = False if os.environ.get("NO_COLOR") else None  # https://no-color.org; None: on a terminal
        try:
            result: Any = build()(list(arguments), prog_name="hackathon", standalone_mode=False, color=color)
        except RequestError as error:
            if not _asked(error):
                raise
            # nothing was done yet, because an event is looked for before anything else
            result = build()(list(arguments), prog_name="hackathon", standalone_mode=False, color=color)
        return result if isinstance(result, int) else 0
    except HackathonError as error:
        show_error(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo(_("interrupted"), err=True)
        return 130
    except SystemExit:
        return 0  # click exits like this if the reader of the output has gone: `hackathon results | head -1`
    except OSError as error:
        failure = _system_error(error)
        if failure is None:
            raise
        show_error(failure)
        return failure.exit_code
    finally:
        set_language(None)


FITTING = "hackathon.fitting"
"""Name of the codecs' error handler `_fitting`."""
_PLAIN = {
    "…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "✓": "+", "✗": "x", "•": "*", "→": "->", "≥": ">=", "≤": "<=",
}  # fmt: skip
"""Replacements of characters that a terminal's encoding (EUC-JP, Shift_JIS, Latin-1) lacks."""


def _fitting(error: UnicodeError) -> tuple[bytes, int]:
    """Return bytes for the first character that the encoding lacks: a file name's bytes unchanged, else ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return _PLAIN.get(character, "?").encode("ascii"), error.start + 1


def main() -> None:
    """Entry point of the console script."""
    codecs.register_error(FITTING, _fitting)
    # A command is short and creates little garbage, and collecting it takes a tenth of the start. `wait` turns the
    # collector on again.
    gc.disable()
    # With a umask of 000 everybody could write in runs/, caches and environments. The group's permissions are the
    # user's decision. Files that need other permissions get them where they are created.
    os.umask(os.umask(0o077) | 0o002)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors=FITTING)
    sys.exit(run(sys.argv[1:]))
