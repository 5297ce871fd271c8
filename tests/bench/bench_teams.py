"""How long the page of all teams takes to build with many runs: its view, and the whole page; first time and again.

python tests/bench/bench_teams.py [--runs 10000] [--teams 100]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hackathon.config.event import Event, Team
from hackathon.index.catalog import Catalog
from hackathon.index.projects import ProjectFolder
from hackathon.index.record import CauseText, RunEntry
from hackathon.text.messages import speaking
from hackathon.web.page.pages import Site, render
from hackathon.web.routing.registry import values_of

SIZES = (1, 2, 4, 8, 16)
POINTS = 10
"""Runs of a study: two on each size."""


def source(folder: Path, runs: int, teams: int) -> Catalog:
    """Write the studies of an invented event and return what its index would hold."""
    summaries = []
    for number in range(runs):
        name = f"team-{number % teams:03d}"
        study, point = divmod(number // teams, POINTS)
        processes = SIZES[point // 2]
        identifier = f"20260301-{study:06d}-net-abcdefgh"
        if point == 0:
            place = folder / name / "studies" / identifier
            place.mkdir(parents=True)
            record = {"name": "net", "mode": "weak", "created": 1e9 + study, "points": [{}] * POINTS}
            (place / "study.json").write_text(json.dumps(record))
        begin = 1e9 + 100.0 * number
        failed = number % 17 == 3
        value = None if failed else 1000.0 * processes * 0.97 ** (point // 2) + number % 7
        summaries.append(
            RunEntry(
                id=f"20260301-{number:06d}-net-{processes}p-abcdefgh", project=str(folder / name), team=name,
                study=identifier, name="net", cluster="reedbush-h", processes=processes, nodes=-(-processes // 2),
                gpus=processes, walltime=900, state="FAILED" if failed else "SUCCEEDED", created=begin, started=begin,
                ended=begin + 140, value=value,
                numbers=() if value is None else (("samples_per_s", value),),
                unit="samples/s", gpu_percent=80.0, part="nccl" if failed else "",
                told={"en": CauseText("NCCL finds no InfiniBand")} if failed else None,
            )
        )  # fmt: skip
    names = sorted({run.team for run in summaries})
    projects = [ProjectFolder(folder / name, name) for name in names]
    event = Event("Bench", teams=[Team(name, project="Something") for name in names])
    return Catalog(summaries[::-1], projects, event, folder, now=1e9 + 1e7, live=True)


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--teams", type=int, default=100)
    given = parser.parse_args()
    site = Site("Bench", live=True)
    with tempfile.TemporaryDirectory() as folder, speaking("en"):
        made = source(Path(folder), given.runs, given.teams)

        def view() -> dict[str, object]:
            found = values_of("teams", "", made)
            assert found is not None
            return found[1]

        def page() -> str:
            return render("teams.html.j2", site, "en", lambda kind, key: f"/{kind}?{key}", here="teams", **view())

        first = milliseconds(view)
        page()
        again = [milliseconds(view) for _ in range(20)]
        pages = [milliseconds(page) for _ in range(20)]
        print(f"{given.runs} runs, {given.teams} teams: view first {first:.0f} ms,", end=" ")
        print(f"again {statistics.median(again):.0f} ms (longest {max(again):.0f}),", end=" ")
        print(f"whole page again {statistics.median(pages):.0f} ms (longest {max(pages):.0f}), {len(page())} bytes")


if __name__ == "__main__":
    main()
