"""What it takes to count 10,000 runs: first, again, and before every submission, as ratios to reading their files.

    python tests/bench/bench_usage.py [RUNS]

Half of a team's runs are sealed, half ended without anybody's notice (failed, so that only a scheduler could say why).
Reading: `request.json`, `final.json` or `events/job.jsonl` of every run, parsed as JSON, in the same process.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROUNDS = 5
TEAMS = 8


def make(folder: Path, count: int) -> None:
    """Write an event of TEAMS teams with `count` runs, most of them of the first team's only project."""
    teams = [{"name": f"team-{number}"} for number in range(TEAMS)]
    value = {"title": "bench", "teams": teams, "clusters": {"lab": {"budget": {"node_hours": 1e9, "gpu_hours": 1e9}}}}
    (folder / "hackathon.yaml").write_text(json.dumps(value))
    clusters = folder / "templates" / "clusters"
    clusters.mkdir(parents=True)
    (clusters / "lab.yaml").write_text("name: lab\nscheduler: local\nnode: {cores: 4, gpus: 2}\n")
    now = time.time()
    for number in range(count):
        project = folder / f"team-{number % TEAMS if number % 2 else 0}" / "project"
        letters = f"{number:08d}".translate(str.maketrans("0123456789", "abcdefghij"))
        run = project / "runs" / f"20260101-000000-bench-4p-{letters}"
        run.mkdir(parents=True)
        record = {"schema_version": 1, "nodes": 2, "gpus_per_node": 2, "processes_per_node": 2, "walltime": 600,
                  "cluster": "lab", "scheduler": "local", "name": "bench", "parameters": {"lr": 0.1},
                  "environment": ["module load x"] * 5, "launcher": "srun",
                  "origins": {f"name{each}": "project" for each in range(30)}}  # fmt: skip
        (run / "request.json").write_text(json.dumps(record))
        start = now - 3 * 86400 + number * 20
        if number % 2:
            final = {"state": "SUCCEEDED", "job_id": str(number), "attempt": 1, "t_created": start - 9,
                     "t_submitted": start - 8, "t_started": start, "t_ended": start + 300,
                     "hosts": ["n1", "n2"]}  # fmt: skip
            (run / "final.json").write_text(json.dumps(final))
            continue
        for part in ("client", "events", "claim"):
            (run / part).mkdir()
        for fact in ("created", "submitting", "submitted"):
            (run / "client" / f"{fact}.json").write_text(json.dumps({"t": start - 9, "job_id": str(number)}))
        (run / "claim" / "job_id").write_text(str(number))
        events = [{"event": "started", "attempt": 1, "t": start}, {"event": "ended", "attempt": 1, "t": start + 300,
                  "exit_code": 1, "signal": None}]  # fmt: skip
        (run / "events" / "job.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def reading(folder: Path) -> None:
    """Read and parse what a run's use stands in, nothing else."""
    for run in folder.glob("*/project/runs/*"):
        json.loads((run / "request.json").read_bytes())
        final = run / "final.json"
        if final.exists():
            json.loads(final.read_bytes())
        else:
            for line in (run / "events" / "job.jsonl").read_bytes().splitlines():
                json.loads(line)


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def main() -> None:
    """Measure in interleaved rounds and print ratios."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = f"{place}/cache"
        (Path(place) / "run").mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = f"{place}/run"
        folder = Path(place) / "event"
        folder.mkdir()
        make(folder, count)
        from hackathon.config.load import load_event
        from hackathon.jobs.request import Request
        from hackathon.schedulers.registry import load_cluster
        from hackathon.usage.budget import standing
        from hackathon.usage.usage import usage

        event, cluster = load_event(folder), load_cluster("lab", [folder])
        project = folder / "team-0" / "project"
        names = ("name", "recipe", "framework", "queue", "group", "reservation", "launcher", "starter", "mpi")
        asked = Request(
            **dict.fromkeys(names, ""), cluster="lab", scheduler="local", nodes=2, processes=4, processes_per_node=2,
            threads=1, gpus_per_node=2, walltime=600, command=(),
        )  # fmt: skip
        rows: dict[str, list[float]] = {"first": [], "again": [], "submission": []}
        base: list[float] = []
        reading(folder)  # fills the kernel's cache
        for _ in range(ROUNDS):
            base.append(seconds(lambda: reading(folder)))
            for path in (*(Path(place) / "cache").rglob("*.json"), *(Path(place) / "run").rglob("*.sqlite3")):
                path.unlink()
            rows["first"].append(seconds(lambda: usage(event, folder)))
            rows["again"].append(seconds(lambda: usage(event, folder)))
            rows["submission"].append(seconds(lambda: standing(event, folder, [asked], cluster, project)))
        team = len(list((project / "runs").iterdir()))
        print(f"{count} runs, {team} of them of the team that submits; reading: {statistics.median(base):.2f} s")
        for name, found in rows.items():
            ratios = [each / other for each, other in zip(found, base, strict=True)]
            print(
                f"{name:<11} {statistics.median(found) * 1000:8.1f} ms = {statistics.median(ratios):.2f} × reading "
                f"(from {min(ratios):.2f} to {max(ratios):.2f} in {ROUNDS} rounds)"
            )


if __name__ == "__main__":
    main()
