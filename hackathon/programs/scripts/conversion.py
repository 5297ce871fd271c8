"""Convert the header of a job script for another scheduler; the commands stay unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hackathon.config.cluster import Queue
from hackathon.programs.scripts.lint import looked_at
from hackathon.programs.scripts.look import ScriptLook, first_command
from hackathon.programs.scripts.source import ScriptText
from hackathon.schedulers import registry
from hackathon.schedulers.scripts import ScriptLanguage, ScriptRequest
from hackathon.text.errors import RequestError
from hackathon.text.messages import _
from hackathon.text.printable import printable

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster


@dataclass(frozen=True)
class Converted:
    """A script for another scheduler."""

    source: str
    """The original script's scheduler."""
    target: str
    script: ScriptText
    lost: tuple[tuple[int, str], ...]
    """(line of the original script, directive) without an equivalent; a comment in the new script."""


def convert(
    source: ScriptText, cluster: "Cluster | None", language: ScriptLanguage, origins: Sequence["Cluster"] = ()
) -> Converted:
    """Return a script for a cluster, or for a scheduler without a profile.

    A directive without an equivalent becomes a comment in its place. Names of queues and groups stay unless the cluster
    lacks that name. `origins`: clusters that the script may be for; if its queue there allocates whole nodes, the new
    header requests the GPUs and cores of such a node. Raises RequestError: no directives, or several kinds.
    """
    look = looked_at(source)
    if look is None or not look.directives:
        raise RequestError(
            "lint.no_directives", "{path} has no directives of a known scheduler", path=printable(source.name)
        )
    completed = _with_its_node(look, cluster, origins)
    request = _fitting(completed, cluster)
    stands_for = (cluster.queues.get(request.queue or "") if cluster is not None else None) or Queue()
    named = (
        request if stands_for.partition_named is None else replace(request, queue=stands_for.partition_named or None)
    )
    options, unsaid = language.write(named, _dialect(cluster))
    options += [f"--qos={stands_for.qos}"] if stands_for.qos else []
    lost = _lost(look, unsaid, completed, request)
    lines: list[str] = []
    header = {directive.line for directive in look.directives}
    # the first scheduler may read directives after commands, but the other may not
    start = min(*header, first_command(source.lines, language))
    for number, line in enumerate(look.source.lines, 1):
        if number == start:
            lines += [f"{language.prefix} {option}" for option in options]
        if number in {line for line, _ in lost}:
            lines.append(f"# {_('not translated:')} {line.strip()}")
        elif number not in header and line == source.lines[number - 1]:  # otherwise it continues a directive
            lines.append(line)
    if language.reading.shebang_first and not (lines and lines[0].startswith("#!")):
        lines.insert(0, "#!/bin/bash")
    return Converted(look.language.name, language.name, ScriptText(source.name, tuple(lines)), tuple(lost))


def _dialect(cluster: "Cluster | None") -> Mapping[str, Any]:
    """Return the keys of a profile's dialect about requests for resources, with `node_gpus`, the GPUs per node.

    A profile without GPUs has no such keys.
    """
    from dataclasses import asdict

    from hackathon.schedulers.registry import known_dialect

    if cluster is None:
        return {}
    dialect = asdict(known_dialect(cluster))
    if not isinstance(cluster.node.gpus, int) or not cluster.node.gpus:
        return {name: value for name, value in dialect.items() if name != "gpu_request" or value != "none"}
    return {**dialect, "node_gpus": cluster.node.gpus}


def _with_its_node(look: ScriptLook, cluster: "Cluster | None", origins: Sequence["Cluster"]) -> ScriptRequest:
    """Return the request of a header, with the node's resources that its queue allocates by default."""
    from hackathon.schedulers.registry import known_dialect

    request = look.request
    if cluster is not None and cluster.queues and known_dialect(cluster).whole_nodes:
        return request  # the other scheduler allocates them by default, too
    nodes = {
        (origin.node.gpus, origin.node.cores)
        for origin in origins
        if origin.scheduler == look.language.name and request.queue in origin.queues
        and known_dialect(origin).gives_nodes(request.queue, request.nodes or 1, 0)
        and origin.queues[str(request.queue)].processes_per_node is None
    }  # fmt: skip
    if request.queue is None or len(nodes) != 1:
        return request
    (gpus, cores), node_cores = nodes.pop(), cluster.node.cores if cluster is not None else "auto"
    if request.gpus is None and isinstance(gpus, int) and gpus:
        request = replace(request, gpus=gpus)
    if request.cores is None and request.threads is None and isinstance(cores, int):
        request = replace(request, cores=min(cores, node_cores) if isinstance(node_cores, int) else cores)
    return replace(request, exclusive=True if request.exclusive is None else request.exclusive)


def _fitting(request: ScriptRequest, cluster: "Cluster | None") -> ScriptRequest:
    """Return a request with a queue and GPUs per node that exist on the other machine."""
    queue = request.queue
    if cluster is not None and cluster.queues and queue not in cluster.queues:
        queue = cluster.queue or (next(iter(cluster.queues)) if len(cluster.queues) == 1 else None)
    gpus, node_gpus = request.gpus, cluster.node.gpus if cluster is not None else None
    if gpus and isinstance(node_gpus, int) and 0 < node_gpus < gpus:
        gpus = None  # they need more nodes, in a number that the header omits or contradicts
    return replace(request, queue=queue, gpus=gpus)


def _lost(
    look: ScriptLook, unsaid: list[str], completed: ScriptRequest, request: ScriptRequest
) -> list[tuple[int, str]]:
    """Return the directives with a setting that the new header lacks."""
    empty = ScriptRequest()
    gone = list(unsaid)
    if request.queue != look.request.queue:
        gone.append("queue")
    if request.gpus != completed.gpus:
        gone.append("queue" if look.request.gpus is None else "gpus")
    lines = set()
    for setting in look.settings:
        own = look.language.read([setting])
        fields = [name for name in gone if getattr(own, name) != getattr(empty, name)]
        if setting not in look.request.taken or fields:
            lines.add(setting.line)
    for directive in look.directives:
        if directive.unknown or directive.loose or directive.lacking:
            lines.add(directive.line)
    return [(number, look.line(number).strip()) for number in sorted(lines)]


def target_language(name: str, cluster: "Cluster | None") -> ScriptLanguage:
    """Return the language of a cluster's scripts; raise RequestError for a scheduler that reads no header."""
    language = registry.script_language(cluster.scheduler if cluster else name)
    if language is None:
        raise RequestError(
            "lint.no_language",
            "{name} is neither a cluster whose job scripts have a header nor a scheduler: {known}",
            name=printable(name),
            known=", ".join(registry.SCRIPTS),
        )
    return language
