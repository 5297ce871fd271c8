"""`hackathon clusters list`: the machines with a profile."""

import os
from pathlib import Path

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import named
from hackathon.text.messages import _, localized


@named(
    "list",
    help=_(
        "List the clusters that have a profile: the project's, the event's, your own and the shipped ones.\n"
        "\n"
        "  hackathon clusters list"
    ),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(as_json: bool) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.config import load
    from hackathon.config.trust import folders_that_count
    from hackathon.jobs.origins import origin_text
    from hackathon.schedulers import registry

    folders = folders_that_count(Path.cwd())
    entries, problems = registry.list_clusters(folders)
    files, __ = load.cluster_files(folders)
    origins = {cluster.name: load.origin_of(files[cluster.name], folders) for cluster in entries}
    if as_json:
        rows = [
            {
                "name": cluster.name,
                "title": localized(cluster.title),
                "scheduler": cluster.scheduler,
                "from": origins[cluster.name],
            }
            for cluster in entries
        ]
        value = {"schema_version": 1, "clusters": rows, "problems": [str(problem) for problem in problems]}
        echo_json(value, indent=None)
        return
    chosen = os.environ.get("HACKATHON_CLUSTER")
    echo_table(
        [_("name"), _("scheduler"), _("from"), _("title"),
         _("queues")],
        [
            [f"{cluster.name} *" if cluster.name == chosen else cluster.name, cluster.scheduler,
             origin_text(origins[cluster.name]), localized(cluster.title), " ".join(cluster.queues)]
            for cluster in entries
        ],
    )  # fmt: skip
    for problem in problems:
        click.echo(str(problem), err=True)
