"""All commands with usage, examples and options, from their `--help`."""

import re
from collections.abc import Iterator

import click

from hackathon.cli import main
from hackathon.cli.reference import cell, code
from hackathon.text.messages import _


def listing() -> str:
    """Return the list of all commands, in the language in which this process has loaded them."""
    lines = [
        f"- {_(main.SECTIONS[section])}: " + ", ".join(f"[`{name}`](#{name})" for name in names)
        for section, names in main.COMMANDS.items()
    ]
    group = main.build()
    context = click.Context(group, info_name="hackathon")
    for name in (name for names in main.COMMANDS.values() for name in names):
        lines += _section(group, context, name)
    return "\n".join(lines) + "\n"


def _section(group: click.Group, above: click.Context, name: str) -> Iterator[str]:
    """Yield the section of a command, followed by those of its sub-verbs."""
    command = group.get_command(above, name)
    assert command is not None, name
    context = click.Context(command, above, name)
    path = context.command_path.removeprefix("hackathon ")
    yield from ("", f"{'#' * (2 + path.count(' '))} {path}", "", *_described(context))
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            yield from _section(command, context, verb)


def _described(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"`{context.command_path} {' '.join(command.collect_usage_pieces(context))}`"
    text, __, examples = (command.help or "").partition("\b\n")
    yield from ("", " ".join(text.split()))
    if examples.strip():
        yield from ("", "```sh", *(_example(line.strip()) for line in examples.splitlines() if line.strip()), "```")
    rows = []
    for parameter in command.get_params(context):
        if not isinstance(parameter, click.Option) or {"--help", "--lang"} & set(parameter.opts):
            continue
        record = parameter.get_help_record(context)
        if record is not None:
            rows.append(f"| {code(record[0])} | {cell(record[1])} |")
    if rows:
        yield from ("", f"| {_('option')} | {_('meaning')} |", "|---|---|", *rows)


def _example(line: str) -> str:
    """Return an example, followed by its explanation as a comment."""
    typed, gap, about = re.match(r"(.*?)(\s{3,}|\Z)(.*)", line).groups()  # type: ignore[union-attr]
    return f"{typed}{gap}# {about}" if about else typed
