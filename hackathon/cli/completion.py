"""`hackathon completion`: the shell's completion script."""

import click

from hackathon.cli.options import named
from hackathon.text.messages import _


@named("completion", help=_('Print a completion script.\n\n  eval "$(hackathon completion bash)"     in ~/.bashrc'))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), default="bash")
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "hackathon", "_HACKATHON_COMPLETE").source())
