"""`hackathon clusters measure`: measure and store communication inside and between nodes (recipe `allreduce`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Assignment, Walltime, completing, named, runs_folder, site_options
from hackathon.jobs.request import Options
from hackathon.text.errors import RequestError
from hackathon.text.messages import _

if TYPE_CHECKING:
    from hackathon.jobs.request import Request
    from hackathon.jobs.resolve import Sources

RECIPE = "allreduce"
GPU_SIZE = "1GiB"
"""The largest message on GPUs, which need larger messages than a laptop."""


@named(
    "measure",
    help=_(
        "Measure communication inside a node and between nodes with the recipe `allreduce`, one job after the "
        "other, and keep the result with the cluster.\n"
        "\n"
        "  hackathon clusters measure slurm\n"
        "  hackathon clusters measure reedbush-h --queue h-debug --group pz0425 --nodes 2 --nodes 4"
    ),
)
@click.argument("name")
@click.option(
    "--nodes",
    metavar="N",
    type=click.IntRange(min=1),
    multiple=True,
    help=_("Nodes of a measurement; may be repeated. Default: 1, and 2 where there are."),
)
@click.option("--processes-per-node", metavar="N", type=click.IntRange(min=1), help=_("Processes per node."))
@click.option("--queue", metavar="NAME", help=_("Queue, partition, resource group or resource type."))
@site_options
@click.option("--walltime", type=Walltime(), help=_("Time limit: 00:30:00, 90m, 2h."))
@click.option(
    "--launcher",
    metavar="NAME",
    shell_complete=completing("launcher"),
    help=_("torchrun, mpirun, srun, local, horovodrun or horovodrun-mpi."),
)
@click.option("-p", "--parameter", type=Assignment(), multiple=True, help=_("Set a parameter; may be repeated."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    name: str, nodes: tuple[int, ...], parameter: tuple[tuple[str, str], ...], as_json: bool, **values: Any
) -> None:
    measure(name, nodes, Options(parameters=dict(parameter), **values), as_json)


def measure(name: str, counts: Sequence[int], options: Options, as_json: bool) -> None:
    """Submit one job for each number of nodes, in turn, wait, store the successful results and print them.

    Without `counts`: one node, and two if the cluster has them. Exit code 1 if a job failed.
    """
    from hackathon.cli.run.wait import wait
    from hackathon.cli.shown import show_outcomes, show_plan, show_tail
    from hackathon.jobs.sources import find_sources
    from hackathon.runs.campaign import plan, start_in_turn
    from hackathon.scaling.cluster_measurements import entry, keep

    sources = find_sources(RECIPE, replace(options, cluster=name), runs_folder().parent)
    planned = plan(sources, _requests(sources, counts), admit=show_plan)
    # in turn, because two jobs at once would measure each other's traffic
    outcomes = start_in_turn(planned, tags=("measure",))
    show_outcomes(outcomes, len(planned.jobs))
    runs = [outcome.run for outcome in outcomes]
    states = wait(runs)
    good = {state.run_id for state in states if state.state == "SUCCEEDED"}
    entries = [entry(run) for run in runs if run.id in good]
    if entries:
        path = keep(name, entries)
        if as_json:
            echo_json({"file": str(path), "measured": entries})
        else:
            show(entries)
            click.echo(_("saved in {file}", file=path), err=True)
    failed = [run for run in runs if run.id not in good]
    for run in failed:
        show_tail(run.path)
    if failed:
        raise click.exceptions.Exit(1)


def _requests(sources: "Sources", counts: Sequence[int]) -> "list[Request]":
    """Return a request for each number of nodes; a default number that the queue does not allow is left out."""
    from hackathon.jobs.resolve import resolve

    alone = sources.cluster.starter == "local"
    requests = []
    for nodes in sorted(set(counts)) or ([1] if alone else [1, 2]):
        request = resolve(replace(sources, options=replace(sources.options, nodes=nodes)))
        if alone and not request.gpus_per_node and sources.options.processes_per_node is None:
            # with a process on every core, the processes would slow each other down
            request = resolve(replace(sources, options=replace(sources.options, nodes=nodes, processes_per_node=2)))
        queue = sources.cluster.queues.get(request.queue or "")
        possible = queue is None or queue.min_nodes <= nodes <= (queue.nodes or nodes)
        if counts or (possible and request.processes > 1):
            requests.append(_with_sizes(request, sources, nodes))
    lonely = [request for request in requests if request.processes < 2]
    if lonely or not requests:
        raise RequestError(
            "cli.measure_alone",
            "{cluster}: communication cannot be measured with a single process",
            hint="use --processes-per-node 2, or --nodes 2 on a cluster with several nodes",
            cluster=sources.cluster.name,
        )
    return requests


def _with_sizes(request: "Request", sources: "Sources", nodes: int) -> "Request":
    """Return the request for all operations, with large messages on GPUs, unless parameters say otherwise."""
    from hackathon.jobs.resolve import resolve

    usual = {"operation": "all", **({"max_size": GPU_SIZE} if request.gpus_per_node else {})}
    options = replace(
        sources.options,
        nodes=nodes,
        processes_per_node=request.processes_per_node,
        parameters={**usual, **sources.options.parameters},
    )
    return resolve(replace(sources, options=options))


def show(entries: Sequence[dict[str, Any]]) -> None:
    """Print the measurements, a line for each operation."""
    from hackathon.cli.show import echo_table
    from hackathon.logs.values import number as value
    from hackathon.scaling.show import number

    rows = [
        [
            str(entry["nodes"]), str(entry["processes"]), str(entry.get("backend", "")), str(operation),
            number(value(timing["fits"].get("small", {}).get("alpha_us"))),
            number(value(timing["fits"].get("large", {}).get("beta_gb_s"))),
            number(value(timing.get("busbw_gb_s"))),
            str(entry.get("date", ""))[:10], str(entry.get("run", ""))[-8:],
        ]
        for entry in entries
        for operation, timing in entry["operations"].items()
    ]  # fmt: skip
    head = [_("nodes"), _("processes"), _("back-end"), _("operation")]
    echo_table([*head, "α [µs]", "B [GB/s]", _("bus [GB/s]"), _("date"), _("run")], rows)
