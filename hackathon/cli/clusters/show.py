"""`hackathon clusters show`: one machine, its queues and limits, the source of each value, and its measurements."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _, localized

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.config.evidence import CitedValue
    from hackathon.schedulers.reports import QueueInfo


@named(
    "show",
    help=_(
        "Show one cluster: node, queues, limits, and what was measured there. A question mark marks unverified "
        "values.\n"
        "\n"
        "  hackathon clusters show reedbush-h\n"
        "  hackathon clusters show miyabi-g --evidence   where each value is from, and of which day\n"
        "  hackathon clusters show slurm --live          ask the scheduler now"
    ),
)
@click.argument("name")
@click.option("--live", is_flag=True, help=_("Ask the scheduler about its queues now."))
@click.option("--evidence", "with_evidence", is_flag=True, help=_("Show where each value is from, and of which day."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str, live: bool, with_evidence: bool, as_json: bool) -> None:
    from hackathon.config.evidence import cited_values
    from hackathon.config.load import find_cluster, origin_of, package_of
    from hackathon.config.trust import folders_that_count
    from hackathon.config.yaml import read_yaml
    from hackathon.scaling.cluster_measurements import measured
    from hackathon.schedulers import registry

    folders = folders_that_count(Path.cwd())
    path = find_cluster(name, folders)
    cluster = registry.load_cluster_file(path)
    values = cited_values(read_yaml(path).value) if as_json or with_evidence else []
    if as_json:
        value: dict[str, Any] = {"schema_version": 1, **asdict(cluster), "measured": measured(cluster.name)}
        value["from"] = origin_of(path, folders)
        value["values"] = [
            {"key": cited.key, "value": cited.value, "sources": cited.sources, "unverified": cited.unverified}
            for cited in values
        ]
        if live:
            value["live"] = [asdict(queue) for queue in _ask(cluster)]
        echo_json(value)
        return
    click.echo(f"{cluster.name}: {localized(cluster.title, cluster.name)}")
    if package := package_of(path, folders):
        click.echo(_("From the package {package}", package=package))
    if with_evidence:
        echo_evidence(cluster, values)
    else:
        _echo_shape(cluster)
    if cluster.unverified:
        click.echo(_("? = unverified value"), err=True)
    if measurements := measured(cluster.name):
        from hackathon.cli.clusters.measure import show

        click.echo()
        show(measurements)
    if live:
        click.echo()
        _echo_live(_ask(cluster))


def echo_evidence(cluster: "Cluster", values: "Sequence[CitedValue]") -> None:
    """Print each value with its sources and their dates, and the list of sources."""
    from hackathon.cli.show import echo_table
    from hackathon.config.yaml_edit import inline

    echo_table(
        [_("value"), "", _("source")],
        [
            [cited.key, f"{inline(cited.value)} ?" if cited.unverified else inline(cited.value),
             ", ".join(f"{name} {cluster.sources[name].date}" for name in cited.sources) or "–"]
            for cited in values
        ],
    )  # fmt: skip
    if cluster.sources:
        click.echo()
        echo_table(
            [_("source"), _("date"), ""],
            [
                [name, source.date, " ".join(filter(None, [
                    localized(source.title), f"<{source.url}>" if source.url else "",
                    "" if source.confirmed else _("(to be confirmed)"),
                ]))]
                for name, source in cluster.sources.items()
            ],
        )  # fmt: skip


def _echo_shape(cluster: "Cluster") -> None:
    from hackathon.cli.show import echo_table
    from hackathon.text.units import format_size, format_walltime

    def sure(path: str, text: str) -> str:
        return f"{text} ?" if cluster.is_unverified(path) else text

    node = cluster.node
    shape = [sure("node.cores", _("{n} cores", n=node.cores)), sure("node.gpus", f"{node.gpus} GPU")]
    shape += [sure("node.gpu", node.gpu)] if node.gpu else []
    shape += [sure("node.memory", format_size(node.memory))] if node.memory else []
    shape += [sure("node.network", node.network)] if node.network else []
    echo_table(
        ["", ""],
        [
            [_("scheduler"), cluster.scheduler],
            [_("node"), ", ".join(shape)],
            [_("launchers"), ", ".join(cluster.launchers) or "–"],
            [_("starter"), cluster.starter],
        ],
    )
    rows = [
        [
            queue_name,
            sure(f"queues.{queue_name}.nodes", "–" if queue.nodes is None else f"{queue.min_nodes}–{queue.nodes}"),
            sure(f"queues.{queue_name}.walltime", format_walltime(queue.walltime) if queue.walltime else "–"),
            queue.remarks,
        ]
        for queue_name, queue in cluster.queues.items()
    ]
    if rows:
        click.echo()
        echo_table([_("queue"), _("nodes"), _("walltime"), ""], rows)


def _echo_live(queues: "Sequence[QueueInfo]") -> None:
    from hackathon.cli.show import echo_table
    from hackathon.text.units import format_walltime

    echo_table(
        [_("queue"), _("nodes"), _("walltime"), _("now")],
        [
            [
                queue.name if queue.enabled else f"({queue.name})",
                "–" if queue.nodes is None else str(queue.nodes),
                format_walltime(queue.walltime) if queue.walltime else "–",
                " ".join([f"R {queue.running}" if queue.running is not None else "",
                          f"Q {queue.queued}" if queue.queued is not None else "", queue.note]).strip(),
            ]
            for queue in queues
        ],
    )  # fmt: skip


def _ask(cluster: "Cluster") -> "list[QueueInfo]":
    from hackathon.schedulers import runner
    from hackathon.schedulers.registry import scheduler_of

    return runner.queues(scheduler_of(cluster))
