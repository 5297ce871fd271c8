"""`hackathon predict`: the expected speed at an unmeasured size, or with an unmeasured number of workers."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Processes, Size, completing, named
from hackathon.text.messages import Message, _

if TYPE_CHECKING:
    from hackathon.prediction.sources import SourceOptions
    from hackathon.runs.record import RecordedCheck


class Target(click.ParamType["RecordedCheck"]):
    """METRIC:VALUE, or METRIC:<VALUE if less is better."""

    name = "METRIC:VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "RecordedCheck":
        from hackathon.runs.record import RecordedCheck

        if isinstance(value, RecordedCheck):
            return value
        metric, sign, text = str(value).rpartition(":")
        try:
            bound = float(text.removeprefix("<"))
        except ValueError:
            bound = math.nan
        if not sign or not metric or not math.isfinite(bound):
            self.fail(_("{value} is not a METRIC:VALUE such as accuracy:0.95 or loss:<0.2", value=value), param, ctx)
        return RecordedCheck(metric, at_most=bound) if text.startswith("<") else RecordedCheck(metric, at_least=bound)


@named(
    "predict",
    help=_(
        "Predict value, interval and efficiency at process counts that were not measured. SOURCE is a study of "
        "this project (default: the newest), a CSV table with the columns processes,value and optionally "
        "nodes,repeat,mode,unit,series, or - for a table on standard input. Rows that contradict the others "
        "are reported. The last line names the run that would narrow the interval most. With --async, predict "
        "a parameter server's epoch sweep time, mini-batch and staleness from a run of one worker of the "
        "recipe async-sgd.\n"
        "\n"
        "  hackathon predict --processes 16,32\n"
        "  hackathon predict table.csv --processes 64 --processes-per-node 4\n"
        "  hackathon predict table.csv --processes 64 --history former.csv --json\n"
        "  hackathon predict --async --workers 8,16,64 --target-batch 256"
    ),
)
@click.argument("source", required=False, metavar="[STUDY|RUN|TABLE.csv|-]", shell_complete=completing("result"))
@click.option(
    "--processes", "sizes", metavar="N,N,…", type=Processes(), help=_("Process counts to predict, separated by commas.")
)
@click.option(
    "--async",
    "asynchronous",
    is_flag=True,
    help=_("Predict asynchronous SGD: epoch sweep time, mini-batch and staleness, from a run of one worker."),
)
@click.option(
    "--workers",
    metavar="N,N,…",
    type=Processes(),
    help=_("With --async: numbers of workers to predict, separated by commas."),
)
@click.option(
    "--target-batch",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help=_(
        "With --async: samples of an update; tells the fastest number of workers whose batch lies within 25 % of it."
    ),
)
@click.option("--series", "series", metavar="NAME", help=_("Only this series of the table."))
@click.option(
    "--history",
    metavar="TABLE.csv",
    type=click.Path(path_type=Path, allow_dash=True),
    help=_("Table of other studies to learn from: the same columns, and cluster,model,framework."),
)
@click.option(
    "--processes-per-node",
    metavar="N",
    type=click.IntRange(min=1),
    help=_("Processes of a full node, where the table has no column nodes."),
)
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=completing("cluster"),
    help=_("Use the measured network (clusters measure) and the prices of this cluster."),
)
@click.option(
    "--gradient-bytes",
    type=Size(),
    help=_("Bytes of all gradients, which each step reduces, e.g. 102MB (default: from the runs' records)."),
)
@click.option(
    "--batch-size",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help=_(
        "Samples of a step: per process in weak scaling, of all processes in strong scaling (default: from the "
        "runs' records)."
    ),
)
@click.option(
    "--epochs",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help=_("Also predict the time of a training of so many epochs."),
)
@click.option("--samples", metavar="N", type=click.FloatRange(min=0, min_open=True), help=_("Samples of an epoch."))
@click.option(
    "--critical-batch",
    metavar="N",
    type=click.FloatRange(min=0, min_open=True),
    help=_(
        "Critical batch size: samples needed = E × (1 + batch ÷ critical batch), and --epochs holds at the "
        "smallest size (default: from runs at three batches)."
    ),
)
@click.option(
    "--target",
    metavar="METRIC:VALUE",
    type=Target(),
    help=_("What the training has to reach, e.g. accuracy:0.95 or loss:<0.2 (default: the check of the recipe)."),
)
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
def command(
    source: str | None,
    sizes: list[int] | None,
    asynchronous: bool,
    workers: list[int] | None,
    target_batch: float | None,
    series: str | None,
    history: Path | None,
    processes_per_node: int | None,
    as_json: bool,
    **values: Any,
) -> None:
    from hackathon.cli.options import runs_folder
    from hackathon.cli.working import working
    from hackathon.prediction.forecast import SCHEMA_VERSION, forecast
    from hackathon.prediction.show import lines
    from hackathon.prediction.sources import of_index, of_table, selected
    from hackathon.prediction.table import read_table
    from hackathon.text.errors import RequestError

    if asynchronous:
        beside = {"processes": sizes, "series": series, "history": history, "processes-per-node": processes_per_node}
        _refuse(
            Message(
                "asynchronous.not_with_async",
                "{option} cannot be used with --async",
                hint="--async takes a run of one worker, --workers, --target-batch and --json.",
            ),
            {**beside, **values},
        )
        _asynchronous(source, workers, target_batch, as_json=as_json)
        return
    _refuse(
        Message(
            "asynchronous.needs_async",
            "{option} needs --async",
            hint="--workers and --target-batch are about asynchronous SGD; other trainings take --processes.",
        ),
        {"workers": workers, "target-batch": target_batch},
    )
    if sizes is None:
        context = click.get_current_context()
        (option,) = (parameter for parameter in context.command.params if parameter.name == "sizes")
        raise click.MissingParameter(ctx=context, param=option)
    if source == "-" and str(history) == "-":
        raise RequestError("predict.one_stdin", "- can be the table or the history, not both")
    settings = _asked(processes_per_node, values)
    project = runs_folder().parent.absolute()
    if source is not None and (source == "-" or Path(source).is_file() or source.endswith(".csv")):
        pairs = of_table(read_table(Path(source)), settings, project)
    else:
        with working(_("reading the runs of the project")):
            pairs = of_index(source, settings, project)
    pairs = selected(pairs, series, read_table(history) if history is not None else None)
    with working(_("predicting")):
        forecasts = [forecast(entry, sizes, context) for entry, context in pairs]
    if as_json:
        several = len(forecasts) > 1
        told_json = (
            {"schema_version": SCHEMA_VERSION, "results": [outcome.json for outcome in forecasts]}
            if several
            else forecasts[0].json
        )
        echo_json(told_json)
        return
    click.echo("\n\n".join("\n".join(lines(outcome)) for outcome in forecasts))


def _refuse(reason: str, options: dict[str, Any]) -> None:
    """Raise RequestError if one of these options is set."""
    from hackathon.text.errors import RequestError

    for name, value in options.items():
        if value is not None:
            raise RequestError(reason, option=f"--{name.replace('_', '-')}")


def _asynchronous(source: str | None, workers: list[int] | None, target: float | None, *, as_json: bool) -> None:
    """Print the statistics of asynchronous SGD with these numbers of workers."""

    from hackathon.cli.options import runs_folder
    from hackathon.prediction.asynchronous.outlook import MOST_WORKERS, predict
    from hackathon.prediction.asynchronous.show import lines
    from hackathon.prediction.asynchronous.sources import one_worker
    from hackathon.text.errors import RequestError

    if workers is None:
        raise RequestError(
            "asynchronous.needs_workers",
            "--async needs --workers",
            hint="For example: hackathon predict --async --workers 8,16,64 --target-batch 256",
        )
    if max(workers) > MOST_WORKERS:
        raise RequestError(
            "asynchronous.too_many",
            "{workers} workers cannot be simulated, at most {limit}",
            hint="Ask for fewer workers.",
            workers=max(workers),
            limit=MOST_WORKERS,
        )
    prediction = predict(one_worker(runs_folder().parent.absolute(), source), workers, target)
    if as_json:
        echo_json(prediction.json)
        return
    click.echo("\n".join(lines(prediction)))


def _asked(per_node: int | None, values: dict[str, Any]) -> "SourceOptions":
    """Return the source options from the command line."""
    from hackathon.prediction.goal import Wish
    from hackathon.prediction.sources import SourceOptions

    names = ("epochs", "samples", "batch_size", "critical_batch", "target")
    return SourceOptions(per_node, values["cluster"], values["gradient_bytes"], Wish(*(values[name] for name in names)))
