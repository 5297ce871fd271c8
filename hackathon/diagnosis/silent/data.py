"""Silent failures of the data: all ranks read the same data, or the processes wait for their loader."""

import re
from collections.abc import Mapping
from statistics import fmean

from hackathon.diagnosis.facts import FactHit, RunFacts, fact
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.silent import training

_COMBINES = re.compile(
    r"all_?reduce|reduce\(|gather|sync_dist|MetricAverage|pmean|psum|create_multi_node|MirroredStrategy|distribute\."
    r"|Trainer\b|[Aa]ccelerator|deepspeed|megatron|parallelize_module|[dD]evice_?[mM]esh|[pP]ipelin"
)
"""Words of programs that combine all ranks' losses, or give several ranks the same data on purpose."""
_FILES, _BYTES = 200, 1 << 20


@fact("silent:same-data")
def same_data(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks that began with the same batches, by the checksums that `meter.saw` noted.

    `distinct`: highest number of different beginnings, as a share of the ranks, that is reported. Programs that use the
    same batch in every step are benchmarks; they are not judged.
    """
    by_data: dict[tuple[str, ...], list[int]] = {}
    lines = {
        rank: line for rank, listed in run.metrics.items() for line in listed if isinstance(line.get("data"), list)
    }
    for rank, line in lines.items():
        by_data.setdefault(tuple(map(str, line["data"])), []).append(rank)
    if len(lines) < 2 or len(by_data) > thresholds["distinct"] * len(lines):
        return []
    data, ranks = max(by_data.items(), key=lambda group: len(group[1]))
    if len(ranks) < 2 or len(set(data)) == 1:
        return []
    evidence = training.metered_evidence(run, ranks[1], lines[ranks[1]])
    values = {"batches": str(len(data)), "ranks": shown(ranks), "distinct": str(len(by_data)), "of": str(len(lines))}
    return [FactHit(training.placed(run, evidence), values, tuple(ranks), len(ranks))]


def undivided(run: RunFacts) -> tuple[str, FactHit] | None:
    """Return how the ranks read data that is not divided, according to the recorders of all ranks; None if unknown.

    It is `equal` if they read the same batches in the same order, `each` if each rank reads the whole data set. Only a
    wrapper around all processes shows that the ranks need different data: with tensor or pipeline parallelism,
    parameter servers and gradients that the program averages itself, the answer is unknown.
    """
    processes, ranks = run.record.processes, run.recordings
    data = [rank.data for rank in ranks.values() if rank.data and not (rank.data.synthetic or rank.data.divided)]
    if processes < 2 or len(data) < max(2, len(ranks)):
        return None
    if any(rank.parts or rank.others or rank.replicas != processes for rank in ranks.values()):
        return None
    first = data[0]
    if first.dataset is None or any((rank.dataset, rank.size) != (first.dataset, first.size) for rank in data):
        return None
    hit = FactHit(
        Evidence(f"steps/rank-{min(ranks)}.json", None, ""),
        {"ranks": str(processes), "count": str(len(first.lists)), "samples": str(first.size)},
    )
    recordings = list(ranks.values())
    if all(rank.is_drawn_as(first) for rank in data):
        return ("equal", hit) if all(rank.reads_as(recordings[0]) for rank in recordings) else None
    if all(rank.epoch is not None and rank.epoch + rank.largest > rank.size for rank in data):
        return "each", hit
    return None


@fact("silent:same-loss")
def same_loss(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks with exactly equal losses, if their program combines no numbers of ranks.

    For programs that do not note their batches. `values`: losses that must agree; `different`: distinct losses among
    them; `digits`: significant digits of each.
    """
    if any(isinstance(line.get("data"), list) for lines in run.metrics.values() for line in lines):
        return []
    listed, processes = training.losses(run), run.record.processes
    if not 2 <= len(listed) == processes:
        return []
    losses = {rank: [loss for loss in curve if loss.of_training] for rank, curve in listed.items()}
    sequences = [[loss.value for loss in curve] for curve in losses.values()]
    if len({len(sequence) for sequence in sequences}) > 1:  # the run was stopped, perhaps in the middle of a line
        shared = max(0, min(map(len, sequences)) - 1)
        sequences = [sequence[:shared] for sequence in sequences]
    if any(sequence != sequences[0] for sequence in sequences[1:]):
        return []
    values = sequences[0]
    digits = max((len(f"{value:.12g}".lstrip("-0.").replace(".", "")) for value in values), default=0)
    few = len(values) < thresholds["values"] or len(set(values)) < thresholds["different"]
    if few or digits < thresholds["digits"] or combines(run):
        return []
    ranks = tuple(sorted(losses))
    evidence = training.placed(run, losses[ranks[1]][0].evidence)
    first = ", ".join(f"{value:.6g}" for value in values[:3])
    return [FactHit(evidence, {"values": str(len(values)), "first": first, "of": str(len(ranks))}, ranks, len(ranks))]


def combines(run: RunFacts) -> bool:
    """Return whether the program has words that combine numbers of ranks; True when it cannot be read."""
    folder = run.run.source()
    files = [path for path in sorted(folder.rglob("*.py"))[:_FILES] if path.name != "hackathon_runtime.py"]
    try:
        return not files or any(_COMBINES.search(path.read_text(errors="replace")[:_BYTES]) for path in files)
    except OSError:
        return True


@fact("silent:starved")
def starved(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report ranks that spend their time in the Meter's phase `data`.

    `share`: of the time after the warm-up. Runs with fewer than `steps` or `seconds` after it are not judged.
    """
    waiting = {}
    for rank in run.metrics:
        split = training.split(run, rank)
        share = split.share("data")
        enough = split.steps >= thresholds["steps"] and split.seconds >= thresholds["seconds"]
        if share is not None and share >= thresholds["share"] and enough:
            waiting[rank] = share, split.seconds / split.steps
    if not waiting:
        return []
    rank = max(waiting, key=lambda rank: waiting[rank])
    share, seconds = waiting[rank]
    line = [line for _, line in training.intervals(run, rank)][-1]
    values = {
        "share": f"{100 * share:.0f}", "rank": str(rank), "ranks": shown(sorted(waiting)),
        "waiting_ms": f"{1000 * share * seconds:.3g}", "step_ms": f"{1000 * seconds:.3g}",
        "host": run.host_of.get(rank, "?"),
    }  # fmt: skip
    evidence = training.placed(run, training.metered_evidence(run, rank, line))
    return [FactHit(evidence, values, tuple(sorted(waiting)), len(waiting))]


@fact("silent:idle-gpu")
def idle_gpu(run: RunFacts, thresholds: Mapping[str, float]) -> list[FactHit]:
    """Report a GPU in use that hardly computes, for programs that do not record how their time is split.

    `memory`: MiB from which a GPU is in use; `samples`: needed while in use; `busy`: highest mean utilisation in
    percent that is reported; `skipped`: first samples, which belong to the start.
    """
    if any(training.split(run, rank).share("data") is not None for rank in run.metrics):
        return []
    hits = []
    for host, by_index in run.gpu_rows.items():
        for index, rows in by_index.items():
            used = [busy for busy, memory in rows if memory >= thresholds["memory"]][int(thresholds["skipped"]) :]
            if len(used) >= thresholds["samples"] and fmean(used) <= thresholds["busy"]:
                values = {"busy": f"{fmean(used):.0f}", "gpu": str(index), "host": host, "samples": str(len(used))}
                hits.append(FactHit(training.telemetry_evidence(run, host), values, run.ranks_on.get(host, ())))
    return hits[:1]


def shown(ranks: list[int]) -> str:
    """Return ranks as text: `0–3, 6`; at most six parts."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    texts = [f"{first}" if first == last else f"{first}–{last}" for first, last in parts]
    return ", ".join([*texts[:6], "…"] if len(texts) > 6 else texts)
