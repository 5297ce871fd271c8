"""All shipped clusters, from their profiles. In English, like most texts of the profiles."""

import re
from collections.abc import Callable, Iterator

from hackathon.cli.reference import cell
from hackathon.config.cluster import Cluster, Queue
from hackathon.config.load import read_cluster
from hackathon.schedulers.registry import dialect_type
from hackathon.text.messages import localized
from hackathon.text.paths import shipped
from hackathon.text.units import format_size, format_walltime


def listing() -> str:
    """Return a section for each cluster; the user's own profiles are not included."""
    clusters = [
        read_cluster(path.read_bytes(), path, path.stem, dialect_type)
        for path in sorted(shipped("templates", "clusters").glob("*.yaml"))
    ]
    return "\n".join("\n".join(_section(cluster)) + "\n" for cluster in clusters)


def _section(cluster: Cluster) -> Iterator[str]:
    def sure(path: str, text: object) -> str:
        return f"{text} **?**" if path in cluster.unverified else str(text)

    node = cluster.node
    shape = [
        sure("node.cores", "cores as counted on the machine" if node.cores == "auto" else f"{node.cores} cores"),
        sure("node.gpus", "GPUs as counted on the machine" if node.gpus == "auto" else f"{node.gpus} GPU"),
        *([sure("node.gpu", node.gpu)] if node.gpu else []),
        *([sure("node.memory", format_size(node.memory))] if node.memory else []),
        *([sure("node.network", node.network)] if node.network else []),
    ]
    dialect = [f"{key} `{value}`" for key, value in cluster.dialect.items() if value not in (None, False, "none")]
    per_node = {"auto": "one a GPU (without GPUs: one, unless told)"}.get(
        str(cluster.processes_per_node), str(cluster.processes_per_node)
    )
    yield from (f"## {cluster.name}", "", localized(cluster.title, cluster.name), "")
    yield f"- scheduler: `{cluster.scheduler}`" + (f"; {', '.join(dialect)}" if dialect else "")
    yield f"- node: {', '.join(shape)}; processes a node: {sure('processes_per_node', per_node)}"
    yield (
        f"- launchers: {', '.join(f'`{launcher}`' for launcher in cluster.launchers)}; starter: "
        + sure("starter", f"`{cluster.starter}`")
        + f"; MPI: {sure('mpi', cluster.mpi)}"
    )
    if cluster.visible_from_nodes:
        yield f"- compute nodes see: {', '.join(f'`{folder}`' for folder in cluster.visible_from_nodes)}"
    if cluster.environment:
        yield f"- environment: {sure('environment', '; '.join(f'`{line}`' for line in cluster.environment))}"
    if not cluster.queues:
        yield "- queues: not known to the profile; only the scheduler can say no"
    else:
        yield from ("", "| queue | nodes | walltime | |", "|---|---|---|---|")
        for name, queue in cluster.queues.items():
            yield _queue(name, queue, sure)
    remaining = [
        path for path in cluster.unverified if not re.fullmatch(r"node\..*|queues\..*|starter|mpi|environment", path)
    ]
    if remaining:
        yield from ("", f"Also not confirmed: {', '.join(f'`{path}`' for path in remaining)}.")
    if cluster.sources:
        yield from ("", "| source | date | | values |", "|---|---|---|---|")
        yield from (_source(cluster, name) for name in cluster.sources)


def _source(cluster: Cluster, name: str) -> str:
    source = cluster.sources[name]
    title = localized(source.title) + ("" if source.confirmed else " (to be confirmed)")
    cited = {key: [ids] if isinstance(ids, str) else ids for key, ids in cluster.evidence.items()}
    values = ", ".join(f"`{key}`" for key, ids in cited.items() if name in ids)
    return f"| {name} | {source.date} | {cell(f'[{title}]({source.url})' if source.url else title)} | {values} |"


def _queue(name: str, queue: Queue, sure: Callable[[str, object], str]) -> str:
    nodes = "–" if queue.nodes is None else sure(f"queues.{name}.nodes", f"{queue.min_nodes}–{queue.nodes}")
    walltime = "–" if queue.walltime is None else sure(f"queues.{name}.walltime", format_walltime(queue.walltime))
    most = queue.processes_per_node
    notes = [f"{most} process{'' if most == 1 else 'es'} a node"] if most else []
    notes += [localized(queue.note)] if queue.note else []
    return f"| `{name}` | {nodes} | {walltime} | {'; '.join(notes)} |"
