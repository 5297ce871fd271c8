"""Print requests, costs and tables as plain text that suits a terminal and a pipe."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hackathon.text.columns import width
from hackathon.text.messages import _, ngettext
from hackathon.text.printable import printable as printable
from hackathon.text.units import format_walltime

if TYPE_CHECKING:
    from hackathon.jobs.cost import Cost
    from hackathon.jobs.request import Request
    from hackathon.jobs.settings import Settings
    from hackathon.runs.directory import RunDirectory
    from hackathon.schedulers.reports import NodeGroup

REFUSED = 5
"""The most refused files of a run that are listed."""


def encodes(text: str) -> bool:
    """Return whether standard output can encode these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def echo_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header, with columns aligned by their width on a terminal."""
    lines = [[printable(str(cell)) for cell in row] for row in [head, *rows]]
    columns = [max(width(line[number]) for line in lines) for number in range(len(head))]
    for number, line in enumerate(lines):
        text = "  ".join(cell + " " * (columns[at] - width(cell)) for at, cell in enumerate(line)).rstrip()
        click.echo(click.style(text, bold=True) if number == 0 else text)


def request_line(request: "Request", settings: "Settings | None" = None) -> str:
    """Return a request in one line, with its differences from the other points of its study."""
    from hackathon.jobs.settings import settings_text

    line = _(
        "{name} on {cluster}{queue}: {processes} {processes:process|processes} on {nodes} {nodes:node|nodes}, "
        "{launcher}, walltime {walltime}",
        name=printable(request.name),
        cluster=request.cluster,
        queue=f" ({request.queue})" if request.queue else "",
        processes=request.processes,
        nodes=request.nodes,
        launcher=request.launcher,
        walltime=format_walltime(request.walltime),
    )
    return f"{line} [{printable(settings_text(settings))}]" if settings else line


def echo_advice(requests: "Sequence[Request]", nodes: "Sequence[NodeGroup]") -> None:
    """Print requests that are allowed but probably unintended, once each."""
    from hackathon.jobs.check import advice

    for text in dict.fromkeys(text for request in requests for text in advice(request, nodes)):
        click.echo(f"{_('warning')}: {text}", err=True)


def cost_text(cost: "Cost") -> str:
    """Return the highest cost of requests, in one line."""
    text = ngettext(
        "at most {jobs} job, {node_hours} node-hours, {gpu_hours} GPU-hours",
        "at most {jobs} jobs, {node_hours} node-hours, {gpu_hours} GPU-hours",
        cost.jobs,
        jobs=cost.jobs,
        node_hours=f"{cost.node_hours:.2f}",
        gpu_hours=f"{cost.gpu_hours:.2f}",
    )
    return text if cost.tokens is None else text + _(", {tokens} tokens", tokens=f"{cost.tokens:.2f}")


def explained(request: "Request", unverified: Sequence[str]) -> list[list[str]]:
    """Return rows (name, value, origin) of all values that determine a job."""
    from hackathon.jobs.origins import origin_text

    def origin(name: str) -> str:
        return origin_text(request.origins.get(name, ""))

    rows = []
    names = (
        "cluster", "queue", "group", "reservation", "qos", "constraint", "nodes", "processes", "processes_per_node",
        "threads", "walltime", "launcher", "binding",
    )  # fmt: skip
    for name in names:
        value = getattr(request, name)
        if value is None:
            continue
        text = format_walltime(value) if name == "walltime" else str(value)
        rows.append([name, text, origin(name)])
    rows += [
        [f"parameters.{name}", str(value), origin(f"parameters.{name}")] for name, value in request.parameters.items()
    ]
    of_cluster = origin_text(f"cluster {request.cluster}")
    rows += [
        ["starter", request.starter, of_cluster],
        ["command", " ".join(request.command), request.recipe or "project.yaml"],
    ]
    if request.image is not None:
        runtime = f" ({request.container['runtime']})" if request.container else ""
        rows.append(["image", request.image + runtime, "project.yaml"])
    built = request.python_environment
    if built:
        about = f"{origin('python_environment')} ({built['variant']}, {built['built']})"
        rows.append(["python_environment", built["path"], about])
    rows += [["environment", line, origin(f"environment.{number}")] for number, line in enumerate(request.environment)]
    rows += [["variables", f"{name}={value}", origin(f"variables.{name}")] for name, value in request.variables.items()]
    rows += [[path, _("unverified"), of_cluster] for path in unverified]
    return rows


def tell_refused(run: "RunDirectory") -> None:
    """Warn on stderr of files of a run that exist and are refused, because they may contain the searched lines."""
    from hackathon.access.beneath import REFUSALS

    refused = run.refused()
    for refusal in refused[:REFUSED]:
        text = _("{path} is not read: {what}", path=run.path / refusal.name, what=_(REFUSALS[refusal.reason]))
        click.echo(f"{_('warning')}: {printable(text)}", err=True)
    if len(refused) > REFUSED:
        click.echo(_("{count} more files of this run are not read", count=len(refused) - REFUSED), err=True)
