"""`hackathon clusters`: the machines that are known, their queues and limits."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import Assignment, Walltime, named
from hackathon.jobs.options import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import localized, message

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster


@named("clusters")
@click.argument("name", required=False)
@click.option("--live", is_flag=True, help=message("help.option_live"))
@click.option("--measure", "measuring", is_flag=True, help=message("help.option_measure"))
@click.option(
    "--nodes", metavar="N", type=click.IntRange(min=1), multiple=True, help=message("help.option_measure_nodes")
)
@click.option(
    "--processes-per-node", metavar="N", type=click.IntRange(min=1), help=message("help.option_processes_per_node")
)
@click.option("--queue", metavar="NAME", help=message("help.option_queue"))
@click.option("--group", metavar="NAME", help=message("help.option_group"))
@click.option("--reservation", metavar="NAME", help=message("help.option_reservation"))
@click.option("--walltime", type=Walltime(), help=message("help.option_walltime"))
@click.option("--launcher", metavar="NAME", help=message("help.option_launcher"))
@click.option("-p", "--parameter", type=Assignment(), multiple=True, help=message("help.option_parameter"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    name: str | None,
    live: bool,
    measuring: bool,
    as_json: bool,
    nodes: tuple[int, ...],
    parameter: tuple[tuple[str, str], ...],
    **asked: Any,
) -> None:
    from hackathon.config.trust import folders_that_count

    if measuring:
        if name is None:
            raise RequestError("cli.measure_which")
        from hackathon.cli.machine.measure import measure

        measure(name, nodes, Options(parameters=dict(parameter), **asked), as_json)
        return
    if nodes or parameter or any(value is not None for value in asked.values()):
        raise RequestError("cli.measure_only")
    folders = folders_that_count(Path.cwd())
    if name is None:
        _list(folders, as_json)
        return
    from hackathon.scaling.cluster_measurements import measured
    from hackathon.schedulers import profiles

    cluster = profiles.load_cluster(name, folders)
    if as_json:
        import json
        from dataclasses import asdict

        value: dict[str, Any] = {**asdict(cluster), "measured": measured(cluster.name)}
        if live:
            value["live"] = [asdict(queue) for queue in _ask(cluster)]
        click.echo(json.dumps(value, ensure_ascii=False, indent=1))
        return
    from hackathon.cli.show import echo_table
    from hackathon.text.units import format_size, format_walltime

    def sure(path: str, text: str) -> str:
        return f"{text} ?" if path in cluster.unverified else text

    node = cluster.node
    shape = [sure("node.cores", message("cli.cores", n=node.cores)), sure("node.gpus", f"{node.gpus} GPU")]
    shape += [sure("node.gpu", node.gpu)] if node.gpu else []
    shape += [sure("node.memory", format_size(node.memory))] if node.memory else []
    shape += [sure("node.network", node.network)] if node.network else []
    click.echo(f"{cluster.name}: {localized(cluster.title, cluster.name)}")
    echo_table(
        ["", ""],
        [
            [message("cli.scheduler"), cluster.scheduler],
            [message("cli.node"), ", ".join(shape)],
            [message("cli.launchers"), ", ".join(cluster.launchers) or "–"],
            [message("cli.starter"), cluster.starter],
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
        echo_table([message("cli.queue"), message("cli.nodes"), message("cli.walltime"), ""], rows)
    if cluster.unverified:
        click.echo(message("cli.question_mark"), err=True)
    if found := measured(cluster.name):
        from hackathon.cli.machine.measure import show

        click.echo()
        show(found)
    if live:
        click.echo()
        echo_table(
            [message("cli.queue"), message("cli.nodes"), message("cli.walltime"), message("cli.now")],
            [
                [
                    queue.name if queue.enabled else f"({queue.name})",
                    "–" if queue.nodes is None else str(queue.nodes),
                    format_walltime(queue.walltime) if queue.walltime else "–",
                    " ".join([f"R {queue.running}" if queue.running is not None else "",
                              f"Q {queue.queued}" if queue.queued is not None else "", queue.note]).strip(),
                ]
                for queue in _ask(cluster)
            ],
        )  # fmt: skip


def _ask(cluster: "Cluster") -> list[Any]:
    from hackathon.schedulers import runner
    from hackathon.schedulers.profiles import scheduler_of

    return runner.queues(scheduler_of(cluster))


def _list(folders: list[Path], as_json: bool) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.schedulers import profiles

    entries, problems = profiles.list_clusters(folders)
    if as_json:
        import json

        rows = [{"name": each.name, "title": localized(each.title), "scheduler": each.scheduler} for each in entries]
        click.echo(json.dumps({"clusters": rows, "problems": [str(each) for each in problems]}, ensure_ascii=False))
        return
    chosen = os.environ.get("HACKATHON_CLUSTER")
    echo_table(
        [message("cli.name"), message("cli.scheduler"), message("cli.title"), message("cli.queues")],
        [
            [f"{each.name} *" if each.name == chosen else each.name, each.scheduler, localized(each.title),
             " ".join(each.queues)]
            for each in entries
        ],
    )  # fmt: skip
    for problem in problems:
        click.echo(str(problem), err=True)
