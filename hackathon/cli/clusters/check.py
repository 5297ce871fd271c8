"""`hackathon clusters check`: whether a profile is valid and, on the machine itself, agrees with its scheduler."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.errors import FAILED, RequestError
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.cluster import Cluster
    from hackathon.schedulers.comparison import ComparedValue, Machine

_VERDICT_TEXTS = {
    "same": N_("confirmed"),
    "possible": N_("possible: the scheduler tells no exact value"),
    "differs": N_("differs"),
    "missing": N_("missing in the profile"),
    "gone": N_("no such queue"),
    "unknown": N_("not known: the scheduler does not tell"),
}

FILE = click.Path(dir_okay=False, path_type=Path)


@named(
    "check",
    help=_(
        "Check a profile's file. With --live, on the machine itself: compare its queues, limits and node with "
        "what the scheduler says, and print the difference as a patch of the profile, with what was confirmed "
        "as evidence.\n"
        "\n"
        "  hackathon clusters check miyabi-g\n"
        "  hackathon clusters check miyabi-g --live\n"
        "  hackathon clusters check kumo --live --output kumo-new.yaml"
    ),
)
@click.argument("name")
@click.option("--live", is_flag=True, help=_("Compare the profile with what the scheduler of this machine says."))
@click.option("-o", "--output", metavar="FILE", type=FILE, help=_("Write the corrected profile to a new file."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(name: str, live: bool, output: Path | None, as_json: bool) -> int:
    from hackathon.config.evidence import unconfirmed
    from hackathon.config.load import find_cluster
    from hackathon.config.trust import folders_that_count
    from hackathon.config.yaml import read_yaml
    from hackathon.schedulers import registry

    if output is not None and not live:
        raise RequestError(
            "clusters.output_without_live",
            "--output needs --live",
            hint="hackathon clusters check NAME --live --output FILE",
        )
    folders = folders_that_count(Path.cwd())
    path, cluster = find_cluster(name, folders), registry.load_cluster(name, folders)
    registry.scheduler_of(cluster)  # its plug-in may be missing here
    written = read_yaml(path).value
    bare = [value.key for value in unconfirmed(written)]
    value: dict[str, Any] = {
        "schema_version": 1, "cluster": name, "scheduler": cluster.scheduler, "file": str(path),
        "unverified": cluster.unverified, "without_confirmed_source": bare,
    }  # fmt: skip
    if not live:
        if as_json:
            echo_json(value)
        else:
            click.echo(_("OK: {name} ({file})", name=name, file=path))
            if cluster.unverified or bare:
                values = {"unverified": len(cluster.unverified), "bare": len(bare)}
                click.echo(
                    _(
                        "unverified values: {unverified}; values without a confirmed source: {bare}. Details: "
                        "hackathon clusters show {name!q} --evidence. On the machine itself: hackathon "
                        "clusters check {name!q} --live",
                        name=name,
                        **values,
                    ),
                    err=True,
                )
        return 0
    return _live(cluster, path, written, value, output, as_json)


def _live(
    cluster: "Cluster", path: Path, written: dict[str, Any], value: dict[str, Any], output: Path | None, as_json: bool
) -> int:
    import time

    from hackathon.schedulers import comparison, proposal, registry

    if registry.dialect_of(cluster).this_machine:
        raise RequestError(
            "clusters.this_machine",
            "{name} describes whatever machine it is used on: there is nothing to compare",
            hint="omit --live to check the file",
            name=cluster.name,
        )
    scheduler = registry.scheduler_of(cluster)
    machine = comparison.ask(scheduler)
    if cluster.queues and not {queue.name for queue in machine.queues} & set(cluster.queues):
        raise RequestError(
            "clusters.other_machine",
            "this machine has none of the queues of {name}; it has: {found}",
            hint="run it on the machine that the profile describes, or write a profile of this one: hackathon "
            "clusters new NAME",
            name=cluster.name,
            found=", ".join(q.name for q in machine.queues),
        )
    compared = comparison.compare(cluster, written, machine)
    day = time.strftime("%Y-%m-%d")
    title = _(
        "asked of the scheduler: {commands}",
        commands=", ".join(f"`{command}`" for command in comparison.commands_of(scheduler)),
    )
    text = path.read_text(encoding="utf-8")
    new = proposal.corrected(text, path, cluster.name, compared, title, day)
    patch = "".join(
        difflib.unified_diff(text.splitlines(keepends=True), new.splitlines(keepends=True), str(path), str(path))
    )
    if output is not None:
        write_new(output, new)
    wrong = [row for row in compared if row.verdict in comparison.CHANGES]
    if as_json:
        value |= {
            "day": day,
            "values": [
                {"key": row.key, "profile": row.profile, "machine": row.machine, "verdict": row.verdict}
                for row in compared
            ],
            "nodes": _nodes_json(machine),
            "nodes_not_known": None
            if machine.nodes
            else machine.problem or _("this scheduler does not describe its nodes to users"),
            "other_queues": comparison.others(cluster, machine),
            "gpus_not_requested": comparison.gpus_unrequested(cluster, machine),
            "closed_queues": comparison.closed(cluster, machine),
            "patch": patch,
        }
        echo_json(value)
    else:
        _echo(cluster, compared, machine, patch)
        if output is not None:
            click.echo(_("created {file}", file=output), err=True)
    return FAILED if wrong else 0


def _nodes_json(machine: "Machine") -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [asdict(group) for group in machine.nodes]


def _echo(cluster: "Cluster", compared: "Sequence[ComparedValue]", machine: "Machine", patch: str) -> None:
    from hackathon.cli.show import echo_table, printable
    from hackathon.config.yaml_edit import inline
    from hackathon.schedulers import comparison, registry

    def shown(value: Any) -> str:
        return "–" if value is None else inline(value)

    echo_table(
        [_("value"), _("profile"), _("machine"), ""],
        [[row.key, shown(row.profile), shown(row.machine), _(_VERDICT_TEXTS[row.verdict])] for row in compared],
    )
    if not machine.nodes:
        reason = machine.problem or _("this scheduler does not describe its nodes to users")
        click.echo(_("nodes: not known: {reason}", reason=printable(reason)), err=True)
    for key, names in (
        (N_("queues of the machine that the profile does not have: {names}"), comparison.others(cluster, machine)),
        (N_("closed now: {names}"), comparison.closed(cluster, machine)),
    ):
        if names:
            click.echo(_(key, names=printable(", ".join(names))), err=True)
    if gpus := comparison.gpus_unrequested(cluster, machine):
        group = comparison.nearest_group(cluster, machine.nodes)
        keys = inline(dict(registry.dialect_of(cluster).keys_for_gpus(group))) if group else ""
        text = _(
            "Nodes have {gpus} GPUs, and jobs of this profile request none: `dialect: {keys}`", gpus=gpus, keys=keys
        )
        click.echo(text, err=True)
    if not patch:
        click.echo(_("The profile agrees with the machine, as far as its scheduler tells."), err=True)
        return
    click.echo()
    click.echo(patch, nl=False)
    click.echo(
        _(
            "To apply: save the lines above as FILE and run `patch -p0 < FILE`, or write a corrected profile: "
            "hackathon clusters check {name!q} --live --output ~/.config/hackathon/clusters/{name!q}.yaml",
            name=cluster.name,
        ),
        err=True,
    )


def write_new(path: Path, text: str) -> None:
    """Create a file. Raises RequestError if it exists."""
    from hackathon.config.trust import writable_folder

    try:
        writable_folder(path.parent)
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise RequestError(
            "clusters.exists", "{file} already exists", hint="choose another file with --output", file=path
        ) from None
