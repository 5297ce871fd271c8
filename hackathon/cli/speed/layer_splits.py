"""`hackathon microbatch --layers`: measure, plan and compare which convolutions are faster in parts."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from hackathon.cli.json_output import echo_json
from hackathon.cli.speed.measuring import measured
from hackathon.text.messages import N_, _

if TYPE_CHECKING:
    from hackathon.config.records import Scalar
    from hackathon.tuning.measurement import SingleProcess
    from hackathon.tuning.microbatch.convolutions import LayerPlan
    from hackathon.tuning.verdict import OptionRow


def measure_layers(
    program: "SingleProcess", workspace: int | None, shared: bool, seconds: int, again: bool, yes: bool, as_json: bool
) -> "Mapping[str, Scalar]":
    """Measure the kernels, plan, compare the plan with the unchanged program, and print it.

    Return the settings that pay. Raises RequestError if no kernels were measured, or no split fits into the workspace.
    """

    from hackathon.text.errors import RequestError
    from hackathon.tuning.intervals import pairs_needed
    from hackathon.tuning.microbatch.convolutions import comparison_json, kernel_measurement, plan_layers, read_layers
    from hackathon.tuning.slots import read_slots
    from hackathon.tuning.verdict import compare

    run = measured(
        kernel_measurement(program, seconds),
        again,
        yes,
        1,
        question=N_("Submit a job that starts the program about {starts} times (at most {minutes} min)?"),
    )
    layers = read_layers(run)
    if not layers:
        raise RequestError(
            "microbatch.no_layers",
            "run {run} measured no convolution",
            hint="The program needs the lines of `hackathon microbatch --copy`, and convolutions.",
            run=run.id[-8:],
        )
    plan = plan_layers(layers, math.inf if workspace is None else workspace, shared)
    if plan is None:
        raise RequestError(
            "microbatch.no_room", "a convolution needs more workspace than that even in the smallest parts"
        )
    row, second = None, None
    if plan.splits:
        rounds = pairs_needed(1)
        question = N_("Submit a job that starts the program about {starts} times (at most {minutes} min)?")
        second = measured(program.comparison([plan.option], rounds, seconds), again, True, 2 * rounds, run.id, question)
        row = compare(read_slots(second), [plan.option], 1).rows[0]
    answer = {
        "schema_version": 1, "run": run.id, "second_run": second.id if second else None, "workspace_bytes": workspace,
        "shared": shared, **plan.as_json(), **comparison_json(row),
    }  # fmt: skip
    run.write_client("layer-splits", answer)
    if as_json:
        echo_json(answer)
    else:
        _show(plan, row)
    return row.settings if row is not None and row.wins else {}


def _show(plan: "LayerPlan", row: "OptionRow | None") -> None:
    from hackathon.cli.show import echo_table, printable
    from hackathon.tuning.sentences import VERDICT_TEXTS

    rows = []
    for layer in plan.layers:
        split = plan.splits.get(layer.name)
        seconds = layer.whole.seconds if layer.whole else 0.0
        sizes = "+".join(map(str, split.sizes)) if split else str(layer.batch)
        gain = f"{seconds / split.seconds:.2f}×" if split else "–"
        rows.append([printable(layer.name), f"{1000 * seconds:.2f} ms", sizes, gain])
    echo_table(
        [
            _("layer"),
            _("time"),
            _("parts"),
            _("kernels"),
        ],
        rows,
    )
    click.echo()
    if row is None:
        click.echo(_("no split of a convolution pays here"))
        return
    ratio = row.ratio
    if ratio is None or math.isinf(ratio.high):
        click.echo(_("no speed was recorded with these splits, so they cannot be compared"))
        return
    click.echo(
        _(
            "the program with these splits: {ratio}× ({low} to {high}), {verdict}",
            ratio=f"{ratio.middle:.3f}",
            low=f"{ratio.low:.3f}",
            high=f"{ratio.high:.3f}",
            verdict=_(VERDICT_TEXTS[row.verdict]),
        )
    )
    if row.wins:
        for name, value in row.settings.items():
            click.echo(
                _(
                    "set it under `variables:` in project.yaml (--apply writes it): {setting}",
                    setting=printable(f"{name.removeprefix('env.')}={value}"),
                )
            )
    else:
        click.echo(_("no split of a convolution pays here"))
