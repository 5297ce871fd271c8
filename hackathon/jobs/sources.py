"""Find and read the files that affect a request."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.access.ownership import Trusted, foreign
from hackathon.config import load
from hackathon.config.cluster import Cluster
from hackathon.config.project import Defaults, Project
from hackathon.jobs.environments import FOLDER_VARIABLE, PythonEnvironment, environments_folder, find_environment
from hackathon.jobs.environments import RECORD as ENVIRONMENT_RECORD
from hackathon.jobs.places import Foreign, Places, around, strangers_project
from hackathon.jobs.request import Options, options_of_environment
from hackathon.jobs.resolve import COMMAND_LINE, ENVIRONMENT, EVENT, PROJECT, USER, Sources
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError

if TYPE_CHECKING:
    from hackathon.config.event import Event


def find_sources(
    target: str | None, options: Options, start: Path | None = None, *, foreign: Foreign = "refuse"
) -> Sources:
    """Return all files and options that affect a request for a target, in this process's environment.

    `start`: the folder to start from, by default the current one. `foreign`: how to handle commands, environments and
    templates of other accounts; by default they are refused, as a job would run them. Raises as `gather`.
    """
    return gather(target, options, os.environ, start or Path.cwd(), foreign=foreign)


def gather(
    target: str | None, options: Options, environment: Mapping[str, str], start: Path, *, foreign: Foreign = "leave"
) -> Sources:
    """Return the sources for a target: a recipe's name, a folder with project.yaml or recipe.yaml, or None for the
    project that contains `start`. A recipe that runs inside a project of the user or the team takes from it where its
    jobs run and the folder of its runs. `foreign`: how to handle commands, environments and templates of other
    accounts.

    Raises RequestError if there is no such target or a file is wrong, and as `places.around`.
    """
    of_environment = options_of_environment(environment)
    project_folder = _project_folder(target, start)
    around_it = load.find_project(start) if project_folder is None and not options.no_project else None
    # any account may put a project above a folder of the user
    stranger = strangers_project(around_it, foreign) if around_it is not None else None
    if stranger is not None:
        around_it = None
    search = around(project_folder or around_it, start, foreign)
    search.left_out += [stranger] if stranger is not None else []
    event = search.event
    project, surrounding = (search.project, None) if around_it is None else (None, search.project)
    user = load.load_user()
    folders = search.folders
    recipe = folder = recipe_file = None
    shared: dict[str, Path] = {}
    if project is None:
        recipe, folder = load.load_recipe(str(target), folders)
        recipe_file = folder / load.RECIPE_FILE
        shared = load.shared_files(recipe, folder)
    elif project.recipe is not None:
        recipe, folder = load.load_recipe(project.recipe, folders)
        recipe_file = folder / load.RECIPE_FILE
        shared = load.shared_files(recipe, folder)
        # a project with its own copy of the program runs that copy
        if project_folder and (project_folder / recipe.entry).is_file():
            folder = project_folder
    else:
        folder = project_folder
    assert folder is not None
    if recipe is not None:
        search.admit(folder / load.RECIPE_FILE)
        search.admit(folder / recipe.entry)
        for file in shared.values():
            search.admit(file)
    name, origin = cluster_name(options, of_environment, project or surrounding, user, event)
    if name is None:
        raise RequestError(
            "jobs.no_cluster",
            "no cluster given, and it could not be detected",
            hint="--cluster NAME, or `cluster:` in project.yaml; `hackathon clusters` lists them",
        )
    cluster_file = load.find_cluster(name, folders)
    cluster = registry.load_cluster_file(cluster_file)
    subject = recipe.name if recipe else project.name if project else ""
    built = environment_here(subject, cluster, environment, project_folder or around_it or start, search)
    team = None
    if event is not None and search.event_folder is not None:
        # most projects belong to no event: its records are created only if there is one
        from hackathon.config.event import own_team

        claimed = (project or surrounding or Project("")).team
        team = own_team(event, search.event_folder, project_folder or around_it or start, claimed)
    return Sources(
        cluster=cluster,
        options=options,
        environment=of_environment,
        project=project,
        surrounding=surrounding,
        user=user,
        event=event,
        recipe=recipe,
        folder=folder.resolve(),
        shared=shared,
        template_folders=search.templates,
        runs=(project_folder or around_it or start).resolve() / "runs",
        cluster_origin=origin,
        python_environment=built,
        event_folder=search.event_folder,
        team=team,
        plug_ins=packages_of(cluster, cluster_file, folders, recipe_file),
        left_out=tuple(search.left_out),
    )


def _project_folder(target: str | None, start: Path) -> Path | None:
    """Return the project's folder, or None if the target is a recipe."""
    if target is None:
        project = load.find_project(start)
        if project is None:
            raise RequestError(
                "jobs.no_project",
                "no project.yaml in {folder} or above it",
                hint="name a recipe (`hackathon recipes`), or create a project with `hackathon init`",
                folder=start,
            )
        return project
    folder = start / target
    if (folder / "project.yaml").is_file():
        return folder.resolve()
    return None


def environment_here(
    subject: str, cluster: Cluster, environment: Mapping[str, str], folder: Path, search: Places
) -> PythonEnvironment | None:
    """Return the Python environment that was built for a recipe or a project, None without a trusted one."""
    envs = environments_folder(environment, folder)
    built = find_environment(subject, envs, gpus=cluster.node.gpu_count)
    if built is None:
        return None
    # the owner of the folder that the user named is trusted, but not another account that put an environment into it
    named = Trusted(frozenset({envs.stat().st_uid})) if environment.get(FOLDER_VARIABLE) else Trusted(frozenset())
    stranger = foreign(built.path / ENVIRONMENT_RECORD, search.trusted | named)
    return built if search.judge(stranger) else None


def cluster_name(
    options: Options, environment: Options, project: Project | None, user: Defaults, event: "Event | None"
) -> tuple[str | None, str]:
    """Return (name, origin) of the cluster to use: the first that is named, else one that fits this machine."""
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
    return registry.likely_cluster(), "this machine"


def packages_of(
    cluster: Cluster, cluster_file: Path, folders: Sequence[Path], recipe_file: Path | None = None
) -> dict[str, str]:
    """Return `kind name` → package and version of the plug-ins of installed packages, for a run's record.

    Example: `clusters kumo` → `hackathon-kumo 1.2`.

    Raises RequestError for a name that two packages have.
    """
    packages = {"clusters": load.package_of(cluster_file, folders)}
    names = {"clusters": cluster.name}
    if recipe_file is not None:
        packages["recipes"], names["recipes"] = load.package_of(recipe_file, folders), recipe_file.parent.name
    if cluster.templates is not None:
        packages["templates"], names["templates"] = _package("templates", cluster.templates), cluster.templates
    if cluster.scheduler not in registry.BUILT_IN:
        packages["schedulers"], names["schedulers"] = _package("schedulers", cluster.scheduler), cluster.scheduler
    return {f"{kind} {names[kind]}": package for kind, package in packages.items() if package is not None}


def _package(kind: str, name: str) -> str | None:
    from hackathon.config import plug_ins

    plug_in = plug_ins.find(kind, name)
    return None if plug_in is None else plug_in.package
