"""Pages that are single files and load nothing: of a plan, of a profile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hackathon.profiling.shares import PARTS
from hackathon.text.errors import RequestError
from hackathon.text.files import write_whole
from hackathon.text.messages import LANGUAGES, _, language, speaking
from hackathon.text.printable import printable
from hackathon.text.units import format_size
from hackathon.web.page.pages import Site, render
from hackathon.web.views.profile import profile_view

if TYPE_CHECKING:
    from hackathon.parallel.plan.request import PlanResult
    from hackathon.profiling.traces.report import Profile


@dataclass(frozen=True)
class PlanView:
    """The template's values; texts are in the language of the page."""

    verdict: str
    quality: str
    facts: Sequence[tuple[str, str]]
    tiles: Sequence[tuple[str, str, str]]
    """(name, value, note)."""
    passes: Sequence[tuple[str, str]]
    """(name, colour) for the legend."""
    kinds: Sequence[tuple[str, str]]
    width: int
    step: str
    """Elements of an SVG."""
    step_height: int
    step_captions: Sequence[str]
    memory: str
    memory_height: int
    stages: Sequence[Sequence[str]]
    stage_heads: Sequence[str]
    terms: Sequence[tuple[str, str]]
    bound: str
    alternatives: Sequence[tuple[str, str, str, bool]]
    """(name, value, ratio to this plan's value, whether it fits)."""
    placement: Sequence[str]


def write_translated(file: Path, page: Callable[[str, Sequence[tuple[str, str]]], str]) -> list[Path]:
    """Write a page to `file` in the current language, and to `NAME.ja.html` or `NAME.en.html` beside it; return both.

    `page` takes a language and (language, address) of the other pages. Raises RequestError if one cannot be written.
    """
    names = {code: file if code == language() else file.with_suffix(f".{code}.html") for code in LANGUAGES}
    for code, path in names.items():
        translations = [(other, path.name) for other, path in names.items() if other != code]
        try:
            write_whole(path, page(code, translations))
        except OSError as error:
            raise RequestError(
                "profile.not_written", "{file} could not be written: {what}", file=path, what=error.strerror or error
            ) from error
    return list(names.values())


def write_plan_page(file: Path, result: "PlanResult", value: dict[str, Any]) -> list[Path]:
    """Write a plan as a page in each language, as `write_translated`; return the paths."""
    return write_translated(file, lambda code, translations: plan_page(result, value, code, translations))


def plan_page(result: "PlanResult", value: dict[str, Any], spoken: str, translations: Sequence[tuple[str, str]]) -> str:
    """Return the page of a plan that fits, in a language; `value`: its plan.json."""
    with speaking(spoken):
        view = plan_view(result, value)
        title = _("Plan of a partition")
    return render(
        "plan.html.j2", Site(title=title, masked=False), spoken, lambda kind, key: None, others=translations,
        here="plan", view=view,
    )  # fmt: skip


def plan_view(result: "PlanResult", value: dict[str, Any]) -> PlanView:
    """Return the page's values for a plan that fits."""
    from hackathon.parallel.plan.picture import (
        COLORS,
        GAP,
        KIND_TEXTS,
        KINDS,
        LANE,
        PASS_TEXTS,
        WIDTH,
        StepChart,
        memory_bars,
    )
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
    chart = StepChart(plan)
    devices, used = result.request.devices, plan.devices_used
    largest = max(cost.memory.total for cost in plan.costs)
    quality = (
        _("this plan is proven to be the best") if result.proven else _("gap {gap} %", gap=f"{100 * result.gap:.2g}")
    )
    objective = _(OBJECTIVE_TEXTS[result.request.objective])
    return PlanView(
        verdict=kind_of(plan),
        quality=_(
            "No plan of this cost model takes less than {seconds} ({quality})",
            seconds=seconds(value["bound"]),
            quality=quality,
        ),
        facts=[
            (_("Operators"), str(len(plan.graph.operators))),
            (_("Micro-batches"), str(plan.micro_batches)),
            (_("Memory of a device"), format_size(devices.memory)),
            (_("Bandwidth"), f"{format_size(devices.bandwidth)}/s"),
            (_("Graph"), plan.graph.identity[:12]),
        ],
        tiles=[
            (objective, seconds(value["value"]), ""),
            (_("No plan takes less than"), seconds(value["bound"]), quality),
            (_("Devices used"), str(used), _("of {count}", count=devices.count)),
            (_("Largest stage"), format_size(largest), f"{100 * largest / devices.memory:.0f} %"),
        ],
        passes=[(_(PASS_TEXTS[name]), color) for name, color in COLORS.items()],
        kinds=[(_(KIND_TEXTS[name]), color) for name, color in KINDS.items()],
        width=WIDTH,
        step="\n".join(chart.lines(0)),
        step_height=chart.height,
        step_captions=chart.captions(),
        memory="\n".join(memory_bars(plan, 6)),
        memory_height=len(plan.stages) * (LANE + GAP) + 26,
        stages=[[printable(cell) for cell in row] for row in stage_rows(plan, value)],
        stage_heads=[_(COLUMN_TEXTS[name]) for name in STAGE_COLUMNS],
        terms=[(term_name(term), seconds(term["seconds"])) for term in value["bound_terms"]],
        bound=seconds(value["plan_bound"]),
        alternatives=[
            (
                _(ALTERNATIVE_TEXTS[alternative["name"]]),
                seconds(alternative["value"]),
                f"{alternative['value'] / value['value']:.2f}" if value["value"] > 0 else "–",
                alternative["feasible"],
            )
            for alternative in value["alternatives"]
        ],
        placement=list(placement_lines(value)),
    )


def profile_page(profile: "Profile", code: str, title: str, translations: Sequence[tuple[str, str]]) -> str:
    """Return the page in a language; `title`: the run or the files, `translations`: (language, address) of the page."""
    from hackathon.profiling.traces.stored import spoken, typical_step
    from hackathon.web.page import sanitize as clean

    with speaking(code):
        view = clean.value(profile_view(spoken(profile), typical_step(profile)))
    return render(
        "profile.html.j2",
        Site(title=title, masked=False),
        code,
        lambda kind, key: None,
        others=translations,
        here="profile",
        view=view,
        parts=PARTS,
    )
