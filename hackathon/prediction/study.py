"""Studies of the index as series: the basis of predictions, and other studies' losses on the same cluster."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from hackathon.config.cluster import Rates
from hackathon.config.trust import trusted_event
from hackathon.index.catalog import Catalog
from hackathon.index.gather import gather
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns, by_study, results_of, study_record
from hackathon.jobs.cost import spent
from hackathon.prediction.forecast import Price
from hackathon.prediction.network import NO_NETWORK, Network, network_from
from hackathon.prediction.physics import Exposed, Physics
from hackathon.prediction.rows import JOB, NOBODY, RATE, STEP, STEPS, STRONG, WEAK, Kin, MeasuredValue, Series, series
from hackathon.runs.states import SUCCEEDED
from hackathon.runs.study import TUNE
from hackathon.scaling.cluster_measurements import measured
from hackathon.scaling.doubts import is_false
from hackathon.scaling.show import label
from hackathon.scaling.table import grows_with_processes, lower_is_better, per_process, series_of
from hackathon.text.errors import HackathonError
from hackathon.text.json_fields import mapping_of, text_of

GRADIENT_BYTES = "gradient_bytes"
"""The final number of a program with the bytes of an all-reduce of its gradients."""
SAMPLES_PER_SECOND = "samples_per_s"


def known_studies(runs: Iterable[RunEntry], memory: Memory) -> list[StudyRuns]:
    """Return the studies that runs belong to, newest first.

    Trials of `hackathon tune` differ in more than their size, and are omitted.
    """
    studies = by_study(runs, memory)
    return [study for study in studies if study_record(study.project, study.id, memory).get("kind") != TUNE]


def gathered(project: Path) -> Catalog:
    """Return the runs of the event around a project, newest first; only of the project without an event."""
    event = None
    with suppress(HackathonError):
        event = trusted_event(project)
    return gather(
        event.folder if event else None, event.record if event else None, [project], ask=False, diagnose=False
    )


def of_results(results: Mapping[str, Any], *, kin: Kin = NOBODY, name: str | None = None) -> list[Series]:
    """Return each series of a study's results (`scaling.table.results`) with a point to predict from.

    Successful repeats count individually; a point with a false result is not used, and its size is reported.
    """
    curves = []
    for entry in series_of(results):
        mode = entry["mode"] if entry["mode"] in (WEAK, STRONG) else WEAK
        lines, false = [], []
        for point in entry["points"]:
            if is_false(point["doubts"]):
                false.append(point["processes"])
                continue
            for number, run in enumerate(point["runs"]):
                if run["status"] == SUCCEEDED and run["value"] is not None and point["value"] is not None:
                    lines.append(MeasuredValue(point["processes"], run["value"], point["nodes"], str(number)))
        if lines:
            notes = ["doubted"] if false else []
            notes += [] if entry["mode"] in (WEAK, STRONG) else ["weak-assumed"]
            title = " ".join(filter(None, (name or str(entry["study"]), label(entry))))
            meaning = _meaning(mode, entry["unit"])
            curves.append(series(title, mode, entry["unit"], lines, kin=kin, notes=notes, meaning=meaning))
    return curves


def _meaning(mode: str, unit: str) -> str:
    """Return the meaning of a study's values, as for its speed-up."""
    per_step = per_process(unit) or (mode == WEAK and grows_with_processes(unit))
    if lower_is_better(unit):
        return STEP if per_step else JOB
    return STEPS if per_step else RATE


def of_study(study: StudyRuns, memory: Memory) -> list[Series]:
    """Return the series of a study of the index."""
    request = mapping_of(study_record(study.project, study.id, memory).get("base_request"))
    kin = Kin(cluster_of(study), text_of(request.get("name")) or study.name, text_of(request.get("framework")))
    return of_results(results_of(study), kin=kin, name=study.name or study.id)


def cluster_of(study: StudyRuns) -> str:
    """Return the cluster of a study's newest run."""
    return next((run.cluster for run in reversed(study.runs) if run.cluster), "")


def others(study: StudyRuns, studies: Iterable[StudyRuns], memory: Memory) -> list[Series]:
    """Return the series of the other studies on the same cluster."""
    cluster = cluster_of(study)
    return [
        curve
        for other in studies
        if other.key != study.key and cluster and cluster_of(other) == cluster
        for curve in of_study(other, memory)
    ]


def price_of(study: StudyRuns, rates: Rates | None) -> Price:
    """Return the price of a run of a study at a size: seconds and tokens, by the time of its successful runs.

    For a measured size it is their time. Else, in weak scaling with constant work per process, it follows the cost of
    one unit; in strong scaling, and if all sizes do the same work in fewer steps (so many epochs of the same data), it
    follows the rate. Time that does not scale, such as reading data once, is included as if it did.
    """
    good = [run for run in study.runs if run.state == SUCCEEDED and not run.is_false]
    ended = [run for run in good if run.seconds and run.processes]
    sizes = sorted({run.processes for run in ended})
    shared = study.mode == STRONG or _same_work(ended)

    def price(processes: int, cost: float, nodes: int | None) -> tuple[float | None, float | None]:
        if not sizes:
            return None, None
        base = processes if processes in sizes else sizes[0]
        runs = [run for run in ended if run.processes == base]
        seconds = median(run.seconds or 0.0 for run in runs)
        if base != processes:
            seconds *= cost * base / processes if shared else cost
        if nodes is None:
            return seconds, None
        gpus = max((run.gpus / max(1, run.nodes) for run in runs), default=0.0)
        return seconds, spent(nodes * seconds, nodes * gpus * seconds, rates).tokens

    return price


def _same_work(runs: Iterable[RunEntry]) -> bool:
    """Return whether runs of all sizes, rather than each process, saw the same number of samples; False: unknown."""
    samples: dict[int, list[float]] = {}
    for run in runs:
        if run.work and run.step and run.work > 0 and run.step > 0:
            samples.setdefault(run.processes, []).append(run.work * run.step)
    if len(samples) < 2:
        return False
    small, large = min(samples), max(samples)
    return median(samples[large]) / median(samples[small]) < math.sqrt(large / small)


def network_of(cluster: str) -> Network:
    """Return a cluster's all-reduce as measured by `hackathon clusters measure`, empty without measurements."""
    return network_from(measured(cluster)) if cluster else NO_NETWORK


def physics_of(runs: Iterable[RunEntry], cluster: str, mode: str) -> Physics:
    """Return the cluster's network, and the computing and traffic of these runs' steps by their own numbers.

    Only successful runs count. The bytes of the gradients are the final number `gradient_bytes`, which the recipes
    write; the work of a step is known if rates are samples per second. If runs disagree the newest counts.
    """
    good = [run for run in runs if run.state == SUCCEEDED and run.processes > 0]
    amounts = [dict(run.numbers).get(GRADIENT_BYTES) for run in good]
    sizes = [size for size in amounts if size is not None and math.isfinite(size) and size > 0]
    batches = [
        run.work / (1 if mode == STRONG else run.processes)
        for run in good
        if run.work and run.metric == SAMPLES_PER_SECOND
    ]
    exposed = []
    for run in good:
        waits = [rank.communication for rank in run.shares.ranks] if run.shares else []
        times = [seconds for seconds in waits if seconds is not None]
        if times and run.processes > 1:
            exposed.append(Exposed(run.processes, run.nodes or None, min(times)))
    return Physics(network_of(cluster), sizes[-1] if sizes else None, batches[-1] if batches else None, tuple(exposed))


def chosen(studies: Sequence[StudyRuns], name: str | None, project: str) -> StudyRuns | None:
    """Return the only study of the project whose id contains `name`, the newest without a name."""
    own = [study for study in studies if study.project == project]
    if name is None:
        return own[0] if own else None
    matches = [study for study in own if name in study.id]
    return matches[0] if len(matches) == 1 else next((match for match in matches if match.id == name), None)
