"""`hackathon schema`: the JSON Schema of a file that people write, and of what `tune --json` prints."""

import click

from hackathon.cli.options import named

NAMES = ("project", "recipe", "cluster", "event", "rule", "user", "tune")


@named("schema")
@click.argument("name", type=click.Choice(NAMES))
def command(name: str) -> None:
    import json

    if name == "tune":
        from hackathon.tuning.trials.result import SCHEMA

        click.echo(json.dumps(SCHEMA, ensure_ascii=False, indent=1))
        return
    from hackathon.config.schema import json_schema
    from hackathon.schedulers.registry import dialect_types

    click.echo(json.dumps(json_schema(name, dialect_types()), ensure_ascii=False, indent=1))
