"""Check a request against the cluster's limits before the queue does, and find the nearest accepted request."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hackathon.config.cluster import ALL_BINDINGS, ALL_LAUNCHERS, PLAIN_LAUNCHERS, Cluster, Queue, cores_here
from hackathon.config.recipe import Recipe
from hackathon.jobs.binding import BINDING_LAUNCHERS
from hackathon.jobs.data import FOLDER, missing
from hackathon.jobs.environments import lacks_framework
from hackathon.jobs.render import header
from hackathon.jobs.request import Request
from hackathon.jobs.resolve import COMMAND_LINE, ENVIRONMENT, missing_launchers
from hackathon.schedulers import registry
from hackathon.schedulers.dialect import TOKEN, Header
from hackathon.text.errors import RequestError
from hackathon.text.light_dataclass import dataclass
from hackathon.text.messages import Message, _, ngettext
from hackathon.text.units import format_size, format_walltime

if TYPE_CHECKING:
    from hackathon.schedulers.reports import NodeGroup

_SIZES = frozenset({"queue_unknown", "nodes_over", "nodes_under", "walltime_over", "per_node_over", "one_node",
                    "launcher_one_node"})  # fmt: skip
"""Violations that another queue, number of nodes or processes, or walltime can solve."""
_MOST_PROCESSES, _MOST_PER_CORE = 64, 16
"""More processes than cores are fine for a trial on a laptop; beyond the larger of both it no longer responds."""

_ABSOLUTE = re.compile(r"(?:/|~/)[\w.@%+,/-]+")
"""A path from the root or the home directory, without variables and patterns."""
_ACTIVATES = re.compile(r"\bactivate\b|\bPATH=|\bVIRTUAL_ENV=")
"""Matches lines of a job that choose its Python."""


@dataclass(frozen=True)
class Violation:
    """One reason for refusing a request."""

    id: str
    text: str


class CheckError(RequestError):
    """A request that the cluster would not run: every violation, and the nearest accepted request."""

    def __init__(self, violations: list[Violation], nearest: Request | None, request: Request) -> None:
        super().__init__(
            "jobs.refused",
            "cluster {cluster} would refuse this job:\n{reasons}{nearest}",
            cluster=request.cluster,
            reasons="\n".join(f"  - {violation.text}" for violation in violations),
            nearest=_nearest_text(violations, request, nearest),
        )
        self.violations = violations
        self.nearest = nearest


def _nearest_text(violations: list[Violation], request: Request, nearest: Request | None) -> str:
    """Return the line about the nearest request; empty if another size would not help."""
    if not any(violation.id in _SIZES for violation in violations):
        return ""
    return (
        _("\nnearest accepted request: {options}", options=nearest_options(request, nearest))
        if nearest
        else _("\nno queue accepts it")
    )


def check(
    request: Request,
    cluster: Cluster,
    recipe: Recipe | None = None,
    runs: Path | None = None,
    nodes: Sequence["NodeGroup"] = (),
) -> None:
    """Check a request; raises CheckError with every violation. `runs`: the folder of the future run directory.

    `nodes`: the machine's nodes as its scheduler describes them, if the profile does not.
    """
    violations = [
        *_queue_violations(request, cluster),
        *_core_violations(request, cluster),
        *_memory_violations(request, cluster),
        *_gpu_violations(request, cluster),
        *_node_violations(request, cluster, nodes),
        *_header_violations(request, cluster),
        *_launcher_violations(request, cluster, recipe),
        *_image_violations(request, cluster),
        *(_place_violations(runs, request, cluster) if runs is not None else []),
        *(_data_violations(runs, request, cluster) if runs is not None else []),
    ]
    if violations:
        raise CheckError(violations, nearest(request, cluster, nodes), request)


def unseen_paths(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return (line, path) for absolute paths in lines of `environment:` that this machine does not have.

    A path with a variable or a pattern is skipped, and so are the parts of `PATH=…` that end a list.
    """
    unseen = []
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        for word in words:
            for path in word.rpartition("=")[2].rstrip(";").split(":"):
                if _ABSOLUTE.fullmatch(path) and not os.path.exists(os.path.expanduser(path)):  # noqa: PTH110, PTH111
                    unseen.append((line, path))
    return unseen


def advice(request: Request, nodes: Sequence["NodeGroup"] = ()) -> list[str]:
    """Return hints on settings that are allowed but probably not intended; `nodes` as for `check`."""
    notes = []
    gpus = max((group.gpus or 0 for group in _given(request, nodes)), default=0)
    if gpus and not request.gpus_per_node:
        notes.append(
            _(
                "the nodes have {gpus} GPUs, and the profile {cluster} asks for none. `hackathon clusters new "
                "NAME` writes a profile of this machine",
                gpus=gpus,
                cluster=request.cluster,
            )
        )
    if request.starter == "local" and not request.gpus_per_node:
        cores = cores_here()
        if request.processes_per_node * request.threads > cores:
            notes.append(
                ngettext(
                    "{processes} processes share {cores} core: the run works, but its speed says nothing about scaling",
                    "{processes} processes share {cores} cores: the run works, but its speed says nothing "
                    "about scaling",
                    cores,
                    processes=request.processes_per_node,
                    cores=cores,
                )
            )
    lacking = lacks_framework(request, os.environ)
    if lacking is not None:
        notes.append(
            _(
                "{framework} is not installed in the Python environment {where}: build one with `hackathon env "
                "create {recipe!q}`",
                framework=request.framework,
                where=lacking,
                recipe=request.recipe,
            )
        )
    if request.image is not None:
        from hackathon.jobs.image_check import image_notes

        notes += image_notes(request)
    left = _left_behind(request, os.environ)
    if left is not None:
        notes.append(
            _(
                "the job will not use the active Python environment {where}: this scheduler does not pass PATH "
                "on. Add the line that activates it to `environment` in the cluster's profile, or build one "
                "with `hackathon env create`",
                where=left,
            )
        )
    return notes


def _left_behind(request: Request, environment: Mapping[str, str]) -> str | None:
    """Return the active Python environment if the job will not have it, else None.

    The scheduler does not pass PATH on, and no line of the job activates an environment.
    """
    chosen = environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX")
    kind = registry.dialect_type(request.scheduler)
    if not chosen or request.python_environment or request.image is not None or kind is None or kind.inherits_path:
        return None
    return None if any(chosen in line or _ACTIVATES.search(line) for line in request.environment) else chosen


def _violation(identifier: str, **values: object) -> Violation:
    return Violation(identifier.partition(".")[2], _(identifier, **values))


def _unsure(cluster: Cluster, path: str) -> str:
    return _(" (unverified limit)") if cluster.is_unverified(path) else ""


def _queue_violations(request: Request, cluster: Cluster) -> list[Violation]:
    if not cluster.queues:
        return []
    if request.queue not in cluster.queues:
        return [
            _violation(
                Message("jobs.queue_unknown", "cluster {cluster} has no queue {queue!r}; it has {known}"),
                queue=request.queue,
                cluster=cluster.name,
                known=", ".join(cluster.queues),
            )
        ]
    queue = cluster.queues[request.queue]
    violations = []
    key = f"queues.{request.queue}"
    if queue.nodes is not None and request.nodes > queue.nodes:
        violations.append(
            _violation(
                Message("jobs.nodes_over", "{nodes} nodes: queue {queue} allows at most {limit}{unsure}"),
                nodes=request.nodes,
                queue=request.queue,
                limit=queue.nodes,
                unsure=_unsure(cluster, f"{key}.nodes"),
            )
        )
    if request.nodes < queue.min_nodes:
        violations.append(
            _violation(
                Message("jobs.nodes_under", "{nodes} nodes: queue {queue} needs at least {limit}"),
                nodes=request.nodes,
                queue=request.queue,
                limit=queue.min_nodes,
            )
        )
    longest = queue.longest(request.nodes)
    if longest is not None and request.walltime > longest:
        larger = "larger" if longest != queue.walltime else "walltime"
        violations.append(
            _violation(
                Message("jobs.walltime_over", "walltime {walltime}: queue {queue} allows at most {limit}{unsure}"),
                walltime=format_walltime(request.walltime),
                queue=request.queue,
                limit=format_walltime(longest),
                unsure=_unsure(cluster, f"{key}.{larger}"),
            )
        )
    if queue.processes_per_node is not None and request.processes_per_node > queue.processes_per_node:
        violations.append(
            _violation(
                Message("jobs.per_node_over", "{per_node} processes per node: queue {queue} allows at most {limit}"),
                per_node=request.processes_per_node,
                queue=request.queue,
                limit=queue.processes_per_node,
            )
        )
    return violations


def _core_violations(request: Request, cluster: Cluster) -> list[Violation]:
    """Return a violation if a node lacks cores; twice as many may be hyper-threads, and a laptop may be overloaded."""
    if cluster.starter == "local":
        return _overload(request)
    cores, used = cluster.node.cores, request.processes_per_node * request.threads
    if cores == "auto" or used <= 2 * cores or cluster.is_unverified("node.cores"):
        return []
    return [
        _violation(
            Message(
                "jobs.cores_over",
                "{processes} processes per node × {threads} threads need {wanted} cores; a node of {cluster} has "
                "{cores} (--processes-per-node, --threads)",
            ),
            processes=request.processes_per_node,
            threads=request.threads,
            wanted=used,
            cores=cores,
            cluster=cluster.name,
        )
    ]


def _overload(request: Request) -> list[Violation]:
    """Return a violation if the processes would bring this machine to a standstill, as 4000 for 4 do."""
    cores = cores_here()
    limit = max(_MOST_PROCESSES, _MOST_PER_CORE * cores)
    if request.processes_per_node <= limit:
        return []
    return [
        _violation(
            Message(
                "jobs.overload_here",
                "{processes} processes on this machine with {cores} cores: at most {limit} are allowed (--processes, "
                "--cluster)",
            ),
            processes=request.processes_per_node,
            cores=cores,
            limit=limit,
        )
    ]


def _memory_violations(request: Request, cluster: Cluster) -> list[Violation]:
    dialect = registry.dialect_of(cluster)
    if request.memory is None or dialect.this_machine:
        return []
    if not dialect.asks_memory:
        return [
            _violation(
                Message(
                    "jobs.memory_unknown",
                    "it is not known how {scheduler} is asked for memory here: write this site's option under "
                    "`directives:` instead of `memory:`",
                ),
                scheduler=cluster.scheduler,
            )
        ]
    most = cluster.node.memory
    if most is None or request.memory <= most or cluster.is_unverified("node.memory"):
        return []
    return [
        _violation(
            Message("jobs.memory_over", "`memory: {memory}` is more than a node of {cluster} has, {most}"),
            memory=format_size(request.memory),
            most=format_size(most),
            cluster=cluster.name,
        )
    ]


def _gpu_violations(request: Request, cluster: Cluster) -> list[Violation]:
    """Return a violation if ranks with several GPUs do not fit on a node: ranks do not share GPUs."""
    used = request.processes_per_node * request.gpus_per_process
    if request.gpus_per_process == 1 or used <= request.gpus_per_node or cluster.is_unverified("node.gpus"):
        return []
    return [
        _violation(
            Message(
                "jobs.gpus_over",
                "{processes} {processes:process|processes} per node × `gpus_per_process: {each}` need {wanted} "
                "GPUs; a node of {cluster} has {gpus} (--processes-per-node)",
            ),
            processes=request.processes_per_node,
            each=request.gpus_per_process,
            wanted=used,
            gpus=request.gpus_per_node,
            cluster=cluster.name,
        )
    ]


def _given(request: Request, nodes: Sequence["NodeGroup"]) -> list["NodeGroup"]:
    """Return the nodes that the job may run on: those of its queue, or all if the request names no queue."""
    return [group for group in nodes if request.queue is None or not group.queues or request.queue in group.queues]


def _node_violations(request: Request, cluster: Cluster, nodes: Sequence["NodeGroup"]) -> list[Violation]:
    """Return what exceeds the nodes that the scheduler describes. A number that it does not report limits nothing."""
    if not nodes:
        return []
    groups = _given(request, nodes)
    if not groups:
        queues = ", ".join(dict.fromkeys(queue for group in nodes for queue in group.queues))
        return [
            _violation(
                Message("jobs.queue_unknown", "cluster {cluster} has no queue {queue!r}; it has {known}"),
                queue=request.queue,
                cluster=cluster.name,
                known=queues,
            )
        ]
    violations = []
    count = sum(group.nodes for group in groups)
    if request.nodes > count:
        violations.append(
            _violation(
                Message("jobs.nodes_over", "{nodes} nodes: queue {queue} allows at most {limit}{unsure}"),
                nodes=request.nodes,
                queue=request.queue or "–",
                limit=count,
                unsure="",
            )
        )
    cores = [group.cpus or group.cores for group in groups]
    used = request.processes_per_node * request.threads
    if all(cores) and used > (most := max(number or 0 for number in cores)):
        violations.append(
            _violation(
                Message(
                    "jobs.cores_over",
                    "{processes} processes per node × {threads} threads need {wanted} cores; a node of {cluster} "
                    "has {cores} (--processes-per-node, --threads)",
                ),
                processes=request.processes_per_node,
                threads=request.threads,
                wanted=used,
                cores=most,
                cluster=cluster.name,
            )
        )
    memory = [group.memory for group in groups]
    if request.memory and all(memory) and request.memory > (largest := max(size or 0 for size in memory)):
        violations.append(
            _violation(
                Message("jobs.memory_over", "`memory: {memory}` is more than a node of {cluster} has, {most}"),
                memory=format_size(request.memory),
                most=format_size(largest),
                cluster=cluster.name,
            )
        )
    return violations


def _header_violations(request: Request, cluster: Cluster) -> list[Violation]:
    violations = []
    dialect = registry.dialect_of(cluster)
    for name in ("queue", "group", "reservation", "qos", "constraint"):
        value, default = getattr(request, name), dialect.patterns.get(name, TOKEN)
        pattern = cluster.patterns.get(name, default)
        if value is not None and not (re.fullmatch(pattern, value) and re.fullmatch(default, value)):
            violations.append(
                _violation(
                    Message(
                        "jobs.header_value",
                        "{name} {value!r} is not allowed in a job script's header (it must match {pattern})",
                    ),
                    name=name,
                    value=value,
                    pattern=pattern,
                )
            )
    violations += _requeue_violations(request, cluster)
    if dialect.wants_group and request.group is None:
        violations.append(
            _violation(
                Message(
                    "jobs.group_missing", "cluster {cluster} needs a group: --group NAME, or `group:` in project.yaml"
                ),
                cluster=cluster.name,
            )
        )
    try:
        dialect.directives(header(request))
    except RequestError as error:  # the scheduler has no option for this
        violations.append(Violation(error.id.partition(".")[2], str(error)))
    else:
        violations += _unused(request, cluster)
    if request.nodes > 1 and cluster.starter == "local":
        key = (
            Message("jobs.one_node", "{nodes} nodes: cluster {cluster} is a single machine")
            if dialect.this_machine
            else Message(
                "jobs.several_nodes", "{nodes} nodes: jobs of several nodes are not supported on cluster {cluster}"
            )
        )
        violations.append(_violation(key, cluster=cluster.name, nodes=request.nodes))
    return violations


def _unused(request: Request, cluster: Cluster) -> Iterator[Violation]:
    """Yield options of the command line that the job would not have, and an account that it does not charge."""
    dialect = registry.dialect_of(cluster)
    whole = header(request)
    for name in ("group", "reservation", "qos", "constraint"):
        without: Header = replace(whole, **{name: None})  # type: ignore[arg-type]
        if (
            request.origins.get(name) in (COMMAND_LINE, ENVIRONMENT)
            and not dialect.this_machine
            and dialect.directives(without) == dialect.directives(whole)
            and dialect.command_options(without) == dialect.command_options(whole)
        ):
            yield _violation(
                Message("jobs.option_unused", "--{name} has no effect: jobs on cluster {cluster} have no {name}"),
                name=name,
                cluster=cluster.name,
            )
    charged = _account_in(request) if request.directives and request.group else None
    if charged not in (None, request.group):
        yield _violation(
            Message("jobs.two_accounts", "`directives:` charge {charged}, but the group is {group}"),
            charged=charged,
            group=request.group,
        )


def _requeue_violations(request: Request, cluster: Cluster) -> Iterator[Violation]:
    """Yield that the scheduler cannot start a job again, or that `directives:` say the opposite of `requeue`."""
    pair = registry.dialect_of(cluster).requeue_options
    if request.requeue is not None and pair is not None:
        opposite = pair[1 if request.requeue else 0]
        if opposite in (" ".join(option.split()) for option in request.directives):
            yield _violation(
                Message("jobs.two_requeues", "`directives:` contain {option}, the opposite of `requeue: {value}`"),
                option=opposite,
                value=str(request.requeue).lower(),
            )
    elif request.requeue:
        yield _violation(
            Message(
                "jobs.no_requeue",
                "requeue: jobs on cluster {cluster} cannot be started again by their scheduler ({scheduler}), which "
                "has no option for it; `hackathon submit --segments N` continues a training in further jobs",
            ),
            cluster=cluster.name,
            scheduler=request.scheduler,
        )


def _account_in(request: Request) -> str | None:
    """Return the account that the request's directives name, or None."""
    from hackathon.schedulers.scripts import Setting

    language = registry.script_language(request.scheduler)
    if language is None:
        return None
    settings = []
    for option in request.directives:
        name, value = (*re.split(r"[ =]+", option, maxsplit=1), "")[:2]
        key = language.options.get(name, (name, 0))[0]
        if key in language.lists:
            entry, _equals, value = value.partition("=")
            key = f"{key} {entry}"
        settings.append(Setting(0, key, name, value))
    return language.read(settings).account


def _image_violations(request: Request, cluster: Cluster) -> list[Violation]:
    if request.image is None:
        return []
    from hackathon.jobs.image_check import image_problems

    return [_violation(identifier, **values) for identifier, values in image_problems(request, cluster)]


def _launcher_violations(request: Request, cluster: Cluster, recipe: Recipe | None) -> list[Violation]:
    dialect = registry.dialect_of(cluster)
    launchers: list[str] = [
        launcher for launcher in cluster.launchers or ALL_LAUNCHERS if dialect.has_launcher(launcher)
    ]
    violations = []
    if request.launcher not in launchers:
        violations.append(
            _violation(
                Message(
                    "jobs.launcher_cluster",
                    "launcher {launcher} does not work on cluster {cluster}; it offers {offered}",
                ),
                launcher=request.launcher,
                cluster=cluster.name,
                offered=", ".join(launchers),
            )
        )
    fitting: list[str] = list(recipe.launchers if recipe and recipe.launchers else PLAIN_LAUNCHERS)
    if recipe is not None and request.launcher not in fitting:
        violations.append(
            _violation(
                Message(
                    "jobs.launcher_recipe", "recipe {recipe} does not run under {launcher}; it runs under {offered}"
                ),
                launcher=request.launcher,
                recipe=recipe.name,
                offered=", ".join(fitting),
            )
        )
    in_image = request.image is not None and request.launcher == "torchrun"
    if recipe is None and not in_image and missing_launchers(cluster, [request.launcher], request.environment):
        violations.append(
            _violation(
                Message(
                    "jobs.launcher_missing",
                    "launcher {launcher} is not installed on this machine: activate the environment that has it, "
                    "name its lines under `environment:` in project.yaml, or choose another launcher",
                ),
                launcher=request.launcher,
            )
        )
    if request.binding not in (None, "none") and request.launcher not in BINDING_LAUNCHERS:
        offered = ", ".join(BINDING_LAUNCHERS)
        violations.append(
            _violation(
                Message(
                    "jobs.binding_launcher",
                    "binding {binding}: launcher {launcher} cannot bind ranks to cores; these can: {offered}",
                ),
                binding=request.binding,
                launcher=request.launcher,
                offered=offered,
            )
        )
    if request.binding not in (None, *ALL_BINDINGS):
        violations.append(
            _violation(
                Message("jobs.binding_unknown", "binding {binding} is not one of {offered}"),
                binding=request.binding,
                offered=", ".join(ALL_BINDINGS),
            )
        )
    if request.launcher == "local" and request.nodes > 1:
        violations.append(
            _violation(
                Message("jobs.launcher_one_node", "{nodes} nodes: launcher local starts processes on one node only"),
                nodes=request.nodes,
            )
        )
    return violations


def _place_violations(runs: Path, request: Request, cluster: Cluster) -> list[Violation]:
    if not cluster.visible_from_nodes:
        return []
    if not any(os.path.isdir(folder) for folder in cluster.visible_from_nodes):  # noqa: PTH112
        return []  # this is another machine, whose folders prove nothing
    real = os.path.realpath(runs)
    for folder in cluster.visible_from_nodes:
        if os.path.commonpath([real, os.path.realpath(folder)]) == os.path.realpath(folder):
            return []
    return [
        _violation(
            Message("jobs.not_visible", "compute nodes of {cluster} cannot see {folder}; they see {visible}"),
            folder=real,
            visible=", ".join(cluster.visible_from_nodes),
            cluster=cluster.name,
        )
    ]


def _data_violations(runs: Path, request: Request, cluster: Cluster) -> list[Violation]:
    names = missing(runs.parent / FOLDER, request.data)
    if not names or cluster.internet_on_nodes:
        return []
    return [
        _violation(
            Message(
                "jobs.data_missing",
                "{names}: not in {folder}, and compute nodes of {cluster} have no Internet access: run `hackathon "
                "data fetch` on a login node",
            ),
            names=", ".join(names),
            cluster=cluster.name,
            folder=runs.parent / FOLDER,
        )
    ]


def nearest(request: Request, cluster: Cluster, groups: Sequence["NodeGroup"] = ()) -> Request | None:
    """Return the closest request within the limits of a queue, or None.

    `groups`: the machine's nodes as its scheduler describes them, if the profile does not.
    Closest: the largest share of the requested node-seconds, then the requested queue, then the order of the profile.
    Nodes and walltime only become smaller, except for a queue with a minimum.
    """
    best: tuple[float, int, Request] | None = None
    queues = _queues_with_nodes(request, cluster, groups)
    qos_of_queue = cluster.queues.get(request.queue or "", Queue()).qos
    for name, queue in queues.items():
        if (
            queue == Queue(note=queue.note, partition=queue.partition, qos=queue.qos)
            and name != request.queue in queues
        ):
            continue  # without known limits it is not better than the requested queue
        # a queue may allow smaller jobs a longer walltime
        for most in (request.nodes, *(step.from_nodes - 1 for step in queue.larger)):
            nodes = max(min(request.nodes, most, queue.nodes or most), queue.min_nodes)
            if cluster.starter == "local" or request.launcher == "local":
                nodes = 1
            walltime = min(request.walltime, queue.longest(nodes) or request.walltime)
            per_node = min(request.processes_per_node, queue.processes_per_node or request.processes_per_node)
            share = min(1.0, nodes * per_node / request.processes) * walltime / request.walltime
            candidate = replace(
                request,
                queue=name,
                partition=queue.partition_named,
                qos=queue.qos if request.qos == qos_of_queue else request.qos,
                nodes=nodes,
                walltime=walltime,
                processes_per_node=per_node,
                processes=nodes * per_node,
            )
            rank = (share, int(name == request.queue), candidate)
            if best is None or rank[:2] > best[:2]:
                best = rank
    return best[2] if best else None


def _queues_with_nodes(request: Request, cluster: Cluster, groups: Sequence["NodeGroup"]) -> dict[str | None, Queue]:
    """Return the queues of the profile, else the scheduler's, limited to the nodes that the scheduler reports."""
    queue_names = (
        dict.fromkeys(queue for group in groups for queue in group.queues) if request.queue is not None else {}
    )
    queues: dict[str | None, Queue] = {}
    for name in [*(cluster.queues or queue_names)] or [request.queue]:
        queue = cluster.queues.get(name or "", Queue())
        count = sum(group.nodes for group in _given(replace(request, queue=name), groups))
        if count:
            queues[name] = replace(queue, nodes=min(queue.nodes or count, count))
        elif not groups:
            queues[name] = queue
    return queues


def nearest_options(request: Request, other: Request) -> str:
    """Return the command-line options that turn the request into the other one."""
    words = []
    if other.queue is not None:
        words.append(f"--queue {other.queue}")
    words.append(f"--nodes {other.nodes}")
    if other.processes_per_node != request.processes_per_node:
        words.append(f"--processes-per-node {other.processes_per_node}")
    words.append(f"--walltime {format_walltime(other.walltime)}")
    return " ".join(words)
