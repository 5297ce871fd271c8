"""`hackathon plan`: how a model is divided among devices, and how far that is from the best plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.options import MemorySize, Processes, Size, named
from hackathon.parallel.plan.bound import OBJECTIVES
from hackathon.parallel.plan.cost import MODES
from hackathon.text.messages import message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hackathon.parallel.plan.request import PlanResult

_OBJECTIVE_TEXTS = {
    "step": "plan.objective_step",
    "max-load": "plan.objective_max_load",
    "fill": "plan.objective_fill",
}

_ALTERNATIVE_TEXTS = {
    "one-device": "plan.alternative_one_device",
    "even": "plan.alternative_even",
    "data-parallel": "plan.alternative_data_parallel",
}

_COLUMN_TEXTS = {
    "stage": "plan.column_stage",
    "operators": "plan.column_operators",
    "count": "plan.column_count",
    "replicas": "plan.column_replicas",
    "forward": "plan.column_forward",
    "backward": "plan.column_backward",
    "transfer": "plan.column_transfer",
    "memory": "plan.column_memory",
    "saving": "plan.column_saving",
}

_HELP_TEXTS = {
    "recompute": "plan.help_recompute",
    "offload": "plan.help_offload",
    "recompute-and-offload": "plan.help_recompute_and_offload",
    "free-shape": "plan.help_free_shape",
    "more-devices": "plan.help_more_devices",
    "tensor-parallelism": "plan.help_tensor_parallelism",
    "more-memory": "plan.help_more_memory",
}


@named("plan", help=message("help.plan_help"))
@click.argument("model", metavar="[MODEL.py:FUNCTION]", required=False)
@click.option("--graph", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_plan_graph"))
@click.option("--devices", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_plan_devices"))
@click.option("--cluster", metavar="NAME", help=message("help.option_plan_cluster"))
@click.option(
    "--micro-batches", metavar="M", type=click.IntRange(1, 100_000), help=message("help.option_plan_micro_batches")
)
@click.option("--gpus", metavar="N", type=click.IntRange(1, 1_000_000), help=message("help.option_plan_gpus"))
@click.option("--memory", type=MemorySize(), help=message("help.option_plan_memory"))
@click.option("--objective", type=click.Choice(OBJECTIVES), default="step", help=message("help.option_plan_objective"))
@click.option("--stages", metavar="S", type=click.IntRange(min=1), help=message("help.option_plan_stages"))
@click.option("--replicas", metavar="R,R,…", type=Processes(), help=message("help.option_plan_replicas"))
@click.option(
    "--recompute", type=click.Choice(tuple(MODES)), default="never", help=message("help.option_plan_recompute")
)
@click.option("--offload", type=click.Choice(tuple(MODES)), default="never", help=message("help.option_plan_offload"))
@click.option(
    "--seconds", metavar="N", type=click.FloatRange(min=0), default=10.0, help=message("help.option_plan_seconds")
)
@click.option("--exact", is_flag=True, help=message("help.option_plan_exact"))
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_plan_output")
)
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_plan_svg"))
@click.option("--page", metavar="FILE", type=click.Path(path_type=Path), help=message("help.option_plan_page"))
@click.option("--apply", "apply_it", is_flag=True, help=message("help.option_plan_apply"))
@click.option("-y", "--yes", is_flag=True, help=message("help.option_plan_yes"))
@click.option("--batch", metavar="N", type=click.IntRange(1, 10_000_000), help=message("help.option_plan_batch"))
@click.option("--bandwidth", type=Size(), help=message("help.option_plan_bandwidth"))
@click.option(
    "--peak-tflops", metavar="X", type=click.FloatRange(0, min_open=True), help=message("help.option_plan_peak")
)
@click.option("--memory-bandwidth", type=Size(), help=message("help.option_plan_memory_bandwidth"))
@click.option("--trust", is_flag=True, help=message("help.option_plan_trust"))
@click.option("--again", is_flag=True, help=message("help.option_plan_again"))
@click.option("--json", "as_json", is_flag=True, help=message("help.option_json"))
def command(
    model: str | None, graph: Path | None, devices: Path | None, micro_batches: int | None, gpus: int | None,
    memory: int | None,
    objective: str, stages: int | None, replicas: list[int] | None, recompute: str, offload: str, seconds: float,
    exact: bool, output: Path | None, svg: Path | None, as_json: bool, cluster: str | None, page: Path | None,
    apply_it: bool, yes: bool, batch: int | None, bandwidth: int | None, peak_tflops: float | None,
    memory_bandwidth: int | None, again: bool, trust: bool,
) -> None:  # fmt: skip
    import json

    from hackathon.cli.speed.plan_machine import apply_plan
    from hackathon.cli.speed.plan_model import ModelOptions, best_of, what_to_plan
    from hackathon.parallel.plan.request import PlanRequest
    from hackathon.text.errors import FAILED
    from hackathon.text.files import write_whole

    options = ModelOptions(batch, bandwidth, peak_tflops, memory_bandwidth, again, trust)
    cases, hardware = what_to_plan(model, options, graph, devices, cluster, micro_batches, gpus, memory)
    result = best_of([
        PlanRequest(
            graph, hardware, count, objective, stages, tuple(replicas or ()), recompute, offload,
            None if exact else seconds,
        )
        for graph, count in cases
    ])  # fmt: skip

    from hackathon.parallel.plan.document import as_json as document

    value = document(result)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if output is not None:
        write_whole(output, text)
    if svg is not None and result.plan is not None:
        from hackathon.parallel.plan.picture import picture

        write_whole(svg, picture(result.plan))
    pages: list[Path] = []
    if page is not None and result.plan is not None:
        from hackathon.web.report.plan_page import write_plan_page

        pages = write_plan_page(page, result, value)
    if as_json:
        click.echo(text, nl=False)
    else:
        _show(result, value, (output, svg if result.plan is not None else None, *pages))
    if apply_it and result.plan is not None:
        apply_plan(result, text, cluster, yes)
    raise click.exceptions.Exit(0 if result.plan is not None else FAILED)


def _show(result: "PlanResult", value: dict[str, Any], written: "Sequence[Path | None]") -> None:
    from hackathon.parallel.plan.request import impossible
    from hackathon.text.printable import printable
    from hackathon.text.units import format_size

    reason = impossible(result.request) if result.plan is None else None
    if reason is not None:
        click.echo(message(reason[0], **reason[1]), err=True)
    elif result.plan is None:
        size = format_size(value["blocking"]["bytes"])
        click.echo(message("plan.infeasible" if result.proven else "plan.not_found"), err=True)
        name = printable(value["blocking"]["operator"])
        limit = format_size(result.request.devices.memory)
        click.echo(message("plan.blocking", operator=name, size=size, limit=limit), err=True)
        for remedy in value["help"]:
            text = message(_HELP_TEXTS[remedy], count=result.enough_devices)
            click.echo(f"  {text}", err=True)
    else:
        _show_plan(result, value)
    for path in written:
        if path is not None:
            click.echo(message("plan.written", path=printable(str(path))), err=True)


def _show_plan(result: "PlanResult", value: dict[str, Any]) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.parallel.plan.sentences import (
        STAGE_COLUMNS,
        kind_of,
        placement_lines,
        seconds,
        stage_rows,
        term_name,
    )

    plan = result.plan
    assert plan is not None and result.gap is not None
    echo_table([message(_COLUMN_TEXTS[column]) for column in STAGE_COLUMNS], stage_rows(plan, value))
    click.echo()
    click.echo(kind_of(plan))
    objective = message(_OBJECTIVE_TEXTS[result.request.objective])
    click.echo(message("plan.value", objective=objective, seconds=seconds(value["value"])))
    click.echo(message("plan.devices_used", used=plan.devices_used, count=result.request.devices.count))
    quality = message("plan.proven") if result.proven else message("plan.gap", gap=f"{100 * result.gap:.2g}")
    click.echo(message("plan.bound", seconds=seconds(value["bound"]), quality=quality))
    click.echo(message("plan.plan_bound", seconds=seconds(value["plan_bound"])))
    for alternative in value["bound_terms"]:
        click.echo(f"  + {seconds(alternative['seconds'])}  {term_name(alternative)}")
    for line in placement_lines(value):
        click.echo(line)
    click.echo()
    click.echo(message("plan.alternatives"))
    for alternative in value["alternatives"]:
        name = message(_ALTERNATIVE_TEXTS[alternative["name"]])
        fit = "" if alternative["feasible"] else message("plan.does_not_fit")
        click.echo(f"  {name}: {seconds(alternative['value'])}{fit}")
