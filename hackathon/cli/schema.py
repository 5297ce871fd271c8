"""`hackathon schema`: the JSON Schema of a YAML file, or of the JSON that a command prints."""

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

NAMES = ("project", "recipe", "cluster", "event", "rule", "user", "reference", "tune")


@named(
    "schema",
    help=_(
        "Print the JSON Schema of project.yaml, recipe.yaml, a cluster profile, hackathon.yaml or the user's "
        "config.yaml, for editors that complete and check YAML; with --json-of, the schema of what a command prints "
        "with --json.\n"
        "\n"
        "  hackathon schema project > project.schema.json\n"
        "  hackathon schema --json-of results\n"
        "  hackathon schema --json-of 'clusters list'"
    ),
)
@click.argument("name", type=click.Choice(NAMES), required=False)
@click.option("--json-of", "command_name", metavar="COMMAND", help=_("The command whose JSON is described."))
def command(name: str | None, command_name: str | None) -> None:
    if (name is None) == (command_name is None):
        raise RequestError("schema.one", "name a file, or a command with --json-of", hint="hackathon schema --help")
    if name is not None and name != "tune":
        from hackathon.config.schema import json_schema
        from hackathon.schedulers.registry import dialect_types

        echo_json(json_schema(name, dialect_types()))
        return
    from hackathon.cli.json_types import registry

    wanted = " ".join((command_name or "tune").split())
    if wanted not in registry.commands():
        raise RequestError(
            "schema.no_json",
            "no command {name!r} has --json",
            hint="commands with --json: {known}",
            name=wanted,
            known=", ".join(registry.commands()),
        )
    echo_json(registry.schema_of(wanted))
