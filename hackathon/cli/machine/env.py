"""`hackathon env`: Python environments of recipes and projects, usable on compute nodes without Internet access."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import LocalizedGroup, Walltime, completing, named, option_trust, site_options
from hackathon.jobs.environments import VARIANTS
from hackathon.jobs.request import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.places import Foreign
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources


@named(
    "env",
    help=_(
        "Python environments of recipes. Each is built once, on a machine with Internet access, in a place "
        "that compute nodes can read: `envs` of the project, or $HACKATHON_ENVS. Jobs of the recipe use it "
        "automatically.\n"
        "\n"
        "  hackathon env create torch-ddp\n"
        "  hackathon env list\n"
        "  hackathon env show torch-ddp"
    ),
    cls=LocalizedGroup,
)
def command() -> None:
    pass


@named(
    "create",
    help=_(
        "Build the environment of a recipe, or of the project, from its pinned requirements: with uv if it is "
        "installed, otherwise with venv and pip. Every command is printed. An existing environment is left "
        "alone; an interrupted build starts over.\n"
        "\n"
        "  hackathon env create\n"
        "  hackathon env create torch-ddp --variant cuda --cluster miyabi-g\n"
        "  hackathon env create torch-ddp --dry-run     only print the commands"
    ),
    short=_("Build the environment of a recipe or project."),
)
@click.argument("target", required=False, metavar="[RECIPE|FOLDER]")
@click.option(
    "--variant",
    type=click.Choice(VARIANTS),
    default="cpu",
    help=_("cpu or cuda; cuda uses `requirements-cuda.txt` if it exists."),
)
@click.option("--python", metavar="PYTHON", help=_("Python to build it with (default: this one)."))
@click.option(
    "--locked",
    is_flag=True,
    help=_("Install exactly the files whose hashes the recipe records for this Python and machine."),
)
@click.option("--again", is_flag=True, help=_("Rebuild an existing environment."))
@click.option(
    "--on",
    "node",
    type=click.Choice(["login", "compute"]),
    default="login",
    help=_("Build on this machine, or in a job if compute nodes have Internet access."),
)
@click.option("--dry-run", is_flag=True, help=_("Print the commands without running them."))
@click.option("--wait", "waiting", is_flag=True, help=_("With --on compute: wait until the job has finished."))
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Cluster profile (`hackathon clusters` lists them)."),
)
@click.option("--queue", metavar="NAME", help=_("Queue, partition, resource group or resource type."))
@site_options
@click.option("--walltime", type=Walltime(), help=_("Time limit: 00:30:00, 90m, 2h."))
@option_trust
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def create(
    target: str | None,
    variant: str,
    python: str | None,
    locked: bool,
    again: bool,
    node: str,
    dry_run: bool,
    waiting: bool,
    foreign: "Foreign",
    as_json: bool,
    **values: Any,
) -> None:
    from hackathon.jobs.environments import environments_folder
    from hackathon.jobs.sources import find_sources
    from hackathon.runs.environment.environments import LOCK, build, details
    from hackathon.runs.environment.install_plan import plan

    sources = find_sources(target, Options(**values), foreign=foreign)
    recipe, cluster = sources.recipe, sources.cluster
    name = recipe.name if recipe else sources.name
    envs = environments_folder(os.environ, sources.runs.parent)
    if recipe is None and not (sources.folder / "requirements.txt").is_file():
        raise RequestError(
            "environments.command_project",
            "{name} uses its own command: its folder needs a requirements.txt",
            name=name,
        )
    planned = plan(
        name,
        sources.folder,
        recipe.install if recipe else [],
        envs=envs,
        variant=variant,
        cluster=cluster,
        python=python,
        trusted=foreign == "take",
        locked=locked,
    )
    if dry_run:
        for line in planned.lines:
            click.echo(line)
        return
    if node == "compute":
        from os.path import abspath

        python = abspath(python) if python and "/" in python else python  # noqa: PTH100 — the job starts elsewhere
        options = [*(["--python", python] if python else []), *(["--again"] if again else [])]
        options += [*(["--trust"] if foreign == "take" else []), *(["--locked"] if locked else [])]
        _on_compute(sources, envs, ["--variant", variant, *options], waiting, as_json)
        return
    built = build(planned, lambda line: click.echo(f"$ {line}", err=True), again=again)
    path = built.environment.path
    packages = details(path).get("packages", {})
    if as_json:
        value = {"path": str(path), "new": built.new, "lock": str(path / LOCK), "commands": planned.lines}
        echo_json({**value, "packages": packages})
    elif built.new:
        click.echo(
            _("built: {path} ({count} packages; lock: {lock})", path=path, count=len(packages), lock=path / LOCK)
        )
    else:
        click.echo(_("already exists: {path}", path=path))


def _on_compute(sources: "Sources", envs: Path, words: list[str], waiting: bool, as_json: bool) -> None:
    """Submit a job of one process that runs this command on a node."""
    from dataclasses import replace

    from hackathon.cli.budget import admit
    from hackathon.cli.shown import finish
    from hackathon.jobs.data import VARIABLES as DATA_VARIABLES
    from hackathon.jobs.environments import FOLDER_VARIABLE
    from hackathon.runs.campaign import plan, start
    from hackathon.text.paths import toolkit_command

    cluster = sources.cluster
    if not cluster.internet_on_nodes:
        raise RequestError(
            "environments.offline_nodes",
            "compute nodes of {cluster} have no Internet access, so nothing can be installed there",
            hint="omit --on compute to build on this machine; if nodes do have Internet access, set "
            "`internet_on_nodes: true` in the profile",
            cluster=cluster.name,
        )
    target = str(sources.runs.parent if sources.project else sources.folder)
    # `env` because the job's own lines may change HACKATHON_ENVS; the launcher needs no file that is created later
    argv = ("env", f"{FOLDER_VARIABLE}={envs}", *toolkit_command(), "env", "create", target)

    def builder(request: "Request") -> "Request":
        return replace(
            request,
            name=f"env-{request.name}"[:60],
            recipe=None,
            framework=None,
            command=(*argv, "--cluster", cluster.name, *words),
            parameters={},
            # pip needs no data, which may not exist yet and take long to copy to the node's own disk
            data=(),
            variables={name: value for name, value in request.variables.items() if name not in DATA_VARIABLES},
            launcher="local",
            metrics={},
            check=None,
        )

    options = replace(sources.options, nodes=1, processes=1, processes_per_node=1)
    small = replace(sources, options=options, python_environment=None)
    finish(start(plan(small, become=builder, admit=admit)), waiting, as_json)


@named("list", help=_("List the environments of the project.\n\n  hackathon env list"), short=_("List environments."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def list_all(as_json: bool) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.runs.environment.environments import list_environments

    envs = _folder()
    environments = list_environments(envs)
    if as_json:
        echo_json({"folder": str(envs), "environments": environments})
        return
    if not environments:
        click.echo(_("no environments in {folder}", folder=envs), err=True)
        return
    heads = [
        _("variant"),
        _("packages"),
        _("built"),
        _("folder"),
    ]
    echo_table(
        [_("name"), *heads],
        [
            [
                environment["name"],
                environment["variant"],
                str(len(environment["packages"])),
                str(environment["built"]),
                environment["path"],
            ]
            for environment in environments
        ],
    )


@named(
    "show",
    help=_("Show the commands that built an environment, and every package in it.\n\n  hackathon env show torch-ddp"),
    short=_("Show how an environment was built and what is in it."),
)
@click.argument("name", metavar="ENVIRONMENT")
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def show(name: str, as_json: bool) -> None:
    from hackathon.runs.environment.environments import list_environments

    envs = _folder()
    environments = {Path(environment["path"]).name: environment for environment in list_environments(envs)}
    chosen = [environment for folder, environment in environments.items() if name in (folder, environment["name"])]
    if not chosen:
        raise RequestError(
            "environments.unknown",
            "there is no environment {name!r} in {folder}",
            hint="`hackathon env list` lists environments; `hackathon env create RECIPE` builds one",
            name=name,
            folder=envs,
        )
    if as_json:
        echo_json({"environments": chosen})
        return
    for environment in chosen:
        click.echo(f"{environment['path']} ({environment['built']})")
        click.echo(_("built by") + ":")
        for line in environment["commands"]:
            click.echo(f"  {line}")
        click.echo(_("packages") + f": {len(environment['packages'])}")
        for package, version in environment["packages"].items():
            click.echo(f"  {package} {version}")


def _folder() -> Path:
    from hackathon.cli.options import runs_folder
    from hackathon.jobs.environments import environments_folder

    return environments_folder(os.environ, runs_folder().parent)


for _sub_verb in (create, list_all, show):
    command.add_command(_sub_verb)  # type: ignore[attr-defined]
