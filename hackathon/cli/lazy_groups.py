"""Commands that are imported when they are used: sub-verbs of a noun, and those of installed packages."""

import importlib
import keyword
from collections.abc import Mapping
from typing import Any

import click

from hackathon.cli.options import LocalizedGroup
from hackathon.config import plug_ins
from hackathon.text.messages import _


def command_of(plug_in: plug_ins.PlugIn) -> click.Command:
    """Return the command of a package. Raises RequestError if it cannot be imported or is not a command."""
    value = plug_ins.load(plug_in)
    if not isinstance(value, click.Command):
        raise plug_ins.broken(plug_in, _("it is not a click command but {type}", type=type(value).__name__))
    return value


class LazyNoun(LocalizedGroup):
    """A noun with sub-verbs in `hackathon.cli.<noun>.<verb>`, each as `command`; `verbs`: verb → what a list says."""

    verbs: Mapping[str, str] = {}

    def __init__(self, *arguments: Any, verbs: Mapping[str, str] = {}, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.verbs:
            return None
        command: click.Command = importlib.import_module(self.module(cmd_name)).command
        command.short_help = _(self.verbs[cmd_name])
        return command

    def module(self, verb: str) -> str:
        """Return the name of a sub-verb's module, which ends in an underscore for a keyword of Python."""
        return f"hackathon.cli.{self.name}.{verb}{'_' if keyword.iskeyword(verb) else ''}"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.verbs and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self.verbs, 1)
            text = _("There is no command {name!r}.", name=args[0])
            raise click.UsageError(text + (" " + _("Did you mean {name!r}?", name=near[0]) if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_("Commands")):
            formatter.write_dl([(verb, _(text)) for verb, text in self.verbs.items()])
