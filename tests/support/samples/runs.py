"""Invented run directories that look like real ones: a study of torch-ddp on a PBS machine, with failures in it."""

import json
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hackathon.logs.final import metric_unit
from hackathon.runs.record import RecordedCheck
from hackathon.scaling.collect import run_result
from hackathon.scaling.table import results

START = 1_772_326_800.0
"""2026-03-01 10:00 in Japan."""
JAPAN = 9 * 3600
USER, HOSTS = "tanaka07", ("a017.example.jp", "a018.example.jp", "a019.example.jp", "a020.example.jp")
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
CHECK = {"metric": "accuracy", "at_least": 0.97, "at_most": None}


@dataclass(frozen=True)
class Sample:
    """One run to write: its size, what it measured, and how it ended."""

    processes: int
    throughput: float | None
    state: str = "SUCCEEDED"
    reason: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    exit_code: int = 0
    accuracy: float = 0.978


DEFAULT = (
    *(Sample(1, value) for value in (1204.1, 1198.7, 1210.3)),
    *(Sample(2, value) for value in (2339.0, 2351.8, 2310.4)),
    *(Sample(4, value) for value in (4460.2, 4511.9, 4398.0)),
    Sample(8, 8270.5),
    Sample(8, 8391.2, note="second try on the quiet queue", tags=("night",)),
    Sample(8, None, "FAILED", "rank 5 ended with exit code 1: CUDA error: out of memory", exit_code=1),
    *(Sample(16, value) for value in (13310.0, 13480.6)),
    Sample(32, None, "TIMEOUT", "walltime 00:15:00 exceeded", note="試しに 32 プロセス", exit_code=143),
)


@dataclass(frozen=True)
class Study:
    """A study that was written."""

    project: Path
    id: str
    results: dict[str, Any]
    """The results' JSON."""


def write_run(
    runs: Path, sample: Sample, number: int = 0, *, name: str = "torch-ddp", study: str = "", team: str = "aurora",
    start: float = START,
) -> Path:  # fmt: skip
    """Write one run directory as the toolkit and its job would have, and return it."""
    random = "".join(LETTERS[(number * 7 + sample.processes * 3 + i * 11) % 32] for i in range(8))
    begin = start + 240 * number
    stamp = time.strftime("%Y%m%d-%H%M", time.gmtime(begin + JAPAN))
    run = runs / f"{stamp}00-{name}-{sample.processes}p-{random}"
    nodes = max(1, sample.processes // 2)
    for folder in ("client", "events", "logs", "metrics", "env", "claim", "source", "telemetry"):
        (run / folder).mkdir(parents=True)
    _write(run / "request.json", {**_request(sample, nodes, name, study, number), "team": team})
    _write(
        run / "client/created.json",
        {"t": begin, "user": USER, "host": "login02.example.jp", "toolkit_version": "0.1.0"},
    )
    job_id = f"{482310 + number}.pbs-admin.example.jp"
    _write(
        run / "client/submitted.json", {"t": begin + 2, "job_id": job_id, "cluster": "reedbush-h", "scheduler": "pbs"}
    )
    (run / "claim/job_id").write_text(f"{job_id}\n")
    (run / "job.sh").write_text(_script(sample, nodes))
    (run / "rank.sh").write_text('#!/bin/bash\nexec "${HK_COMMAND[@]}"\n')
    commit = "4f1c2a9d0be37f5566c1a2b3c4d5e6f708192a3b"
    source = {"digest": "9c1d" * 16, "folder": f"/lustre/pz0425/{USER}/digits", "files": {"train.py": "00" * 32}}
    _write(run / "source.json", {**source, "git": {"commit": commit, "branch": "main", "dirty": number % 2 == 1}})
    head = {"attempt": 1, "host": HOSTS[0]}
    events: list[dict[str, Any]] = [{"t": begin + 60, "event": "started", **head, "job_id": job_id}]
    if sample.state == "TIMEOUT":
        text = "walltime ends in 60 s: the stop file is there"
        events.append({"t": begin + 900, "event": "warned", **head, "about": "stop", "text": text})
    events.append({"t": begin + 200, "event": "ended", **head, "exit_code": sample.exit_code, "signal": None})
    _lines(run / "events/job.jsonl", events)
    for rank in range(min(sample.processes, 4)):
        host = HOSTS[rank // 2 % len(HOSTS)]
        _lines(run / f"events/rank-{rank}.jsonl", [{"t": begin + 61, "event": "started", "attempt": 1, "host": host}])
        (run / f"logs/rank-{rank}.log").write_text(f"rank {rank} of {sample.processes} on {host}\n")
        _write(run / f"env/{host}.json", _environment(host))
    (run / "logs/job.log").write_text(f"hackathon: job {job_id}, attempt 1, on {HOSTS[0]}\n")
    if sample.throughput is not None:
        _lines(run / "metrics/rank-0.jsonl", _metrics(sample, begin))
    state = {"state": sample.state, "reason": sample.reason, "t_started": begin + 60, "t_ended": begin + 200}
    _write(run / "final.json", {**state, "exit_code": sample.exit_code})
    return run


def write_study(
    folder: Path, samples: Sequence[Sample] = DEFAULT, *, name: str = "torch-ddp", title: str = "",
    team: str = "aurora", start: float = START,
) -> Study:  # fmt: skip
    """Write a study with its runs below `folder` and return it."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(start - 60 + JAPAN))
    identifier = f"{stamp}-{title or name}-kq3v7xya"
    runs = [
        write_run(folder / "runs", sample, number, name=name, study=identifier, team=team, start=start)
        for number, sample in enumerate(samples)
    ]
    study = {
        "schema_version": 1, "id": identifier, "name": title or name, "created": start, "mode": "weak",
        "metric": "samples_per_s", "unit": "samples/s",
        "points": [{"processes": sample.processes, "repeat": number} for number, sample in enumerate(samples)],
        "base_request": {**_request(samples[0], 1, name, identifier, 0), "team": team}, "options": {"repeat": 3},
    }  # fmt: skip
    (folder / "studies" / identifier / "points").mkdir(parents=True)
    for number, (sample, run) in enumerate(zip(samples, runs, strict=True)):
        (folder / "studies" / identifier / "points" / f"{sample.processes}-{number}").write_text(f"{run.name}\n{{}}\n")
    _write(folder / "studies" / identifier / "study.json", study)
    return Study(folder, identifier, study_results(identifier, runs))


def study_results(identifier: str, runs: Sequence[Path]) -> dict[str, Any]:
    """Return the results of run directories by their `final.json`."""
    found = []
    unit = ""
    for run in runs:
        final = json.loads((run / "final.json").read_text())
        unit = metric_unit(json.loads((run / "request.json").read_text())["metrics"], "samples_per_s")
        found.append(run_result(run, status=final["state"], reason=final["reason"]))
    return results(identifier, "weak", "samples_per_s", unit, found, check=RecordedCheck.from_json(CHECK))


def _request(sample: Sample, nodes: int, name: str, study: str, number: int) -> dict[str, Any]:
    return {
        "schema_version": 1, "name": name, "recipe": "torch-ddp", "framework": "torch", "cluster": "reedbush-h",
        "scheduler": "pbs", "queue": "h-debug", "group": "pz0425", "reservation": None, "nodes": nodes,
        "processes": sample.processes, "processes_per_node": 2, "threads": 18, "gpus_per_node": 2, "walltime": 900,
        "launcher": "torchrun", "starter": "mpirun", "mpi": "openmpi",
        "command": ["python", "train.py", "--batch-size", "64", "--lr", str(0.1 * sample.processes)],
        "parameters": {"batch_size": 64, "lr": round(0.1 * sample.processes, 3)},
        "environment": [". /etc/profile.d/modules.sh", "module load cuda9/9.1.85 openmpi/gdr/2.1.2/gnu"],
        "variables": {"HOME": "/lustre/$GROUP/$USER"}, "metric": "samples_per_s",
        "metrics": {"samples_per_s": {"pattern": None, "unit": "samples/s"}}, "check": CHECK, "mode": "weak",
        "source": f"/lustre/pz0425/{USER}/digits", "team": "aurora",
        "origins": {"nodes": "cluster reedbush-h", "processes": "command line", "queue": "project.yaml",
                    "walltime": "project.yaml", "parameters.batch_size": "project.yaml",
                    "parameters.lr": "recipe: scaling.weak", "threads": "cluster reedbush-h"},
        "toolkit_version": "0.1.0", "note": sample.note, "tags": list(sample.tags), "parent": None,
        "study": {"id": study, "processes": sample.processes, "repeat": number},
    }  # fmt: skip


def _metrics(sample: Sample, begin: float) -> Iterator[dict[str, Any]]:
    speed, batch = sample.throughput or 0.0, 640 * sample.processes  # weak scaling
    for i in range(8):
        warm = {"warmup": True} if i < 2 else {}
        value = speed * (0.4 if i < 2 else 1 + 0.01 * (i % 3 - 1))
        step = {
            "t": begin + 70 + i,
            "attempt": 1,
            "step": 10 * i,
            "epoch": i,
            "samples": batch,
            "seconds": batch / value,
        }
        yield {**step, "samples_per_s": value, "loss": 2.3 / (i + 1), **warm}
    final = {"samples_per_s": speed, "accuracy": sample.accuracy, "loss": 0.08, "gradient_check": 0.0}
    yield {"t": begin + 90, "attempt": 1, "final": True, **final}


def _environment(host: str) -> dict[str, Any]:
    return {
        "host": host, "kernel": f"Linux {host} 3.10.0-693.el7.x86_64 x86_64", "cores": 36,
        "python": "3.6.4 |Anaconda, Inc.|", "executable": f"/lustre/pz0425/{USER}/venv/bin/python",
        "packages": {"torch": "1.10.2", "numpy": "1.19.5", "pip": "21.3"},
        "modules": ["cuda9/9.1.85", "openmpi/gdr/2.1.2/gnu"],
        "mpi": "mpirun (Open MPI) 2.1.2", "gpus": ["Tesla P100-SXM2-16GB, 390.46, 16280 MiB"] * 2,
        "interfaces": ["eth0", "ib0", "ib1", "mlx5_0"],
    }  # fmt: skip


def _script(sample: Sample, nodes: int) -> str:
    return f"""#!/bin/bash
#PBS -q h-debug
#PBS -l select={nodes}:mpiprocs=2:ompthreads=18
#PBS -l walltime=00:15:00
#PBS -W group_list=pz0425

HK_NODES={nodes}
HK_PROCESSES={sample.processes}
HK_COMMAND=(python train.py --batch-size 64 --lr {0.1 * sample.processes:g})
cd "${{PBS_O_WORKDIR:-/lustre/pz0425/{USER}/digits}}" || exit 78
echo "job on {HOSTS[0]}"
"""


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _lines(path: Path, values: Sequence[Mapping[str, Any]] | Iterator[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def one_run(project: Path, state: str = "SUCCEEDED", number: int = 0) -> Path:
    """Write one run as the toolkit does, with a seal when it has ended."""
    run = write_run(project / "runs", Sample(4, 1000.0, "SUCCEEDED" if state == "RUNNING" else state), number)
    events = run / "events" / "job.jsonl"
    if state == "RUNNING":
        (run / "final.json").unlink()
        lines = [line for line in events.read_text().splitlines() if json.loads(line)["event"] != "ended"]
        events.write_text("".join(f"{line}\n" for line in lines))
        metrics = run / "metrics" / "rank-0.jsonl"
        kept = [line for line in metrics.read_text().splitlines() if not json.loads(line).get("final")]
        metrics.write_text("".join(f"{line}\n" for line in kept))
    return run


def tree(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return every file and folder below with its times, mode and bytes."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        info = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        found[str(path)] = (info.st_mtime_ns, info.st_ctime_ns, info.st_mode, info.st_size, content)
    return found
