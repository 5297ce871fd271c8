"""`hackathon schema`: the JSON Schema of a YAML file, or of the output of `tune --json`."""

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _

NAMES = ("project", "recipe", "cluster", "event", "rule", "user", "tune")


@named(
    "schema",
    help=_(
        "Print the JSON Schema of project.yaml, recipe.yaml, a cluster profile, hackathon.yaml or the user's "
        "config.yaml, for editors that complete and check YAML.\n"
        "\n"
        "  hackathon schema project > project.schema.json"
    ),
)
@click.argument("name", type=click.Choice(NAMES))
def command(name: str) -> None:
    if name == "tune":
        from hackathon.tuning.trials.result import SCHEMA

        echo_json(SCHEMA)
        return
    from hackathon.config.schema import json_schema
    from hackathon.schedulers.registry import dialect_types

    echo_json(json_schema(name, dialect_types()))
