"""How far predictions of throughput are off on public scaling studies, and how often their intervals hold.

    python tests/bench/bench_predict.py [--cases] [--nested]
    python tests/bench/bench_predict.py --sources TABLE.csv

`--nested`: the constants that were chosen on this table are chosen anew without the clusters that are judged.
`--sources`: another table (columns source,model,hw,mode,gpus,value,unit,nodes,group), one line for each source and each
group of a source: the three smallest sizes known, the next and the largest one asked for.
Prints figures, judges nothing. Each case hides every row from the predicted size on; history never holds the study
itself. The table (`tests/samples/prediction/scaling.csv`) names the source of each series. Beside: constant efficiency.
"""

import csv
import itertools
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hackathon.prediction import limits, mixture
from hackathon.prediction.flags import flags
from hackathon.prediction.forecast import Knowledge, forecast
from hackathon.prediction.rows import MeasuredSize, MeasuredValue, Series, is_time, series
from hackathon.prediction.shapes import SHAPES
from hackathon.prediction.table import read_table
from support.predicted_steps import outcomes

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
    level: float | None
    linear: float
    """What a line through the last two rates is off."""
    usl: float | None


def size_at(study: Series, nodes: float) -> MeasuredSize | None:
    """Return the row on so many full nodes."""
    per_node = study.per_node or 0
    found = (row for row in study.rows if row.nodes == nodes and row.processes == nodes * per_node)
    return next(found, None)


def hidden(study: Series, rows: Iterable[MeasuredSize], truth: MeasuredSize, others: Sequence[Series] = ()) -> Case:
    kept = tuple(sorted(set(rows), key=lambda row: row.processes))
    assert all(row.processes < truth.processes for row in kept)
    return Case(replace(study, rows=kept, capacity=study.per_node), truth, tuple(others))


def doubled(study: Series) -> list[Case]:
    """Base, one full node and two known; four asked for."""
    rows = [size_at(study, nodes) for nodes in (1, 2, 4)]
    one, two, four = rows
    if study.mode != "weak" or one is None or two is None or four is None:
        return []
    return [hidden(study, (study.rows[0], one, two), four)]


def first_three(study: Series) -> list[Case]:
    """The first three rows known, twice the third asked for; not over the node boundary in weak scaling."""
    if len(study.rows) < 4 or study.rows[3].processes != 2 * study.rows[2].processes:
        return []
    crossing = study.rows[2].nodes == 1 and (study.rows[3].nodes or 1) > 1
    return [] if crossing and study.mode == "weak" else [hidden(study, study.rows[:3], study.rows[3])]


def next_after(least: int) -> Callable[[Series], list[Case]]:
    """At least so many rows known, the next one asked for."""

    def cases(study: Series) -> list[Case]:
        return [hidden(study, study.rows[:n], study.rows[n]) for n in range(least, len(study.rows))]

    return cases


def two_nodes(everything: Sequence[Series], *, remember: bool, family: bool = True) -> list[Case]:
    """One full node known and nothing beyond, two nodes asked for; three clusters with many studies each.

    `family` False: other studies of the same benchmark are not remembered either.
    """
    made = []
    for study in everything:
        one, two = size_at(study, 1), size_at(study, 2)
        if one is None or two is None or study.kin.cluster.split()[0] not in ("Puhti", "Mahti", "LUMI"):
            continue
        if not study.kin.framework.startswith("PyTorch"):
            continue
        others = [
            each for each in everything
            if each.name != study.name and each.kin.cluster == study.kin.cluster
            and (family or each.kin.model != study.kin.model)
        ]  # fmt: skip
        rows = [row for row in study.rows if row.processes <= one.processes]
        made.append(hidden(study, rows, two, others if remember else ()))
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
    last, before = case.known.rows[-1], case.known.rows[-2] if len(case.known.rows) > 1 else None
    slope = (last.rate - before.rate) / (last.processes - before.processes) if before else last.rate / last.processes
    straight = last.rate + slope * (case.truth.processes - last.processes)
    (usl,) = found.json["beside"]["usl"]
    law = None if usl is None else (truth / usl if is_time(case.known.unit) else usl / truth) - 1
    held = entry["low"] <= truth <= entry["high"]
    return Outcome(case, error, constant, held, width, entry["level"], straight / case.truth.rate - 1, law)


def line(title: str, found: Sequence[Outcome]) -> None:
    """Print the figures of some cases."""
    errors, constant = ([abs(getattr(each, name)) for each in found] for name in ("error", "constant"))
    widths, held = [each.half_width for each in found], sum(each.held for each in found)
    print(
        f"{title:58} {len(found):3} cases  error mean {100 * statistics.mean(errors):5.2f} median "
        f"{100 * statistics.median(errors):5.2f} %  (constant efficiency {100 * statistics.mean(constant):5.2f} "
        f"{100 * statistics.median(constant):5.2f})  intervals hold {100 * held / len(found):3.0f} %, half width "
        f"{100 * statistics.median(widths):4.1f} %"
    )


def told(title: str, cases: Sequence[Case], show: bool) -> list[Outcome]:
    found = [outcome(case) for case in cases]
    line(title, found)
    if show:
        for each in found:
            case = each.case
            known = ",".join(str(row.processes) for row in case.known.rows)
            share = f"{100 * each.error:+6.1f} % ±{100 * each.half_width:4.1f}"
            print(f"    {share}  {known} → {case.truth.processes}  {case.known.name}")
    return found


def noisy(draw: random.Random, noise: float) -> tuple[Series, int, float]:
    """Return a made series of any shape with noise, the size to predict (twice the largest) and the true rate there."""
    name, mode, per_node = draw.choice([*SHAPES, "power"]), draw.choice(["weak", "strong"]), draw.choice([1, 1, 4])
    base, count, size = draw.choice([1, 4]), draw.randint(5, 7), draw.uniform(0.02, 0.2)

    def rate(processes: int) -> float:
        if name == "power":
            return float(processes ** (1 - size))
        growth = 1.0 if mode == "weak" else processes / base / 4
        return processes / (1 + size * growth * SHAPES[name](max(1, processes // per_node)))

    sizes = [base * 2**step for step in range(count)]
    lines = [MeasuredValue(p, rate(p) * (1 + draw.gauss(0, noise)), max(1, p // per_node)) for p in sizes]
    return series("made", mode, "img/s", lines), 2 * sizes[-1], rate(2 * sizes[-1])


def synthetic(count: int = 500) -> None:
    """Print what happens where the truth is known."""
    draw = random.Random(11)
    for noise in (0.0, 0.005, 0.01, 0.02, 0.03):
        errors, widths, held = [], [], 0
        for _ in range(count):
            made, size, truth = noisy(draw, noise)
            (entry,) = forecast(made, [size], advise=False).predictions
            errors.append(abs(entry["value"] / truth - 1))
            widths.append((entry["high"] - entry["low"]) / 2 / entry["value"])
            held += entry["low"] <= truth <= entry["high"]
        print(
            f"made, {100 * noise:3.1f} % noise: error mean {100 * statistics.mean(errors):5.2f} worst "
            f"{100 * max(errors):6.2f} %, intervals hold {100 * held / count:3.0f} %, half width "
            f"{100 * statistics.median(widths):4.1f} %"
        )
    hits = alarms = 0
    for _ in range(2 * count):
        at, values = 1.0, {}
        for step in range(draw.randint(4, 8)):
            values[2**step] = 2**step * at * (1 + draw.gauss(0, 0.01))
            at *= 1 - draw.choice([0.0, draw.uniform(0, 0.02), draw.uniform(0, 0.1)])
        place = draw.choice(list(values)[1:-1])
        for slow in (False, True):
            lines = [MeasuredValue(p, v * (0.82 if slow and p == place else 1)) for p, v in values.items()]
            found = flags(series("made", "weak", "img/s", lines))
            alarms += bool(found) and not slow
            hits += slow and [(each.processes, each.kind) for each in found if each.kind != "retrograde"] == [
                (place, "slow")
            ]
    print(f"planted -18 %: found {hits / count / 0.02:.1f} %; false alarms at 1 % noise {alarms / count / 0.02:.1f} %")


GRID = {
    (mixture, "USUAL"): (0.01, 0.014, 0.02), (mixture, "RANGE"): (0.05, 0.1, 0.2),
    (limits, "CHANCE"): (0.0, 0.06, 0.1), (limits, "BENDING"): (0.0, 0.3),
}  # fmt: skip
"""Module and constant → the values that a nested cross-validation chooses from."""
FOLDS = 5


def interval_score(found: Outcome) -> float:
    """Return width plus penalty of an interval of 90 % (Gneiting and Raftery 2007), and the error; small is good."""
    outside = max(0.0, abs(found.error) - found.half_width)
    return 2 * found.half_width + (2 / 0.1) * outside + 2 * abs(found.error)


def nested(pools: dict[str, list[Case]]) -> None:
    """Print the figures when each fold of clusters is judged with constants that the other folds chose."""
    cases = [(title, case) for title, pool in pools.items() for case in pool]
    clusters = sorted({case.known.kin.cluster for _, case in cases})
    random.Random(5).shuffle(clusters)
    fold = {cluster: number % FOLDS for number, cluster in enumerate(clusters)}
    usual = {place: getattr(*place) for place in GRID}
    results = {}
    for values in itertools.product(*GRID.values()):
        for (module, name), value in zip(GRID, values, strict=True):
            setattr(module, name, value)
        results[values] = [outcome(case) for _, case in cases]
    for (module, name), value in usual.items():
        setattr(module, name, value)
    judged: dict[str, list[Outcome]] = {}
    print("\nnested: constants chosen on other clusters than the judged ones")
    for number in range(FOLDS):
        own = [fold[case.known.kin.cluster] == number for _, case in cases]

        def score(values: tuple[float, ...], own: list[bool] = own) -> float:
            return sum(interval_score(each) for each, here in zip(results[values], own, strict=True) if not here)

        best = min(results, key=score)
        print(f"  fold {number}: {', '.join(f'{name} {v}' for (_, name), v in zip(GRID, best, strict=True))}")
        for (title, _), found, here in zip(cases, results[best], own, strict=True):
            if here:
                judged.setdefault(title, []).append(found)
    for title in pools:
        line(title, judged[title])


def simulated_steps() -> None:
    """Print how far a step of computing and a measured network is off where steps are simulated event by event."""
    known = {"1": "one process", "node": "one full node", "1 node": "both", "1 node two": "both and two nodes"}
    for places, name in known.items():
        found = outcomes(places, 200, 101)
        error, constant = (
            " / ".join(f"{100 * of(each):.1f}" for of in (statistics.mean, statistics.median))
            for each in (found.errors, found.constant)
        )
        print(
            f"simulated steps, {name} → four nodes: error {error} % (constant efficiency {constant}), "
            f"intervals hold {100 * found.held:.0f} %, half width {100 * found.half_width:.1f} %"
        )


def of_sources(path: Path) -> dict[tuple[str, str], list[Series]]:
    """Return (source, group) → its series."""
    lines: dict[tuple[str, ...], list[MeasuredValue]] = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            key = tuple(row[name] for name in ("source", "group", "mode", "unit", "model", "hw", "precision"))
            nodes = int(row["nodes"]) if row["nodes"] else None
            lines.setdefault(key, []).append(MeasuredValue(int(row["gpus"]), float(row["value"]), nodes))
    found: dict[tuple[str, str], list[Series]] = {}
    for (source, group, mode, unit, *words), values in lines.items():
        # these tables have the rate of all workers together where they say steps per second
        made = series(" | ".join(words), mode, "samples/s" if unit == "step/s" else unit, values)
        found.setdefault((source, group), []).append(made)
    return found


def by_source(path: Path) -> None:
    """Print error and coverage of each source and group, and of all of them."""
    for title, place in (("three smallest sizes → next", 3), ("three smallest sizes → largest", -1)):
        print(title)
        groups = {
            key: [outcome(hidden(study, study.rows[:3], study.rows[place])) for study in made if len(study.rows) > 3]
            for key, made in of_sources(path).items()
        }
        every = [each for found in groups.values() for each in found]
        for (source, group), found in [*groups.items(), (("all", ""), every)]:
            if not found:
                continue
            figures = []
            for name in ("error", "linear", "usl", "constant"):
                errors = [abs(value) for each in found if (value := getattr(each, name)) is not None]
                mean, middle = 100 * statistics.mean(errors), 100 * statistics.median(errors)
                figures.append(f"{name} {mean:.1f} / {middle:.1f}")
            held, width = sum(each.held for each in found), statistics.median(each.half_width for each in found)
            called = [each.held for each in found if each.level is not None]
            print(
                f"  {len(found):3} {' '.join([source[-50:], group]):66} {', '.join(figures)} %; held {held} of "
                f"{len(found)}, half width {100 * width:.0f} %; called 90 %: {sum(called)} of {len(called)}"
            )


def main() -> None:
    if "--sources" in sys.argv:
        by_source(Path(sys.argv[sys.argv.index("--sources") + 1]))
        return
    show = "--cases" in sys.argv
    everything = read_table(TABLE).series
    print(f"{len(everything)} series, {sum(len(each.rows) for each in everything)} rows\n")

    def of(kind: Callable[[Series], list[Case]], mode: str) -> list[Case]:
        return [case for study in everything if study.mode == mode for case in kind(study)]

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
    if "--nested" in sys.argv:
        nested({
            "weak: base, one node, two nodes → four": of(doubled, "weak"),
            "weak: first three rows → twice the third": of(first_three, "weak"),
            "strong: first three rows → twice the third": of(first_three, "strong"),
            "strong: four or more rows → the next": of(next_after(4), "strong"),
            "weak: four or more rows → the next": of(next_after(4), "weak"),
        })  # fmt: skip
    print()
    synthetic()
    simulated_steps()


if __name__ == "__main__":
    main()
