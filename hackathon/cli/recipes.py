"""`hackathon recipes`: the available training programs and their parameters."""

from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import completing, named
from hackathon.text.messages import _, localized


@named(
    "recipes",
    help=_("List the recipes, or show one with its parameters.\n\n  hackathon recipes\n  hackathon recipes torch-ddp"),
)
@click.argument("name", required=False, shell_complete=completing("recipe"))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str | None, as_json: bool) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.config import load
    from hackathon.config.trust import folders_that_count
    from hackathon.jobs.origins import origin_text

    folders = folders_that_count(Path.cwd())
    if name is None:
        entries, problems = load.list_recipes(folders)
        files, __ = load.recipe_files(folders)
        origins = {recipe.name: load.origin_of(files[recipe.name], folders) for recipe in entries}
        if as_json:
            rows = [
                {
                    "name": recipe.name,
                    "framework": recipe.framework,
                    "title": localized(recipe.title),
                    "from": origins[recipe.name],
                }
                for recipe in entries
            ]
            echo_json({"recipes": rows, "problems": [str(problem) for problem in problems]}, indent=None)
            return
        echo_table(
            [_("name"), _("framework"), _("launchers"), _("from"),
             _("title")],
            [
                [recipe.name, recipe.framework, " ".join(recipe.launchers), origin_text(origins[recipe.name]),
                 localized(recipe.title)]
                for recipe in entries
            ],
        )  # fmt: skip
        for problem in problems:
            click.echo(str(problem), err=True)
        return
    recipe, folder = load.load_recipe(name, folders)
    if as_json:
        from dataclasses import asdict

        origin = load.origin_of(folder / load.RECIPE_FILE, folders)
        echo_json({**asdict(recipe), "folder": str(folder), "from": origin})
        return
    click.echo(f"{recipe.name}: {localized(recipe.title, recipe.name)}")
    click.echo(
        _(
            "in {folder}; runs under {launchers}; scaling is measured by {metric}",
            folder=folder,
            launchers=", ".join(recipe.launchers),
            metric=recipe.metric,
        )
    )
    if package := load.package_of(folder / load.RECIPE_FILE, folders):
        click.echo(_("From the package {package}", package=package))
    click.echo()
    echo_table(
        [_("parameter"), _("type"), _("default"), ""],
        [
            [
                parameter_name,
                " | ".join(str(choice) for choice in parameter.choices) if parameter.choices else parameter.type,
                "–" if parameter.default is None else str(parameter.default),
                localized(parameter.help),
            ]
            for parameter_name, parameter in recipe.parameters.items()
        ],
    )
