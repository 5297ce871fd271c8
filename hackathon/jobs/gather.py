"""Find the files that have a say in a request and read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config import load
from hackathon.config.project import Defaults, Project
from hackathon.jobs import machine
from hackathon.jobs.environments import environments_folder, find_environment
from hackathon.jobs.options import Options, options_of_environment
from hackathon.jobs.resolve import COMMAND_LINE, ENVIRONMENT, EVENT, PROJECT, USER, Sources
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.config.event import Event


def gather(target: str | None, options: Options, environment: Mapping[str, str], here: Path) -> Sources:
    """Return the sources for a target: a recipe's name, a folder with project.yaml or recipe.yaml, or None for the
    project that holds `here`.

    Raises RequestError when there is no such target or a file is wrong.
    """
    of_environment = options_of_environment(environment)
    project_folder = _project_folder(target, here)
    project = load.load_project(project_folder) if project_folder else None
    event_folder = load.find_event(project_folder or here)
    event = load.load_event(event_folder) if event_folder else None
    user = load.load_user()
    folders = [folder for folder in (project_folder, event_folder) if folder]
    recipe = folder = None
    if project is None:
        recipe, folder = load.load_recipe(str(target), folders)
    elif project.recipe is not None:
        recipe, folder = load.load_recipe(project.recipe, folders)
        # a project that carries its own copy of the program runs that copy
        if project_folder and (project_folder / recipe.entry).is_file():
            folder = project_folder
    else:
        folder = project_folder
    assert folder is not None
    name, origin = cluster_name(options, of_environment, project, user, event)
    if name is None:
        raise RequestError("jobs.no_cluster")
    cluster = load.load_cluster(name, folders)
    subject = recipe.name if recipe else project.name if project else ""
    gpus = machine.gpus() if cluster.node.gpus == "auto" else cluster.node.gpus
    envs = environments_folder(environment, project_folder or here)
    return Sources(
        cluster=cluster,
        options=options,
        environment=of_environment,
        project=project,
        user=user,
        event=event,
        recipe=recipe,
        folder=folder.resolve(),
        template_folders=tuple(each / "templates" for each in folders if (each / "templates").is_dir()),
        runs=(project_folder or here).resolve() / "runs",
        cluster_origin=origin,
        python_environment=find_environment(subject, envs, gpus=gpus),
    )


def _project_folder(target: str | None, here: Path) -> Path | None:
    """Return the project's folder, or None when the target is a recipe."""
    if target is None:
        found = load.find_project(here)
        if found is None:
            raise RequestError("jobs.no_project", folder=here)
        return found
    folder = here / target
    if (folder / "project.yaml").is_file():
        return folder.resolve()
    return None


def cluster_name(
    options: Options, environment: Options, project: Project | None, user: Defaults, event: "Event | None"
) -> tuple[str | None, str]:
    """Return (name, who gave it) of the cluster to use: the first that somebody names, else what this machine seems."""
    layers: list[tuple[str, object]] = [
        (COMMAND_LINE, options), (ENVIRONMENT, environment), (PROJECT, project), (USER, user),
        (EVENT, event.defaults if event else None),
    ]  # fmt: skip
    for origin, record in layers:
        name = getattr(record, "cluster", None)
        if name:
            return str(name), origin
    if event and len(event.clusters) == 1:
        return next(iter(event.clusters)), EVENT
    return machine.likely_cluster(), "this machine"
