"""Sources of predictions: a table, a study of the index, or the runs of a program; with further facts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hackathon.config.cluster import Rates
from hackathon.index.memory import Memory
from hackathon.index.record import RunEntry
from hackathon.index.studies import StudyRuns, by_settings, results_of, study_record
from hackathon.jobs.cost import spent
from hackathon.prediction.flags import flags, good_rows
from hackathon.prediction.forecast import Knowledge, TokensOf
from hackathon.prediction.goal import NO_WISH, Wish, alike, epoch_samples, goal_asked, goal_measured
from hackathon.prediction.physics import Physics
from hackathon.prediction.rows import JOB, RATE, WEAK, Kin, MeasuredValue, Series, series
from hackathon.prediction.study import (
    chosen,
    cluster_of,
    gathered,
    known_studies,
    network_of,
    of_results,
    of_study,
    others,
    physics_of,
    price_of,
)  # fmt: skip
from hackathon.prediction.table import MeasuredTable
from hackathon.prediction.training import Goal
from hackathon.runs.record import RecordedCheck
from hackathon.runs.states import SUCCEEDED
from hackathon.schedulers.registry import load_cluster
from hackathon.text.errors import HackathonError, RequestError
from hackathon.text.json_fields import mapping_of
from hackathon.text.messages import Message


@dataclass(frozen=True)
class SourceOptions:
    """The command line's options besides the source; None: not specified."""

    per_node: int | None = None
    cluster: str | None = None
    gradient_bytes: float | None = None
    wish: Wish = NO_WISH


@dataclass(frozen=True)
class SeriesKnowledge:
    """A series with further facts."""

    series: Series
    knowledge: Knowledge
    runs: tuple[RunEntry, ...] = ()
    """Runs that may show how many samples the training needs."""
    check: RecordedCheck | None = None
    """The condition that they must meet."""


def of_table(table: MeasuredTable, options: SourceOptions, project: Path) -> list[tuple[Series, Knowledge]]:
    """Return the series of a table; the network and the prices are those of the specified cluster."""
    entries = []
    for curve in table.series:
        cluster = options.cluster or curve.kin.cluster
        physics = Physics(network_of(cluster), options.gradient_bytes, _batch(curve, options.wish.batch))
        tokens = tokens_of(_gpus(cluster, project), rates_of(cluster, project))
        entries.append(SeriesKnowledge(curve, Knowledge(physics=physics, tokens=tokens)))
    return _asked(entries, options)


def of_index(name: str | None, options: SourceOptions, project: Path) -> list[tuple[Series, Knowledge]]:
    """Return the series of a study of this project, else of the runs of a program on a cluster."""
    memory = Memory()
    catalog = gathered(project)
    studies = known_studies(catalog.summaries, memory)
    study = chosen(studies, name, str(project))
    if study is not None:
        return _asked(_of_study(study, studies, memory, project), options)
    runs = [run for run in reversed(catalog.summaries) if name is not None and run.name == name and not run.probe]
    if options.cluster is not None:
        runs = [run for run in runs if run.cluster == options.cluster]
    if name is not None and (runs or _is_recipe(name)):
        return _asked([_of_runs(name, runs, options, project)], options)
    raise RequestError(
        Message(
            "predict.no_source",
            "no study in {folder} and no table given, so nothing is known about larger sizes",
            hint="Measure first, for example: hackathon scale --processes 1,2,4",
        )
        if name is None
        else Message(
            "predict.no_study",
            "{name} is neither a file nor one study of {folder}",
            hint="Name a CSV file, a unique part of a study's id, or - for the standard input.",
        ),
        folder=project,
        name=name or "",
    )


def selected(
    pairs: list[tuple[Series, Knowledge]], name: str | None, history: MeasuredTable | None
) -> list[tuple[Series, Knowledge]]:
    """Return the series with this name (None: all), which know the studies of `history`, too. Raises RequestError."""
    if name is not None:
        names = ", ".join(entry.name or "–" for entry, _ in pairs)
        pairs = [pair for pair in pairs if pair[0].name == name]
        if not pairs:
            raise RequestError("predict.no_series", "no series {name}; known: {known}", name=name, known=names)
    if history is not None:
        pairs = [(entry, replace(facts, others=(*facts.others, *history.series))) for entry, facts in pairs]
    return pairs


def _of_study(study: StudyRuns, studies: Sequence[StudyRuns], memory: Memory, project: Path) -> list[SeriesKnowledge]:
    group = of_study(study, memory)
    if not group:
        raise RequestError("predict.no_value_yet", "study {study} has no result to predict from yet", study=study.id)
    cluster = cluster_of(study)
    rates = rates_of(cluster, project)
    beside = others(study, studies, memory)
    # of_study omits series without a value
    parts = [part for part in by_settings(study) if of_results(results_of(part))]
    own = list(alike([part.runs for part in parts])) if len(parts) == len(group) else [list(study.runs)] * len(group)
    request = mapping_of(study_record(study.project, study.id, memory).get("base_request"))
    check = RecordedCheck.from_json(request.get("check"))
    entries = []
    for number, curve in enumerate(group):
        part = parts[number] if len(parts) == len(group) else study
        knowledge = Knowledge(
            others=beside, physics=physics_of(part.runs, cluster, curve.mode), price=price_of(part, rates),
            tokens=tokens_of(_gpus_of(study.runs), rates),
        )  # fmt: skip
        entries.append(SeriesKnowledge(curve, knowledge, tuple(own[number]), check))
    return entries


def _of_runs(name: str, runs: Sequence[RunEntry], options: SourceOptions, project: Path) -> SeriesKnowledge:
    """Return a series of the single runs of a program on the specified cluster, else on that of its newest run.

    Raises RequestError with a suggested run when nothing was measured there.
    """
    good = [run for run in runs if run.state == SUCCEEDED and run.value and run.value > 0 and not run.is_false]
    good = [run for run in good if not run.rehearsal and run.check_passed is not False]
    cluster = options.cluster or (good[-1].cluster if good else "")
    good = [run for run in good if run.cluster == cluster and run.metric == good[-1].metric]
    if not good:
        raise RequestError(
            "predict.not_known",
            "not known: no run of {name} on cluster {cluster} tells how fast it is",
            hint="This run would tell: hackathon submit {name!q} --cluster {cluster!q} --processes 1\n"
            "The network: hackathon clusters measure {cluster!q} --nodes 1 --nodes 2",
            name=name,
            cluster=cluster or "NAME",
        )
    work = (good[-1].work or 0.0) / good[-1].processes
    good = [run for run in good if not work or abs((run.work or 0.0) / run.processes / work - 1) < 1e-6]
    lines = [MeasuredValue(run.processes, run.value or 0.0, run.nodes or None, run.id) for run in good]
    curve = series(name, WEAK, good[-1].unit, lines, kin=Kin(cluster, name), notes=["weak-assumed", "single-runs"])
    physics = physics_of(good, cluster, WEAK)
    if physics.gradient_bytes is None:  # a rehearsal measures the bytes, too, and they are the same on another machine
        physics = replace(physics, gradient_bytes=physics_of(runs, cluster, WEAK).gradient_bytes)
    tokens = tokens_of(_gpus_of(good), rates_of(cluster, project))
    return SeriesKnowledge(curve, Knowledge(physics=physics, tokens=tokens), tuple(good))


def _asked(entries: Sequence[SeriesKnowledge], options: SourceOptions) -> list[tuple[Series, Knowledge]]:
    """Return the facts combined with the requested options."""
    pairs = []
    for entry in entries:
        curve, physics = entry.series, entry.knowledge.physics or Physics()
        if options.cluster is not None and options.cluster != curve.kin.cluster:
            physics = replace(physics, network=network_of(options.cluster))
        if options.gradient_bytes is not None:
            physics = replace(physics, gradient_bytes=options.gradient_bytes)
        if options.wish.batch is not None and (curve.meaning == RATE or curve.per_process):
            physics = replace(physics, batch=options.wish.batch)
        goal = _goal(entry, physics, options.wish)
        pairs.append((curve, replace(entry.knowledge, per_node=options.per_node, physics=physics, goal=goal)))
    return pairs


def _goal(entry: SeriesKnowledge, physics: Physics, wish: Wish) -> Goal | None:
    """Return the goal of the training. Raises RequestError when it is requested but unknown."""
    curve, asks = entry.series, wish.asks
    of_samples = curve.meaning == RATE or curve.per_process
    batch = physics.batch if of_samples else None
    rows = good_rows(curve, flags(curve))
    wish = replace(wish, samples=wish.samples or epoch_samples(entry.runs))
    if wish.epochs is not None and wish.samples is None:
        raise RequestError(
            "predict.no_samples",
            "--epochs needs --samples, the number of samples in an epoch",
            hint="For example: --epochs 90 --samples 1281167",
        )
    goal = goal_asked(wish, curve.mode, rows[0].processes, batch) if rows else None
    goal = goal or goal_measured(entry.runs, entry.check, curve.mode, batch, wish)
    if of_samples or curve.per_epoch or (goal is not None and goal.batch_known and curve.meaning != JOB):
        if goal is None and asks:
            raise RequestError(
                "predict.no_goal",
                "the time of a training is not known: no run reached its target",
                hint="Say --epochs and --samples (samples of an epoch), or measure a study whose runs reach "
                "--target METRIC:VALUE.",
            )
        if wish.critical is not None and goal is not None and not goal.batch_known:
            raise RequestError(
                "predict.no_batch",
                "the values are in {unit}, so the batch size is needed for the time of a training",
                hint="Say --batch-size: samples of a step, per process in weak scaling, of all processes in strong "
                "scaling.",
                unit=curve.unit or "–",
            )
        return goal
    if not asks:
        return None
    raise RequestError(
        Message(
            "predict.job_time",
            "the values are times of a fixed amount of work in {unit}; it is not known how much of a training that is",
            hint="Use the unit s/epoch for times of an epoch, or rates such as samples/s.",
        )
        if curve.meaning == JOB
        else Message(
            "predict.no_batch",
            "the values are in {unit}, so the batch size is needed for the time of a training",
            hint="Say --batch-size: samples of a step, per process in weak scaling, of all processes in strong "
            "scaling.",
        ),
        unit=curve.unit or "–",
    )


def _batch(curve: Series, batch: float | None) -> float | None:
    """Return the work of a step in the unit of a table's rates, which is known if values are times of steps."""
    if curve.meaning == RATE or curve.per_process:
        return batch
    if curve.meaning == JOB:
        return curve.second if "step" in curve.unit.lower() else None
    return curve.second


def tokens_of(gpus_per_node: float, rates: Rates | None) -> TokensOf | None:
    """Return nodes → tokens per second of a job; None when the cluster has no prices."""
    if spent(1.0, gpus_per_node, rates).tokens is None:
        return None
    return lambda nodes: spent(float(nodes), nodes * gpus_per_node, rates).tokens or 0.0


def rates_of(cluster: str, project: Path) -> Rates | None:
    """Return the prices of a cluster; None without its profile."""
    try:
        return load_cluster(cluster, [project]).rates if cluster else None
    except HackathonError:
        return None


def _gpus(cluster: str, project: Path) -> float:
    """Return the GPUs per node by the cluster's profile."""
    try:
        return float(load_cluster(cluster, [project]).node.gpus or 0) if cluster else 0.0
    except HackathonError:
        return 0.0


def _gpus_of(runs: Sequence[RunEntry]) -> float:
    """Return the GPUs per node by the runs' records."""
    return max((run.gpus / max(1, run.nodes) for run in runs), default=0.0)


def _is_recipe(name: str) -> bool:
    """Return whether a recipe has this name, without searching folders."""
    from hackathon.config.load import load_recipe

    if "/" in name or name in (".", ".."):
        return False
    try:
        load_recipe(name)
    except HackathonError:
        return False
    return True
