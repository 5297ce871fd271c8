"""`hackathon predict`: the expected speed at an unmeasured size, or with an unmeasured number of workers."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import Processes, Size, named
from hackathon.text.messages import message

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
            self.fail(message("predict.bad_target", value=value), param, ctx)
        return RecordedCheck(metric, at_most=bound) if text.startswith("<") else RecordedCheck(metric, at_least=bound)


@named("predict", help=message("help.predict_help"))
@click.argument("source", required=False, metavar="[STUDY|RUN|TABLE.csv|-]")
@click.option("--processes", "sizes", metavar="N,N,…", type=Processes(), help=message("help.option_predict_processes"))
@click.option("--async", "asynchronous", is_flag=True, help=message("help.option_predict_async"))
@click.option("--workers", metavar="N,N,…", type=Processes(), help=message("help.option_predict_workers"))
@click.option("--target-batch", metavar="N", type=click.FloatRange(min=0, min_open=True),
              help=message("help.option_predict_target_batch"))  # fmt: skip
@click.option("--series", "series", metavar="NAME", help=message("help.option_predict_series"))
@click.option("--history", metavar="TABLE.csv", type=click.Path(path_type=Path, allow_dash=True),
              help=message("help.option_predict_history"))  # fmt: skip
@click.option("--processes-per-node", metavar="N", type=click.IntRange(min=1),
              help=message("help.option_predict_per_node"))  # fmt: skip
@click.option("--cluster", metavar="NAME", help=message("help.option_predict_cluster"))
@click.option("--gradient-bytes", type=Size(), help=message("help.option_predict_gradient_bytes"))
@click.option("--batch-size", metavar="N", type=click.FloatRange(min=0, min_open=True),
              help=message("help.option_predict_batch_size"))  # fmt: skip
@click.option("--epochs", metavar="N", type=click.FloatRange(min=0, min_open=True),
              help=message("help.option_predict_epochs"))  # fmt: skip
@click.option("--samples", metavar="N", type=click.FloatRange(min=0, min_open=True),
              help=message("help.option_predict_samples"))  # fmt: skip
@click.option("--critical-batch", metavar="N", type=click.FloatRange(min=0, min_open=True),
              help=message("help.option_predict_critical_batch"))  # fmt: skip
@click.option("--target", metavar="METRIC:VALUE", type=Target(), help=message("help.option_predict_target"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    source: str | None, sizes: list[int] | None, asynchronous: bool, workers: list[int] | None,
    target_batch: float | None, series: str | None, history: Path | None, processes_per_node: int | None,
    as_json: bool, **values: Any,
) -> None:  # fmt: skip
    from dataclasses import replace

    from hackathon.cli.options import runs_folder
    from hackathon.prediction.forecast import SCHEMA_VERSION, forecast
    from hackathon.prediction.show import lines
    from hackathon.prediction.sources import of_index, of_table
    from hackathon.prediction.table import read_table
    from hackathon.text.errors import RequestError

    if asynchronous:
        beside = {"processes": sizes, "series": series, "history": history, "processes-per-node": processes_per_node}
        _refuse("asynchronous.not_with_async", {**beside, **values})
        _asynchronous(source, workers, target_batch, as_json=as_json)
        return
    _refuse("asynchronous.needs_async", {"workers": workers, "target-batch": target_batch})
    if sizes is None:
        context = click.get_current_context()
        (option,) = (parameter for parameter in context.command.params if parameter.name == "sizes")
        raise click.MissingParameter(ctx=context, param=option)
    if source == "-" and str(history) == "-":
        raise RequestError("predict.one_stdin")
    settings = _asked(processes_per_node, values)
    project = runs_folder().parent.absolute()
    if source is not None and (source == "-" or Path(source).is_file() or source.endswith(".csv")):
        pairs = of_table(Path(source), settings, project)
    else:
        pairs = of_index(source, settings, project)
    if series is not None:
        names = ", ".join(entry.name or "–" for entry, _ in pairs)
        pairs = [pair for pair in pairs if pair[0].name == series]
        if not pairs:
            raise RequestError("predict.no_series", name=series, known=names)
    if history is not None:
        former = read_table(history).series
        pairs = [(entry, replace(context, others=(*context.others, *former))) for entry, context in pairs]
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
        raise RequestError("asynchronous.needs_workers")
    if max(workers) > MOST_WORKERS:
        raise RequestError("asynchronous.too_many", workers=max(workers), limit=MOST_WORKERS)
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
