"""`hackathon predict`: how fast would it be at a size that nobody measured?"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hackathon.cli.options import Processes, named
from hackathon.text.messages import message

if TYPE_CHECKING:
    from hackathon.config.cluster import Rates
    from hackathon.prediction.forecast import Knowledge
    from hackathon.prediction.rows import Series


@named("predict")
@click.argument("source", required=False, metavar="[STUDY|TABLE.csv|-]")
@click.option("--processes", "sizes", required=True, metavar="N,N,…", type=Processes(),
              help=message("help.option_predict_processes"))  # fmt: skip
@click.option("--series", "wanted", metavar="NAME", help=message("help.option_predict_series"))
@click.option("--history", metavar="TABLE.csv", type=click.Path(path_type=Path, allow_dash=True),
              help=message("help.option_predict_history"))  # fmt: skip
@click.option("--processes-per-node", metavar="N", type=click.IntRange(min=1),
              help=message("help.option_predict_per_node"))  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    source: str | None, sizes: list[int], wanted: str | None, history: Path | None, processes_per_node: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    from dataclasses import replace

    from hackathon.prediction.forecast import SCHEMA_VERSION, forecast
    from hackathon.prediction.show import lines
    from hackathon.prediction.table import read_table
    from hackathon.text.errors import RequestError

    if source == "-" and str(history) == "-":
        raise RequestError("predict.one_stdin")
    if source is not None and (source == "-" or Path(source).exists() or source.endswith(".csv")):
        made, known = _of_table(Path(source))
    else:
        made, known = _of_study(source)
    if wanted is not None:
        names = ", ".join(each.name or "–" for each in made)
        made = [each for each in made if each.name == wanted]
        if not made:
            raise RequestError("predict.no_series", name=wanted, known=names)
    if history is not None:
        known = replace(known, others=(*known.others, *read_table(history).series))
    known = replace(known, per_node=processes_per_node)
    found = [forecast(each, sizes, known) for each in made]
    if as_json:
        import json

        several = len(found) > 1
        told = (
            {"schema_version": SCHEMA_VERSION, "results": [each.json for each in found]} if several else found[0].json
        )
        click.echo(json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False))
        return
    click.echo("\n\n".join("\n".join(lines(each)) for each in found))


def _of_table(path: Path) -> "tuple[list[Series], Knowledge]":
    from hackathon.prediction.forecast import Knowledge
    from hackathon.prediction.table import read_table

    return list(read_table(path).series), Knowledge()


def _of_study(name: str | None) -> "tuple[list[Series], Knowledge]":
    """Return the series of a study of this project, with what the index and the cluster's profile know beside it."""
    from hackathon.cli.options import runs_folder
    from hackathon.index.memory import Memory
    from hackathon.prediction.forecast import Knowledge
    from hackathon.prediction.study import chosen, cluster_of, known_studies, network_of, of_study, others, price_of
    from hackathon.text.errors import RequestError

    project = runs_folder().parent.absolute()
    memory = Memory()
    studies = known_studies(project, memory)
    study = chosen(studies, name, str(project))
    if study is None:
        raise RequestError("predict.no_source" if name is None else "predict.no_study", folder=project, name=name or "")
    made = of_study(study, memory)
    if not made:
        raise RequestError("predict.no_value_yet", study=study.id)
    cluster = cluster_of(study)
    return made, Knowledge(
        others=others(study, studies, memory),
        network=network_of(cluster) if cluster else None,
        price=price_of(study, _rates(cluster, project)),
    )


def _rates(cluster: str, project: Path) -> "Rates | None":
    """Return what a cluster's nodes cost; None where nobody knows its profile any more."""
    from hackathon.schedulers.profiles import load_cluster
    from hackathon.text.errors import HackathonError

    try:
        return load_cluster(cluster, [project]).rates if cluster else None
    except HackathonError:
        return None
