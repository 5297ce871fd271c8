"""Change a recorded request so that another cluster runs it: the experiment stays, what belongs to a machine changes.

Processes, command and parameters are the experiment and stay unless the user gives others. Queue, group, walltime's
limit, nodes, starter, launcher, modules and folders are the new cluster's.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hackathon.config import load
from hackathon.config.cluster import ALL_LAUNCHERS, Cluster, Queue
from hackathon.config.command import COUNTS, command_words
from hackathon.config.project import Project
from hackathon.config.recipe import Recipe
from hackathon.config.records import Scalar
from hackathon.jobs.changes import COMPARED, RequestChange, changes
from hackathon.jobs.containers import container_of
from hackathon.jobs.parameters import choose_values, option_words
from hackathon.jobs.places import Foreign, around
from hackathon.jobs.request import Options, Request, options_of_environment
from hackathon.jobs.resolve import (
    COMMAND_LINE,
    ENVIRONMENT,
    EVENT,
    PROJECT,
    USER,
    Sources,
    full_nodes,
    names_unknown_to,
    payer,
    shape_on,
    usual_threads,
)
from hackathon.jobs.resolve import declared_parameters as declared
from hackathon.jobs.sources import cluster_name, environment_here, packages_of
from hackathon.jobs.surroundings import surroundings, surroundings_of_crate
from hackathon.schedulers import registry
from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.units import format_walltime


def sources_here(
    old: Request,
    options: Options,
    environment: Mapping[str, str],
    start: Path,
    *,
    stay: bool = False,
    foreign: Foreign = "refuse",
) -> Sources:
    """Return the files and options for a rerun here: the new cluster's profile, the user's and the event's defaults.

    Without `--cluster`, `stay` keeps the recorded cluster; a crate from elsewhere does not. `foreign` as in `gather`.
    Raises RequestError if no cluster is named, or its profile is unknown here, and as `places.around`.
    """
    of_environment = options_of_environment(environment)
    project_folder = load.find_project(start)
    search = around(project_folder, start, foreign)
    project, event, folders = search.project, search.event, search.folders
    user = load.load_user()
    name, origin = (old.cluster, "") if stay and options.cluster is None else (None, "")
    if name is None:
        name, origin = cluster_name(options, of_environment, project, user, event)
    if name is None:
        raise RequestError(
            "jobs.no_cluster",
            "no cluster given, and it could not be detected",
            hint="--cluster NAME, or `cluster:` in project.yaml; `hackathon clusters` lists them",
        )
    try:
        cluster_file = load.find_cluster(name, folders)
    except RequestError:
        package = (old.plug_ins or {}).get(f"clusters {name}")
        if package is None:
            raise
        raise RequestError(
            "plug_ins.gone",
            "The run took the cluster {cluster} from the package {package}, which is not installed here.",
            hint="Install the package, or choose another cluster: --cluster NAME",
            cluster=name,
            package=package,
        ) from None
    cluster = registry.load_cluster_file(cluster_file)
    built = environment_here(old.recipe or old.name, cluster, environment, project_folder or start, search)
    return Sources(
        cluster=cluster,
        options=options,
        environment=of_environment,
        project=project,
        user=user,
        event=event,
        recipe=_recipe_here(old, folders),
        template_folders=search.templates,
        runs=(project_folder or start).resolve() / "runs",
        cluster_origin=origin,
        python_environment=built,
        event_folder=search.event_folder,
        plug_ins=packages_of(cluster, cluster_file, folders),
        left_out=tuple(search.left_out),
    )


def transfer(
    old: Request, sources: Sources, *, run: str, files: Mapping[str, bytes], source: str, foreign: bool
) -> tuple[Request, list[RequestChange]]:
    """Return the request for the new cluster, and every difference from the recorded one.

    `run` is its name, `files` the program's (its own recipe.yaml or project.yaml declares its parameters), `source`
    their folder; `foreign`: it comes from a crate, so that group and reservation are another user's. Raises
    RequestError for an unknown parameter; `check` checks whether the cluster can run it.
    """
    cluster = sources.cluster
    same = cluster.name == old.cluster and not foreign
    moved = _Move(old, sources, same)
    queue, nodes, processes, per_node = moved.shape()
    limit = _queue(cluster, queue)
    parameters, command = old.parameters, old.command
    counts = dict(zip(COUNTS, (processes, nodes, per_node), strict=True))
    if sources.options.parameters or (old.recipe is None and _is_counted(files)):
        parameters, command = _with_parameters(old, sources, files, run, counts)
    lines, variables = surroundings_of_crate(old, sources) if foreign else surroundings(old, sources)
    image = None if foreign else old.image  # another user's image would run with this user's rights
    if image != old.image:
        moved.whys["image"] = moved.whys["container"] = _("another user's image; add your own to project.yaml")
    built = sources.python_environment if image is None else None
    new = replace(
        old,
        cluster=cluster.name,
        scheduler=cluster.scheduler,
        dialect=cluster.dialect,
        queue=queue,
        group=moved.pick("group", old.group if same else None),
        reservation=moved.pick("reservation", old.reservation if same else None),
        nodes=nodes,
        processes=processes,
        processes_per_node=per_node,
        threads=moved.threads(per_node),
        gpus_per_node=moved.gpus,
        walltime=moved.walltime(limit, nodes),
        launcher=moved.launcher(nodes),
        binding=moved.pick("binding", old.binding if same else cluster.binding),
        starter=cluster.starter,
        mpi=cluster.mpi,
        command=command,
        parameters=parameters,
        environment=tuple(line for line, _ in lines),
        variables={name: value for name, (value, _) in variables.items()},
        python_environment=built.record if built else None,
        scratch=cluster.scratch,
        telemetry_seconds=cluster.telemetry_seconds,
        mpi_options=tuple(cluster.mpi_options),
        directives=old.directives if same else tuple(cluster.directives),
        partition=limit.partition_named,
        qos=moved.pick("qos", old.qos if same and queue == old.queue else limit.qos),
        constraint=moved.pick("constraint", old.constraint if same else cluster.constraint),
        master_addr_suffix=cluster.master_addr_suffix,
        memory=old.memory if same else None,
        source=source,
        shared={} if foreign else old.shared,
        in_place=False if foreign else old.in_place,
        exclude=() if foreign else old.exclude,
        image=image,
        container=None if image is None else old.container if same else container_of(cluster, image, sources.project),
        requeue=moved.pick("requeue", old.requeue if same else None),
        team=(sources.project.team if sources.project else None) if foreign else old.team,
        plug_ins={**({} if foreign else _of_program(old)), **sources.plug_ins} or None,
    )
    new = replace(new, stop_before=min(cluster.stop_before, new.walltime // 5))
    origins = dict.fromkeys((*COMPARED, *(f"parameters.{parameter}" for parameter in parameters)), f"run {run}")
    origins |= {name: origin for name, origin in moved.origins.items() if origin}
    origins |= {f"parameters.{name}": COMMAND_LINE for name in sources.options.parameters}
    origins |= {f"environment.{number}": origin for number, (_, origin) in enumerate(lines)}
    origins |= {f"variables.{name}": origin for name, (_, origin) in variables.items()}
    new = replace(new, origins=origins)
    return new, changes(old, new, moved.whys)


class _Move:
    """Chooses the values of one transfer, and records the reasons."""

    def __init__(self, old: Request, sources: Sources, same: bool) -> None:
        self.old, self.here, self.same = old, sources, same
        cluster = sources.cluster
        self.gpus = cluster.node.gpu_count
        self.cores = cluster.node.core_count
        full = cluster.processes_per_node
        self.full = full if full != "auto" else self.gpus or self.cores
        if old.gpus_per_process > 1 and self.gpus:
            self.full = max(1, min(self.full, self.gpus // old.gpus_per_process))
        self.origins: dict[str, str] = {"cluster": sources.cluster_origin}
        self.whys: dict[str, str] = {}
        self.unknown = names_unknown_to(cluster)
        used = sources.event.clusters.get(cluster.name) if sources.event else None
        self.layers: list[tuple[str, Any]] = [(COMMAND_LINE, sources.options)]
        if not same:  # on the same cluster recorded values come before the defaults here
            self.layers += [
                (ENVIRONMENT, sources.environment), (PROJECT, sources.project), (USER, sources.user), (EVENT, used),
                (EVENT, payer(sources)),
                (EVENT, sources.event.defaults if sources.event else None),
            ]  # fmt: skip

    def pick(self, name: str, default: Any) -> Any:
        """Return the first value that a source here gives."""
        for origin, record in self.layers:
            value = getattr(record, name, None)
            if value is not None and (name not in self.unknown or origin in (COMMAND_LINE, ENVIRONMENT)):
                self.origins[name] = origin
                self.whys[name] = _("as you asked") if origin == COMMAND_LINE else _("from {origin}", origin=origin)
                return value
        return default

    def shape(self) -> tuple[str | None, int, int, int]:
        """Return queue, nodes, processes and processes per node: the requested queue, else the first that fits."""
        cluster = self.here.cluster
        chosen = self.pick("queue", None)
        if chosen is None and self.same:
            chosen = self.old.queue
        if chosen is not None or not cluster.queues:
            return chosen, *self._sizes(_queue(cluster, chosen))
        names = dict.fromkeys([cluster.queue, self.old.queue, *cluster.queues])
        shapes = [(name, *self._sizes(cluster.queues[name])) for name in names if name in cluster.queues]
        wide = [shape for shape in shapes if _holds(cluster.queues[shape[0]], shape[1])] or shapes[:1]
        walltime = self.here.options.walltime or self.old.walltime
        # the first queue that allows the entire walltime, else the one that allows the most of it
        return max(wide, key=lambda shape: min(walltime, cluster.queues[shape[0]].longest(shape[1]) or walltime))

    def _sizes(self, queue: Queue) -> tuple[int, int, int]:
        options, old, cluster = self.here.options, self.old, self.here.cluster
        resized = options.nodes or options.processes or options.processes_per_node
        if self.same and not resized:
            return old.nodes, old.processes, old.processes_per_node
        per_node = options.processes_per_node or min(self.full, queue.processes_per_node or self.full)
        processes = options.processes or (options.nodes * per_node if options.nodes else old.processes)
        shape, why_given = (
            _("{cluster} has {count} processes per node", cluster=cluster.name, count=per_node),
            _("as you asked"),
        )
        for name in ("nodes", "processes", "processes_per_node"):
            self.whys[name] = why_given if getattr(options, name) else shape
        if options.nodes:
            return shape_on(options.nodes, processes, per_node, explicit=bool(options.processes_per_node))
        alone = cluster.starter == "local" and not self.gpus and not options.processes_per_node
        if processes <= per_node or alone:
            return 1, processes, processes
        if processes % per_node and not options.processes_per_node:
            # the largest even share of a node that leaves at most half of it empty
            per_node = next((count for count in range(per_node, per_node // 2, -1) if processes % count == 0), per_node)
        return full_nodes(processes, per_node)

    def threads(self, per_node: int) -> int:
        """Return the recorded threads if a node has the cores for them: other threads can change the last bits."""
        threads = self.here.options.threads
        if threads:
            self.origins["threads"], self.whys["threads"] = COMMAND_LINE, _("as you asked")
            return threads
        # on the same cluster they fitted before; the cores of this machine say nothing about a compute node
        stays = self.same and (per_node <= self.old.processes_per_node or self.here.cluster.node.cores == "auto")
        if stays or self.old.threads * per_node <= self.cores:
            return self.old.threads
        self.origins["threads"] = f"cluster {self.here.cluster.name}"
        self.whys["threads"] = _(
            "a node of {cluster} has {cores} cores", cluster=self.here.cluster.name, cores=self.cores
        )
        return usual_threads(self.here.cluster, self.cores, self.full, per_node)

    def walltime(self, queue: Queue, nodes: int) -> int:
        """Return the requested walltime, else the recorded one, limited to the queue's."""
        walltime = self.here.options.walltime
        if walltime:
            self.origins["walltime"], self.whys["walltime"] = COMMAND_LINE, _("as you asked")
            return walltime
        longest = queue.longest(nodes)
        if longest is None or self.old.walltime <= longest:
            return self.old.walltime
        self.origins["walltime"] = f"cluster {self.here.cluster.name}"
        self.whys["walltime"] = _("the queue allows at most {limit}", limit=format_walltime(longest))
        return longest

    def launcher(self, nodes: int) -> str:
        """Return the recorded launcher if this cluster has it, else the first that program and cluster share."""
        launcher = self.here.options.launcher
        if launcher:
            self.origins["launcher"], self.whys["launcher"] = COMMAND_LINE, _("as you asked")
            return launcher
        cluster, old, recipe = self.here.cluster, self.old, self.here.recipe
        dialect = registry.dialect_of(cluster)
        usable = [
            launcher
            for launcher in cluster.launchers or ALL_LAUNCHERS
            if dialect.has_launcher(launcher) and not (launcher == "local" and nodes > 1)
        ]
        if old.launcher in usable:
            return old.launcher
        self.origins["launcher"] = f"cluster {cluster.name}"
        self.whys["launcher"] = _("{cluster} has no {launcher}", cluster=cluster.name, launcher=old.launcher)
        if recipe is not None and recipe.launchers:
            launchers = [launcher for launcher in recipe.launchers if launcher in usable]
        else:
            launchers = [launcher for launcher in usable if (launcher == "torchrun") == (old.framework == "torch")]
        if not launchers:
            raise RequestError(
                "jobs.no_common_launcher",
                "recipe {name} runs under {wanted}; cluster {cluster} offers {offered}",
                name=old.name,
                wanted=", ".join(recipe.launchers if recipe else [old.launcher]),
                cluster=cluster.name,
                offered=", ".join(usable),
            )
        return launchers[0]


def _of_program(old: Request) -> dict[str, str]:
    """Return the package of a run's program, whatever is installed here."""
    return {name: package for name, package in (old.plug_ins or {}).items() if name.startswith("recipes ")}


def _recipe_here(old: Request, folders: list[Path]) -> Recipe | None:
    if old.recipe is None:
        return None
    try:
        return load.load_recipe(old.recipe, folders)[0]
    except RequestError:  # a recipe of the event, unknown here; the program comes with the run
        return None


def _holds(queue: Queue, nodes: int) -> bool:
    return queue.min_nodes <= nodes <= (queue.nodes or nodes)


def _queue(cluster: Cluster, name: str | None) -> Queue:
    return cluster.queues.get(name or "", Queue())


def _is_counted(files: Mapping[str, bytes]) -> bool:
    """Return whether the program's own command names the job's processes or nodes."""
    command = getattr(_carried(Project, files, "project.yaml"), "command", None) or ""
    return any(f"{{{name}}}" in command for name in COUNTS)


def _with_parameters(
    old: Request, sources: Sources, files: Mapping[str, bytes], run: str, counts: Mapping[str, int]
) -> tuple[dict[str, Scalar], tuple[str, ...]]:
    """Return all parameters with the requested ones, and the resulting command."""
    recipe = _carried(Recipe, files, "recipe.yaml") or sources.recipe if old.recipe else None
    project = None if old.recipe else _carried(Project, files, "project.yaml")
    parameters = declared(project, recipe)
    if recipe is None and (project is None or project.command is None):
        raise RequestError(
            "crate.no_parameters",
            "the definitions of the parameters of run {run} are not available, so {names} cannot be changed",
            hint="without -p, it runs with the recorded values",
            run=run,
            names=", ".join(sources.options.parameters),
        )
    recorded = {name: value for name, value in old.parameters.items() if name in parameters}
    values = choose_values(parameters, [(COMMAND_LINE, sources.options.parameters), (f"run {run}", recorded)]).values
    if recipe is not None:
        return values, ("python", recipe.entry, *option_words(values))
    assert project is not None and project.command is not None
    return values, command_words(project.command, {**counts, **values})


def _carried(kind: type[Any], files: Mapping[str, bytes], name: str) -> Any:
    """Return the record of a file that comes with the program, None without one."""
    if name not in files:
        return None
    from hackathon.config.validate import validate
    from hackathon.config.yaml import parse_yaml

    return validate(kind, parse_yaml(files[name], Path(name)))
