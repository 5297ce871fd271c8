"""Select the results of an event that may be published: false ones are left out, or marked on request."""

from dataclasses import replace

from hackathon.index.catalog import Catalog
from hackathon.index.record import RunEntry
from hackathon.index.studies import by_study, results_of, run_key
from hackathon.scaling.doubts import is_false
from hackathon.scaling.table import points_of


def without_false(source: Catalog) -> tuple[Catalog, tuple[RunEntry, ...]]:
    """Return a catalog in which false results have no numbers, and the affected runs, newest first.

    Speed-ups are computed without them.
    """
    false = {run_key(run) for run in source.summaries if run.is_false}
    for study in by_study(source.summaries, source.memory):
        marked = {
            run["id"] for point in points_of(results_of(study)) for run in point["runs"] if is_false(run["doubts"])
        }
        false |= {run_key(run) for run in study.runs if run.id in marked}
    false_runs = tuple(
        run for run in source.summaries if run_key(run) in false and (run.numbers or run.value is not None)
    )
    # the runs stay, so that a page shows that they exist and why they do not count
    replacements = {run_key(run): _without_numbers(run) for run in false_runs}
    return replace(source, summaries=tuple(replacements.get(run_key(run), run) for run in source.summaries)), false_runs


def _without_numbers(run: RunEntry) -> RunEntry:
    return replace(run, numbers=(), value=None)
