"""The page of a profile: a step on each rank, shares, operators, kernels and gaps; one file that loads nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hackathon.profiling.shares import PARTS
from hackathon.web.page.pages import Site, render

if TYPE_CHECKING:
    from hackathon.profiling.traces.report import Profile

WIDTH, ROW, NAME, BAR = 1000, 26, 70, 18
"""Of the picture of a step, in its own units: the whole, a rank, its name, its bar."""
MOST_RANKS = 32
"""Ranks that are drawn."""
NARROWEST = 0.4
"""Units from which a stretch is drawn."""


@dataclass(frozen=True)
class StepPicture:
    """The picture of one step."""

    number: int
    seconds: float
    """From left to right."""
    rows: Sequence[tuple[int, int, Sequence[tuple[str, float, float]]]]
    """(rank, distance from the top, stretches as (part, distance from the left, width))."""
    ticks: Sequence[tuple[float, str]]
    """(Distance from the left, milliseconds)."""
    width: int = WIDTH
    name: int = NAME
    bar: int = BAR

    @property
    def height(self) -> int:
        """Of the whole picture."""
        return ROW * len(self.rows) + 24


def profile_page(profile: "Profile", language: str, title: str, others: Sequence[tuple[str, str]]) -> str:
    """Return the page in a language; `title`: the run or the files, `others`: (language, address) of the same page."""
    from hackathon.profiling.traces.recording import overhead
    from hackathon.profiling.traces.roof_sentences import operator_rows, roof_sentences
    from hackathon.text.messages import speaking

    with speaking(language):
        roof_lines = roof_sentences(profile)
        roof_rows = operator_rows(profile.roofline) if profile.roofline is not None else []
    return render(
        "profile.html.j2",
        Site(title=title, masked=False),
        language,
        lambda kind, key: None,
        others=others,
        here="profile",
        profile=profile,
        parts=PARTS,
        picture=step_picture(profile),
        overhead=overhead(profile.recordings),
        roof_lines=roof_lines,
        roof_rows=roof_rows,
    )


def step_picture(profile: "Profile") -> StepPicture | None:
    """Return the picture of the step whose length is the median; None when the ranks have no step in common."""
    number = profile.typical_step()
    if number is None:
        return None
    stretches = dict(sorted(profile.stretches(number).items())[:MOST_RANKS])
    end = max((spans[-1][2] for spans in stretches.values() if spans), default=0.0)
    if end <= 0:
        return None
    scale = (WIDTH - NAME) / end
    rows = []
    for at, (rank, spans) in enumerate(stretches.items()):
        drawn = [
            (part, round(NAME + begin * scale, 1), round((until - begin) * scale, 1))
            for part, begin, until in spans
            if (until - begin) * scale >= NARROWEST
        ]
        rows.append((rank, ROW * at, drawn))
    ticks = [(round(NAME + end * scale * each / 4, 1), f"{1e3 * end * each / 4:.3g}") for each in range(5)]
    return StepPicture(number, end, rows, ticks)
