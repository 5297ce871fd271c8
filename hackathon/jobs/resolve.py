"""Combine all files and options into one request, each value with its origin.

Precedence, highest first: command line → environment (`HACKATHON_*`) → project → user → event → recipe → cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.access.ownership import ForeignFile, Trusted
from hackathon.config.cluster import ALL_LAUNCHERS, Cluster, Queue
from hackathon.config.command import COUNTS, command_words
from hackathon.config.project import Defaults, Project, UserSettings
from hackathon.config.recipe import Data, Metric, Parameter, Recipe, Scaling
from hackathon.config.records import Scalar
from hackathon.jobs.data import FOLDER
from hackathon.jobs.data import variables as data_variables
from hackathon.jobs.environments import PythonEnvironment
from hackathon.jobs.parameters import Values, choose_values, option_words, scaled
from hackathon.jobs.request import Options, Request
from hackathon.jobs.script import in_double_quotes
from hackathon.schedulers.registry import known_dialect
from hackathon.text.errors import RequestError
from hackathon.text.light_dataclass import dataclass

if TYPE_CHECKING:
    from hackathon.config.event import Event, Team

COMMAND_LINE, ENVIRONMENT, PROJECT, USER, EVENT = "command line", "environment", "project.yaml", "user", "event"
BUILT, DATA = "hackathon env create", "hackathon data fetch"


@dataclass(frozen=True)
class Sources:
    """All files and options that affect a request."""

    cluster: Cluster
    options: Options = field(default_factory=Options)
    environment: Options = field(default_factory=Options)
    project: Project | None = None
    surrounding: Project | None = None
    """The project around a recipe that runs: it decides where the job runs, but not what runs."""
    user: UserSettings = field(default_factory=UserSettings)
    event: "Event | None" = None
    recipe: Recipe | None = None
    folder: Path = Path()
    """The folder of the program: the recipe's or the project's."""
    shared: Mapping[str, Path] = field(default_factory=dict, hash=False)
    """Path below the folder → path of a file that a run gets beside a recipe's program (`load.shared_files`)."""
    template_folders: Mapping[Path, Trusted | None] = field(default_factory=dict, hash=False)
    """Folders of overriding templates, the project's first, and the accounts whose files count; None: everyone's."""
    runs: Path = Path("runs")
    """The folder of run directories."""
    cluster_origin: str = COMMAND_LINE
    python_environment: PythonEnvironment | None = None
    """The environment that `hackathon env create` built for this recipe or project."""
    event_folder: Path | None = None
    team: "Team | None" = None
    """The event's team of the project: its group is charged unless another one is given."""
    plug_ins: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The plug-ins of installed packages among them (`sources.packages_of`)."""
    left_out: tuple[ForeignFile, ...] = ()
    """Files of other accounts, which are ignored."""

    @property
    def name(self) -> str:
        """The recipe's or the project's name."""
        if self.project is not None:
            return self.project.name
        assert self.recipe is not None
        return self.recipe.name


class _Chooser:
    """Chooses the first value that is not None, and records its origin."""

    def __init__(self, sources: Sources) -> None:
        event = sources.event
        used = event.clusters.get(sources.cluster.name) if event else None
        self.unknown = names_unknown_to(sources.cluster)
        self.layers: list[tuple[str, Any]] = [
            (COMMAND_LINE, sources.options),
            (ENVIRONMENT, sources.environment),
            (PROJECT, sources.project or (sources.surrounding and sources.surrounding.place())),
            (USER, sources.user),
            (EVENT, used),
            (EVENT, payer(sources)),
            (EVENT, event.defaults if event else None),
        ]
        self.origins: dict[str, str] = {}

    def pick(self, name: str, default: Any, origin: str) -> Any:
        for layer, record in self.layers:
            value = getattr(record, name, None)
            if value is not None and (name not in self.unknown or layer in (COMMAND_LINE, ENVIRONMENT)):
                self.origins[name] = layer
                return value
        self.origins[name] = origin
        return default


def names_unknown_to(cluster: Cluster) -> frozenset[str]:
    """Return which of `qos`, `constraint` and `requeue` jobs of a cluster do not have.

    Files for several clusters may have them for the others; on the command line, `check` refuses them. Nothing preempts
    jobs on this machine.
    """
    dialect = known_dialect(cluster)
    unknown = {"qos", "constraint"}.difference(dialect.patterns)
    return frozenset(unknown | ({"requeue"} if dialect.this_machine else set()))


def payer(sources: Sources) -> Defaults | None:
    """Return the group of the event's team, on a cluster of the event whose jobs have one, else None."""
    if sources.team is None or known_dialect(sources.cluster).this_machine:
        return None
    clusters = sources.event.clusters if sources.event is not None else {}
    if clusters and sources.cluster.name not in clusters:
        return None
    return Defaults(group=sources.team.group)


def resolve(sources: Sources, *, processes: int | None = None, mode: str | None = None) -> Request:
    """Return the request; the points of a study give `processes` and `mode` (`weak`, `strong`).

    Raises RequestError if values contradict each other; `check` checks the cluster's limits.
    """
    cluster, recipe, project = sources.cluster, sources.recipe, sources.project
    settings = project or sources.surrounding
    of_cluster = f"cluster {cluster.name}"
    choose = _Chooser(sources)
    choose.origins["cluster"] = sources.cluster_origin
    queue = choose.pick("queue", cluster.queue or (next(iter(cluster.queues), None)), of_cluster)
    group = choose.pick("group", None, "–")
    reservation = choose.pick("reservation", None, "–")
    limits = cluster.queues.get(queue or "", Queue())
    qos = choose.pick("qos", limits.qos, of_cluster if limits.qos else "–")
    constraint = choose.pick("constraint", cluster.constraint, of_cluster)
    walltime = choose.pick("walltime", cluster.walltime, of_cluster)
    requeue = choose.pick("requeue", None, "–")
    cores = cluster.node.core_count
    gpus = cluster.node.gpu_count
    full = cluster.processes_per_node if cluster.processes_per_node != "auto" else gpus or cores
    gpus_per_process = (project.gpus_per_process or 1) if project else 1
    if gpus_per_process > 1 and gpus:
        full = max(1, min(full, gpus // gpus_per_process))
    nodes, total, per_node = _shape(sources, choose, queue, full, gpus, processes)
    chosen = choose.origins["processes_per_node"] != of_cluster
    # nodes and processes given together can put more on a node than usual; fewer leave the threads as they are
    share = per_node if chosen else max(full, per_node)
    threads = choose.pick("threads", usual_threads(cluster, cores, full, share), of_cluster)
    binding = choose.pick("binding", cluster.binding, of_cluster)
    values, declared, scaling = _values(sources)
    if mode is not None:
        values = scaled(values, declared, scaling, mode, total)
    launcher, launcher_origin = _launcher(sources, choose)
    choose.origins["launcher"] = launcher_origin
    origins = {**choose.origins, **{f"parameters.{name}": origin for name, origin in values.origins.items()}}
    image, container, dialect = None, None, cluster.dialect
    if project is not None and project.image is not None:
        from hackathon.jobs.containers import image_of

        image, container, dialect = image_of(cluster, project, project.image, sources.runs.parent)
    built = sources.python_environment if image is None else None
    if built is not None:
        origins["python_environment"] = BUILT
    data = tuple(asdict(entry) for entry in wanted_data(recipe, project))
    lines, variables = _surroundings(sources, data, built)
    origins |= {f"environment.{number}": origin for number, (_, origin) in enumerate(lines)}
    origins |= {f"variables.{name}": origin for name, (_, origin) in variables.items()}
    metrics: dict[str, Metric] = {**(recipe.metrics if recipe else {}), **(project.metrics if project else {})}
    check = (project and project.check) or (recipe and recipe.check) or None
    return Request(
        name=sources.name,
        recipe=recipe.name if recipe else None,
        framework=recipe.framework if recipe else project.framework if project else None,
        cluster=cluster.name,
        scheduler=cluster.scheduler,
        dialect=dialect,
        queue=queue,
        group=group,
        reservation=reservation,
        nodes=nodes,
        processes=total,
        processes_per_node=per_node,
        threads=threads,
        gpus_per_node=gpus,
        walltime=walltime,
        launcher=launcher,
        starter=cluster.starter,
        mpi=cluster.mpi,
        command=_command(sources, values.values, (total, nodes, per_node)),
        parameters=values.values,
        environment=tuple(line for line, _ in lines),
        variables={name: value for name, (value, _) in variables.items()},
        python_environment=built.record if built else None,
        metric=(project and project.metric) or (recipe.metric if recipe else "samples_per_s"),
        metrics={name: asdict(metric) for name, metric in metrics.items()},
        data=data,
        check=asdict(check) if check else None,
        mode=mode,
        scratch=cluster.scratch,
        stop_before=min(cluster.stop_before, walltime // 5),
        telemetry_seconds=cluster.telemetry_seconds,
        signal=project.signal if project else "none",
        mpi_options=tuple(cluster.mpi_options),
        binding=binding,
        directives=(*cluster.directives, *(settings.directives if settings else ())),
        source=str(sources.folder),
        shared={name: str(path) for name, path in sources.shared.items()},
        in_place=bool(sources.options.in_place),
        gpus_per_process=gpus_per_process,
        partition=limits.partition_named,
        qos=qos,
        constraint=constraint,
        master_addr_suffix=cluster.master_addr_suffix,
        memory=(settings.memory or None) if settings else None,
        exclude=tuple(project.exclude) if project else (),
        image=image,
        container=container,
        requeue=requeue,
        team=settings.team if settings else None,
        plug_ins=dict(sources.plug_ins) or None,
        origins=origins,
    )


def usual_threads(cluster: Cluster, cores: int, full: int, per_node: int) -> int:
    """Return the threads of a process: the cluster's, but fewer if more processes than usual share a node."""
    if cluster.threads and (per_node <= full or cluster.node.cores == "auto"):
        return cluster.threads
    return max(1, min(cores // per_node, cluster.threads or cores))


def _surroundings(
    sources: Sources, data: tuple[dict[str, Any], ...], built: PythonEnvironment | None
) -> tuple[list[tuple[str, str]], dict[str, tuple[str, str]]]:
    """Return the shell lines before the program and its variables, each with its origin.

    A rerun on another cluster leaves out the lines and variables of this one.
    """
    cluster, recipe, project = sources.cluster, sources.recipe, sources.project
    of_cluster, of_recipe = f"cluster {cluster.name}", f"recipe {recipe.name if recipe else ''}"
    lines = [
        *((line, of_cluster) for line in cluster.environment),
        *((line, of_recipe) for line in (recipe.environment if recipe else ())),
        # behind modules, which put their own python first; before the project's lines, which may choose another one
        *((line, BUILT) for line in (built.lines if built else ())),
        *((line, PROJECT) for line in (project.environment if project else ())),
    ]
    variables: dict[str, tuple[str, str]] = {}
    for origin, values in (
        (DATA, data_variables(data, sources.runs.parent / FOLDER) if data else {}),
        (of_cluster, cluster.variables),
        (of_recipe, recipe.variables if recipe else {}),
        (PROJECT, project.variables if project else {}),
        (COMMAND_LINE, {name: in_double_quotes(value) for name, value in sources.options.variables.items()}),
    ):
        variables |= {name: (value, origin) for name, value in values.items()}
    return lines, variables


def _shape(
    sources: Sources, choose: _Chooser, queue: str | None, full: int, gpus: int, processes: int | None
) -> tuple[int, int, int]:
    """Return (nodes, processes, processes per node), and record their origins."""
    of_cluster = f"cluster {sources.cluster.name}"
    limit = sources.cluster.queues[queue].processes_per_node if queue in sources.cluster.queues else None
    per_node = choose.pick("processes_per_node", min(full, limit or full), of_cluster)
    explicit = choose.origins["processes_per_node"] != of_cluster
    # One source decides both: a project's `nodes` must not be combined with a command line's `--processes`.
    nodes = None
    origin = "study"
    if processes is None:
        for layer, record in choose.layers[:3]:
            nodes, processes = getattr(record, "nodes", None), getattr(record, "processes", None)
            if nodes is not None or processes is not None:
                origin = layer
                break
        else:
            origin = of_cluster
            if sources.cluster.processes_per_node == "auto" and not gpus:
                processes = 1
            else:
                nodes = 1
    for name, value in (("nodes", nodes), ("processes", processes), ("processes_per_node", per_node)):
        if value is not None and value < 1:
            raise RequestError("jobs.not_positive", "{name} must be at least 1, not {value}", name=name, value=value)
    choose.origins["nodes"] = choose.origins["processes"] = origin
    if nodes is not None and processes is not None:
        return shape_on(nodes, processes, per_node, explicit=explicit)
    if nodes is not None:
        return nodes, nodes * per_node, per_node
    assert processes is not None
    one_machine = sources.cluster.starter == "local" and not gpus and not explicit
    if (
        processes <= per_node or one_machine
    ):  # a laptop may have more processes than cores; `advice` says what that means
        return 1, processes, processes
    return full_nodes(processes, per_node)


def shape_on(nodes: int, processes: int, per_node: int, *, explicit: bool) -> tuple[int, int, int]:
    """Return nodes, processes, and processes per node, which `explicit` fixes. Raises RequestError if it is uneven."""
    if processes % nodes or (explicit and per_node * nodes != processes):
        raise RequestError(
            "jobs.shape",
            "{processes} processes do not fit on {nodes} nodes with {per_node} processes per node",
            hint="give only --nodes or only --processes",
            nodes=nodes,
            processes=processes,
            per_node=per_node,
        )
    return nodes, processes, processes // nodes


def full_nodes(processes: int, per_node: int) -> tuple[int, int, int]:
    """Return nodes, processes, and processes per node. Raises RequestError if the last node is not full."""
    if processes % per_node:
        below = processes // per_node * per_node
        raise RequestError(
            "jobs.uneven",
            "{processes} is not a multiple of {per_node} processes per node",
            hint="use {below} or {above}, or --processes-per-node N",
            processes=processes,
            per_node=per_node,
            below=below,
            above=below + per_node,
        )
    return processes // per_node, processes, per_node


def wanted_data(recipe: Recipe | None, project: Project | None) -> list[Data]:
    """Return the recipe's data and the project's; the project's replace those of the same name."""
    entries = [*(recipe.data if recipe else []), *(project.data if project else [])]
    return list({entry.name: entry for entry in entries}.values())


def declared_parameters(project: Project | None, recipe: Recipe | None) -> dict[str, Parameter]:
    """Return the allowed parameters: the recipe's, or those that the project declares for its own command."""
    if recipe is not None:
        return recipe.parameters
    declared: dict[str, Parameter] = {}
    for name, value in (project.parameters if project else {}).items():
        if isinstance(value, Parameter):
            declared[name] = value
        else:
            kind = {bool: "bool", int: "int", float: "float"}.get(type(value), "str")
            declared[name] = Parameter(default=value, type=kind)  # type: ignore[arg-type]
    return declared


def _values(sources: Sources) -> tuple[Values, Mapping[str, Parameter], Scaling]:
    project, recipe = sources.project, sources.recipe
    declared = declared_parameters(project, recipe)
    layers: list[tuple[str, Mapping[str, Scalar]]] = [(COMMAND_LINE, sources.options.parameters)]
    values: dict[str, Scalar] = {}
    for name, value in (project.parameters if project else {}).items():
        if not isinstance(value, Parameter):
            values[name] = value
        elif recipe is not None:
            raise RequestError(
                "jobs.parameter_declared_twice",
                "parameter {name} is declared by recipe {recipe}; the project gives only its value",
                name=name,
                recipe=recipe.name,
            )
    layers.append((PROJECT, values))
    scaling = (project and project.scaling) or (recipe.scaling if recipe else Scaling())
    return choose_values(declared, layers), declared, scaling


def _command(sources: Sources, values: Mapping[str, Scalar], counts: tuple[int, int, int]) -> tuple[str, ...]:
    if sources.recipe is not None:
        return ("python", sources.recipe.entry, *option_words(values))
    assert sources.project is not None and sources.project.command is not None
    return command_words(sources.project.command, {**dict(zip(COUNTS, counts, strict=True)), **values})


def _launcher(sources: Sources, choose: _Chooser) -> tuple[str, str]:
    """Return the launcher and its origin: the requested one, else the first that program and cluster support."""
    launcher_asked = choose.pick("launcher", None, "")
    if launcher_asked is not None:
        return launcher_asked, choose.origins["launcher"]
    cluster = sources.cluster
    offered: list[str] = list(cluster.launchers) or list(ALL_LAUNCHERS)
    if sources.recipe is not None and sources.recipe.launchers:
        for launcher in sources.recipe.launchers:
            if launcher in offered:
                return launcher, f"recipe {sources.recipe.name}"
        raise RequestError(
            "jobs.no_common_launcher",
            "recipe {name} runs under {wanted}; cluster {cluster} offers {offered}",
            name=sources.recipe.name,
            wanted=", ".join(sources.recipe.launchers),
            cluster=cluster.name,
            offered=", ".join(offered),
        )
    if sources.project is not None and sources.project.image is not None:
        offered = [launcher for launcher in offered if not launcher.startswith("horovodrun")] or offered
    torch = sources.project is not None and sources.project.framework == "torch"
    fitting = [launcher for launcher in offered if (launcher == "torchrun") == torch] or offered
    project = sources.project
    missing = missing_launchers(cluster, fitting, project.environment if project else ())
    if project is not None and project.image is not None:
        missing.discard("torchrun")  # the image has it
    return next((launcher for launcher in fitting if launcher not in missing), fitting[0]), f"cluster {cluster.name}"


def missing_launchers(cluster: Cluster, launchers: Iterable[str], lines: Sequence[str]) -> set[str]:
    """Return the launchers that a job on this machine would not find.

    Empty for other machines, and where `lines` or the cluster's environment lines may add to the job's PATH.
    """
    if cluster.environment or lines or not known_dialect(cluster).this_machine:
        return set()
    import shutil

    from hackathon.schedulers import runner

    path = runner.child_environment(submission=True).get("PATH")
    commands = {launcher: launcher.removesuffix("-mpi") for launcher in launchers if launcher != "local"}
    return {launcher for launcher, command in commands.items() if shutil.which(command, path=path) is None}


def points(sources: Sources, processes: list[int], mode: str) -> list[Request]:
    """Return one request per process count of a study, smallest first, with equal threads at every point."""
    requests = [resolve(sources, processes=count, mode=mode) for count in sorted(set(processes))]
    threads = min(request.threads for request in requests)
    return [replace(request, threads=threads) for request in requests]
