"""A plan as pictures: a Gantt chart of one step, and bars of the memory of each stage."""

from collections.abc import Iterator
from html import escape

from hackathon.parallel.plan.cost import CostedPlan
from hackathon.parallel.plan.simulation import SimulatedStep, simulate
from hackathon.text.messages import N_, _
from hackathon.text.units import format_size

PASS_TEXTS = {
    "forward": N_("forward"),
    "backward": N_("backward"),
    "all-reduce": N_("all-reduce"),
}

KIND_TEXTS = {
    "parameters": N_("parameters"),
    "gradients": N_("gradients"),
    "optimizer": N_("optimizer"),
    "activations": N_("activations"),
    "buffers": N_("buffers"),
    "workspace": N_("workspace"),
}

WIDTH, LEFT, LANE, GAP = 960, 130, 22, 6
COLORS = {"forward": "#4477aa", "backward": "#ccbb44", "all-reduce": "#aa3377"}
"""From Paul Tol's bright scheme, which colour-blind readers can tell apart."""
KINDS = {
    "parameters": "#4477aa", "gradients": "#66ccee", "optimizer": "#228833", "activations": "#ccbb44",
    "buffers": "#bbbbbb", "workspace": "#ee6677",
}  # fmt: skip
MOST_LANES, MOST_PASSES = 64, 6000
"""Most replicas and passes in the picture; of a longer step it shows the beginning."""


def picture(plan: CostedPlan) -> str:
    """Return an SVG of a simulated step and of the memory of each stage."""
    step = StepChart(plan)
    below = 46 + step.height
    height = below + 64 + len(plan.stages) * (LANE + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(_('Step and memory of a plan'))}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_legend({name: _(PASS_TEXTS[name]) for name in COLORS}, COLORS, 20),
        *step.lines(40),
        _text(LEFT, below + 14, " · ".join(step.captions())),
        *_legend({name: _(KIND_TEXTS[name]) for name in KINDS}, KINDS, below + 40),
        *memory_bars(plan, below + 56),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class StepChart:
    """The Gantt chart of a simulated step: a lane for each replica."""

    def __init__(self, plan: CostedPlan) -> None:
        self.plan = plan
        self.step: SimulatedStep = simulate(plan)
        lanes = [(stage, replica) for stage, count in enumerate(plan.replicas) for replica in range(count)]
        self.lanes, self.left_out = lanes[:MOST_LANES], len(lanes[MOST_LANES:])
        self.micro_batches = min(plan.micro_batches, max(1, MOST_PASSES // (2 * len(plan.stages))))
        """Micro-batches whose passes all fit in the picture."""
        self.end = self.step.seconds
        if self.micro_batches < plan.micro_batches:
            self.end = max(ends[self.micro_batches - 1] for ends in self.step.backward)

    @property
    def height(self) -> int:
        """Pixels of all lanes."""
        return len(self.lanes) * (LANE + GAP)

    def captions(self) -> list[str]:
        """Return the explanations beside the chart."""
        lines = [_("Step: {seconds} s", seconds=f"{self.step.seconds:.4g}")]
        if self.micro_batches < self.plan.micro_batches:
            lines.append(
                _(
                    "The picture ends with micro-batch {count} of {all}.",
                    count=self.micro_batches,
                    all=self.plan.micro_batches,
                )
            )
        if self.left_out:
            lines.append(_("{count} more devices are not drawn.", count=self.left_out))
        return lines

    def lines(self, top: int) -> Iterator[str]:
        """Yield the elements of the chart, the first lane at `top`."""
        plan, step = self.plan, self.step
        scale = (WIDTH - LEFT - 20) / self.end if self.end > 0 else 0.0
        for number, (stage, replica) in enumerate(self.lanes):
            y = top + number * (LANE + GAP)
            yield _text(8, y + 15, _("stage {stage}, replica {replica}", stage=stage + 1, replica=replica + 1))
            yield (
                f'<rect class="lane" x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 20}" height="{LANE}" fill="#f2f2f2"/>'
            )
            cost = plan.costs[stage]
            for ends, seconds, name in (
                (step.forward[stage], cost.forward, "forward"), (step.backward[stage], cost.backward, "backward"),
            ):  # fmt: skip
                for at in range(replica, plan.micro_batches, plan.replicas[stage]):
                    if ends[at] - seconds < self.end:
                        end = min(ends[at], self.end)
                        yield _bar(ends[at] - seconds, end, y, scale, name, str(at + 1))
            for exchange, begin, end in step.exchanges:
                if stage in plan.exchanges[exchange].stages and begin < self.end:
                    yield _bar(begin, min(end, self.end), y, scale, "all-reduce", "")


def _bar(begin: float, end: float, top: int, scale: float, name: str, label: str) -> str:
    width = (end - begin) * scale
    left = LEFT + begin * scale
    rect = (
        f'<rect x="{left:.2f}" y="{top}" width="{max(width, 0.3):.2f}" height="{LANE}" fill="{COLORS[name]}"'
        + (' stroke="#ffffff" stroke-width="0.5"' if width > 2 else "")
        + "/>"
    )
    if width < 8 + 6 * len(label) or not label:
        return rect
    ink = "#ffffff" if name == "forward" else "#000000"
    return rect + f'<text x="{left + width / 2:.2f}" y="{top + 15}" text-anchor="middle" fill="{ink}">{label}</text>'


def memory_bars(plan: CostedPlan, top: int) -> Iterator[str]:
    """Yield the elements of the bars of memory, the first one at `top`, and of the limit."""
    limit = plan.devices.memory
    most = max(cost.memory.total for cost in plan.costs)
    scale = (WIDTH - LEFT - 110) / max(most, min(limit, 2 * most), 1e-300)
    for number, cost in enumerate(plan.costs):
        y = top + number * (LANE + GAP)
        yield _text(8, y + 15, _("stage {stage}", stage=number + 1))
        left = float(LEFT)
        for name, color in KINDS.items():
            width = getattr(cost.memory, name) * scale
            yield f'<rect x="{left:.2f}" y="{y}" width="{width:.2f}" height="{LANE}" fill="{color}"/>'
            left += width
        yield _text(left + 6, y + 15, format_size(cost.memory.total))
    if limit <= 2 * most:
        x, end = LEFT + limit * scale, top + len(plan.costs) * (LANE + GAP)
        yield (
            f'<line class="limit" x1="{x:.2f}" x2="{x:.2f}" y1="{top - 4}" y2="{end}" stroke="#000000" '
            'stroke-dasharray="4 3"/>'
        )
        yield _text(x - 60, end + 14, _("limit {size}", size=format_size(limit)))


def _legend(names: dict[str, str], colors: dict[str, str], y: int) -> Iterator[str]:
    x = LEFT
    for name, label in names.items():
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colors[name]}"/>'
        yield _text(x + 17, y, label)
        x += 40 + 13 * len(label) if not label.isascii() else 36 + 7 * len(label)


def _text(x: float, y: float, text: str) -> str:
    return f'<text class="word" x="{x:.2f}" y="{y}">{escape(text)}</text>'
