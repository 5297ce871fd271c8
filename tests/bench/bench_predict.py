"""How far predictions of throughput are off on public scaling studies, and how often their intervals hold.

    python tests/bench/bench_predict.py [--cases]

Prints figures, judges nothing. Each case hides every row from the predicted size on; history never holds the study
itself. The table (`tests/samples/prediction/scaling.csv`) names the source of each series. Beside: constant efficiency.
"""

import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.rows import MeasuredSize, Series, is_time
from hackathon.prediction.table import read_table

TABLE = Path(__file__).resolve().parents[1] / "samples" / "prediction" / "scaling.csv"


@dataclass(frozen=True)
class Case:
    """One prediction: what is known, and the row that is asked for."""

    known: Series
    truth: MeasuredSize
    others: tuple[Series, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of one case, errors relative to the truth."""

    case: Case
    error: float
    constant: float
    held: bool
    half_width: float


def size_at(series: Series, nodes: float) -> MeasuredSize | None:
    """Return the row on so many full nodes."""
    per_node = series.per_node or 0
    found = (row for row in series.rows if row.nodes == nodes and row.processes == nodes * per_node)
    return next(found, None)


def hidden(series: Series, rows: Iterable[MeasuredSize], truth: MeasuredSize, others: Sequence[Series] = ()) -> Case:
    kept = tuple(sorted(set(rows), key=lambda row: row.processes))
    assert all(row.processes < truth.processes for row in kept)
    return Case(replace(series, rows=kept, capacity=series.per_node), truth, tuple(others))


def doubled(series: Series) -> list[Case]:
    """Base, one full node and two known; four asked for."""
    rows = [size_at(series, nodes) for nodes in (1, 2, 4)]
    one, two, four = rows
    if series.mode != "weak" or one is None or two is None or four is None:
        return []
    return [hidden(series, (series.rows[0], one, two), four)]


def first_three(series: Series) -> list[Case]:
    """The first three rows known, twice the third asked for; not over the node boundary in weak scaling."""
    if len(series.rows) < 4 or series.rows[3].processes != 2 * series.rows[2].processes:
        return []
    crossing = series.rows[2].nodes == 1 and (series.rows[3].nodes or 1) > 1
    return [] if crossing and series.mode == "weak" else [hidden(series, series.rows[:3], series.rows[3])]


def next_after(least: int) -> Callable[[Series], list[Case]]:
    """At least so many rows known, the next one asked for."""

    def cases(series: Series) -> list[Case]:
        return [hidden(series, series.rows[:n], series.rows[n]) for n in range(least, len(series.rows))]

    return cases


def two_nodes(everything: Sequence[Series], *, remember: bool, family: bool = True) -> list[Case]:
    """One full node known and nothing beyond, two nodes asked for; three clusters with many studies each.

    `family` False: other studies of the same benchmark are not remembered either.
    """
    made = []
    for series in everything:
        one, two = size_at(series, 1), size_at(series, 2)
        if one is None or two is None or series.kin.cluster.split()[0] not in ("Puhti", "Mahti", "LUMI"):
            continue
        if not series.kin.framework.startswith("PyTorch"):
            continue
        others = [
            each for each in everything
            if each.name != series.name and each.kin.cluster == series.kin.cluster
            and (family or each.kin.model != series.kin.model)
        ]  # fmt: skip
        rows = [row for row in series.rows if row.processes <= one.processes]
        made.append(hidden(series, rows, two, others if remember else ()))
    return made


def outcome(case: Case) -> Outcome:
    found = forecast(case.known, [case.truth.processes], Knowledge(others=case.others), advise=False)
    (entry,) = found.predictions
    unit = replace(case.known, rows=(*case.known.rows, case.truth))
    truth = unit.value(case.truth.rate, case.truth.processes)
    predicted = entry["value"]
    faster = truth / predicted if is_time(case.known.unit) else predicted / truth
    error = faster - 1  # of the rate, where values are times too
    constant = case.truth.cost / case.known.rows[-1].cost - 1
    width = (entry["high"] - entry["low"]) / 2 / predicted
    return Outcome(case, error, constant, entry["low"] <= truth <= entry["high"], width)


def told(title: str, cases: Sequence[Case], show: bool) -> list[Outcome]:
    found = [outcome(case) for case in cases]
    errors, constant = ([abs(getattr(each, name)) for each in found] for name in ("error", "constant"))
    widths, held = [each.half_width for each in found], sum(each.held for each in found)
    print(
        f"{title:58} {len(found):3} cases  error mean {100 * statistics.mean(errors):5.2f} median "
        f"{100 * statistics.median(errors):5.2f} %  (constant efficiency {100 * statistics.mean(constant):5.2f} "
        f"{100 * statistics.median(constant):5.2f})  intervals hold {100 * held / len(found):3.0f} %, half width "
        f"{100 * statistics.median(widths):4.1f} %"
    )
    if show:
        for each in found:
            case = each.case
            known = ",".join(str(row.processes) for row in case.known.rows)
            share = f"{100 * each.error:+6.1f} % ±{100 * each.half_width:4.1f}"
            print(f"    {share}  {known} → {case.truth.processes}  {case.known.name}")
    return found


def main() -> None:
    show = "--cases" in sys.argv
    everything = read_table(TABLE).series
    print(f"{len(everything)} series, {sum(len(each.rows) for each in everything)} rows\n")

    def of(kind: Callable[[Series], list[Case]], mode: str) -> list[Case]:
        return [case for series in everything if series.mode == mode for case in kind(series)]

    pool = told("weak: base, one node, two nodes → four", of(doubled, "weak"), show)
    inside = [case for case in of(doubled, "weak") if case.known.rows[0].nodes == 1 and len(case.known.rows) == 3]
    told("  of these with a base inside the node", inside, False)
    pool += told("weak: first three rows → twice the third", of(first_three, "weak"), show)
    pool += told("strong: first three rows → twice the third", of(first_three, "strong"), show)
    pool += told("strong: four or more rows → the next", of(next_after(4), "strong"), show)
    told("weak: four or more rows → the next", of(next_after(4), "weak"), show)
    told("one node → two, nothing else known", two_nodes(everything, remember=False), show)
    pool += told("one node → two, with the cluster's other studies", two_nodes(everything, remember=True), show)
    told("  the same without studies of the same benchmark", two_nodes(everything, remember=True, family=False), False)
    held, widths = sum(each.held for each in pool), [each.half_width for each in pool]
    print(
        f"\nthese without the indented ones, 'weak: four or more' and 'nothing else known': {len(pool)} cases, "
        f"intervals hold {100 * held / len(pool):.0f} %, median half width {100 * statistics.median(widths):.1f} %"
    )
    print("\nby cluster (mean error, share of intervals that hold):")
    clusters: dict[str, list[Outcome]] = {}
    for each in pool:
        clusters.setdefault(each.case.known.kin.cluster, []).append(each)
    for name, found in sorted(clusters.items(), key=lambda item: -len(item[1])):
        mean = 100 * statistics.mean(abs(each.error) for each in found)
        print(f"  {len(found):3} {name:45} {mean:5.2f} %  {100 * sum(each.held for each in found) / len(found):3.0f} %")


if __name__ == "__main__":
    main()
