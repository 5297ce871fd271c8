"""`hackathon plan`: how a model is divided among devices, and how far that is from the best plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.options import MemorySize, Processes, Size, named
from hackathon.parallel.plan.bound import OBJECTIVES
from hackathon.parallel.plan.cost import MODES
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hackathon.parallel.plan.request import PlanResult

_HELP_TEXTS = {
    "recompute": N_("recomputation: --recompute auto"),
    "offload": N_("parameters in main memory: --offload auto"),
    "recompute-and-offload": N_("recomputation and parameters in main memory: --recompute auto --offload auto"),
    "free-shape": N_("other stages or replicas than those given"),
    "more-devices": N_("more devices: --gpus {count} is enough"),
    "tensor-parallelism": N_(
        "dividing the operator itself over devices (tensor parallelism), which this planner does not do"
    ),
    "more-memory": N_("devices with more memory"),
}


@named(
    "plan",
    help=_(
        "Decide how a model that is too big or too slow for one device is cut into the stages of a pipeline: "
        "which operators, how many replicas, where to recompute or to offload. The plan comes with a lower "
        "bound: no other plan of the same cost model is faster. `step` is proven for small graphs; larger ones "
        "get the best plan found within --seconds and its gap. MODEL.py:FUNCTION is the user's own code: it "
        "runs in a process of the active Python environment, which captures the model that FUNCTION returns "
        "with torch.export; --graph runs nothing. Needs numpy.\n"
        "\n"
        "  hackathon plan model.py:build --gpus 8 --memory 16GB --batch 64\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --gpus 4 --memory 16GB\n"
        "  hackathon plan --graph graph.json --devices devices.json --micro-batches 8 --recompute auto -o "
        "plan.json\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --gpus 8 --micro-batches 16 --page plan.html\n"
        "  hackathon plan --graph graph.json --cluster tsubame4 --micro-batches 16 --apply"
    ),
)
@click.argument("model", metavar="[MODEL.py:FUNCTION]", required=False)
@click.option(
    "--graph",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=_("Operators of the model with their costs (graph.json)."),
)
@click.option(
    "--devices", metavar="FILE", type=click.Path(path_type=Path), help=_("Devices and bandwidths (devices.json).")
)
@click.option(
    "--cluster",
    metavar="NAME",
    help=_("Take devices, memory and bandwidths from a cluster's profile and measurements; --devices overrides them."),
)
@click.option("--micro-batches", metavar="M", type=click.IntRange(1, 100_000), help=_("Micro-batches in a step."))
@click.option(
    "--gpus", metavar="N", type=click.IntRange(1, 1_000_000), help=_("Number of devices, instead of that in the file.")
)
@click.option("--memory", type=MemorySize(), help=_("Memory of a device, instead of that in the file: 16GB, 16GiB."))
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default="step",
    help=_(
        "What to minimise: step: the simulated time of a step; max-load: the load of the busiest stage; fill: "
        "the estimate of RaNNC."
    ),
)
@click.option("--stages", metavar="S", type=click.IntRange(min=1), help=_("Use exactly so many stages."))
@click.option(
    "--replicas", metavar="R,R,…", type=Processes(), help=_("Replicas of each stage, or one number for all stages.")
)
@click.option(
    "--recompute",
    type=click.Choice(tuple(MODES)),
    default="never",
    help=_("Compute activations again in the backward pass: in no stage, where it helps, in all stages."),
)
@click.option(
    "--offload",
    type=click.Choice(tuple(MODES)),
    default="never",
    help=_("Keep parameters in main memory: in no stage, where it helps, in all stages."),
)
@click.option(
    "--seconds",
    metavar="N",
    type=click.FloatRange(min=0),
    default=10.0,
    help=_("Time limit of the search; of each choice of equal replicas if those are searched."),
)
@click.option("--exact", is_flag=True, help=_("Search without a time limit until the plan is proven."))
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help=_("Write plan.json to a file."))
@click.option(
    "--svg", metavar="FILE", type=click.Path(path_type=Path), help=_("Write a picture of the step and the memory.")
)
@click.option(
    "--page",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=_("Write the plan as a page that needs no other file, in both languages."),
)
@click.option(
    "--apply",
    "apply_it",
    is_flag=True,
    help=_("Write plan.json, nodes and processes into the project around the current folder."),
)
@click.option("-y", "--yes", is_flag=True, help=_("With --apply: write project.yaml without asking."))
@click.option(
    "--batch",
    metavar="N",
    type=click.IntRange(1, 10_000_000),
    help=_("Samples of a step; without it a micro-batch is what FUNCTION returns."),
)
@click.option("--bandwidth", type=Size(), help=_("Bytes per second between two devices: 25GB."))
@click.option(
    "--peak-tflops",
    metavar="X",
    type=click.FloatRange(0, min_open=True),
    help=_("TFLOP/s of a device that is not here; times then come from its peaks."),
)
@click.option("--memory-bandwidth", type=Size(), help=_("Bytes per second of the memory of that device: 1.5TB."))
@click.option("--trust", is_flag=True, help=_("Run a model file that belongs to another account."))
@click.option("--again", is_flag=True, help=_("Capture and measure again, whatever the cache holds."))
@click.option("--json", "as_json", is_flag=True, help=_("Print JSON."))
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
        from hackathon.web.report.single_pages import write_plan_page

        pages = write_plan_page(page, result, value)
    if as_json:
        echo_json(value)
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
        click.echo(_(reason[0], **reason[1]), err=True)
    elif result.plan is None:
        size = format_size(value["blocking"]["bytes"])
        click.echo(
            _("No plan fits in memory.")
            if result.proven
            else _("The search found no plan that fits. It did not look at all plans."),
            err=True,
        )
        name = printable(value["blocking"]["operator"])
        limit = format_size(result.request.devices.memory)
        click.echo(
            _(
                "Hardest operator to place: {operator}. A stage of it alone needs {size}; a device has "
                "{limit}. What would help:",
                operator=name,
                size=size,
                limit=limit,
            ),
            err=True,
        )
        for remedy in value["help"]:
            text = _(_HELP_TEXTS[remedy], count=result.enough_devices)
            click.echo(f"  {text}", err=True)
    else:
        _show_plan(result, value)
    for path in written:
        if path is not None:
            click.echo(_("created {path}", path=printable(str(path))), err=True)


def _show_plan(result: "PlanResult", value: dict[str, Any]) -> None:
    from hackathon.cli.show import echo_table
    from hackathon.parallel.plan.sentences import (
        ALTERNATIVE_TEXTS,
        COLUMN_TEXTS,
        OBJECTIVE_TEXTS,
        STAGE_COLUMNS,
        kind_of,
        placement_lines,
        seconds,
        stage_rows,
        term_name,
    )

    plan = result.plan
    assert plan is not None and result.gap is not None
    echo_table([_(COLUMN_TEXTS[column]) for column in STAGE_COLUMNS], stage_rows(plan, value))
    click.echo()
    click.echo(kind_of(plan))
    objective = _(OBJECTIVE_TEXTS[result.request.objective])
    click.echo(_("{objective}: {seconds}", objective=objective, seconds=seconds(value["value"])))
    click.echo(_("Devices used: {used} of {count}", used=plan.devices_used, count=result.request.devices.count))
    quality = (
        _("this plan is proven to be the best") if result.proven else _("gap {gap} %", gap=f"{100 * result.gap:.2g}")
    )
    click.echo(
        _(
            "No plan of this cost model takes less than {seconds} ({quality})",
            seconds=seconds(value["bound"]),
            quality=quality,
        )
    )
    click.echo(_("Lower bound of this plan: {seconds}, the sum of", seconds=seconds(value["plan_bound"])))
    for alternative in value["bound_terms"]:
        click.echo(f"  + {seconds(alternative['seconds'])}  {term_name(alternative)}")
    for line in placement_lines(value):
        click.echo(line)
    click.echo()
    click.echo(_("For comparison:"))
    for alternative in value["alternatives"]:
        name = _(ALTERNATIVE_TEXTS[alternative["name"]])
        fit = "" if alternative["feasible"] else _(" (does not fit in memory)")
        click.echo(f"  {name}: {seconds(alternative['value'])}{fit}")
