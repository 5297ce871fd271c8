"""What grows without end: 100,000 runs, 5,000 nodes, a metrics file of 10^8 lines. Prints figures, judges nothing.

    python tests/bench/bench_limits.py [--quick] [--runs N] [--nodes N] [--lines N]

`--quick`: a twentieth of the runs, a fifth of the nodes, a hundredth of the lines. Each part runs in a process of its
own, so that the memory is that of one. Targets: memory of some hundred MiB, no answer after more than a minute but the
first index.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

RUNS, NODES, LINES = 100_000, 5_000, 10**8
PROJECTS = 100


def main() -> None:
    """Measure the three and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--lines", type=int)
    given = parser.parse_args()
    quick = given.quick
    runs = RUNS // 20 if quick else RUNS
    nodes = NODES // 5 if quick else NODES
    lines = LINES // 100 if quick else LINES
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = f"{place}/cache"
        for part, size in (
            (measure_runs, given.runs if given.runs is not None else runs),
            (measure_nodes, given.nodes if given.nodes is not None else nodes),
            (measure_lines, given.lines if given.lines is not None else lines),
        ):
            if size:
                _apart(part, Path(place), size)


def _apart(part: Callable[[Path, int], None], base: Path, size: int) -> None:
    child = os.fork()
    if child == 0:
        try:
            part(base, size)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(child, 0)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Print how long a block took and how much memory the process has had at most."""
    begin, processor = time.perf_counter(), time.process_time()
    yield
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{what}: {time.perf_counter() - begin:.2f} s ({time.process_time() - processor:.2f} s of processor), "
        f"{memory:.0f} MiB at most",
        flush=True,
    )


def measure_runs(base: Path, count: int) -> None:
    """The index of many sealed runs: first, next start, one change."""
    from hackathon.index.index import Index
    from hackathon.index.projects import ProjectFolder

    folder, now = base / "runs", time.time()
    request = json.dumps({"name": "many", "scheduler": "slurm", "cluster": "slurm", "processes": 1, "nodes": 1})
    seal = {"state": "SUCCEEDED", "attempt": 1, "exit_code": 0, "t_started": now - 90, "t_ended": now - 60}
    line = json.dumps({"final": True, "samples_per_s": 1000.0}) + "\n"
    with told(f"{count} runs written"):
        for number in range(count):
            moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(now - 7 * 86400 + 5 * number))
            run = folder / f"team-{number % PROJECTS:03d}" / "runs" / f"{moment}-many-1p-{number:08d}"
            for name in ("client", "metrics"):
                (run / name).mkdir(parents=True)
            (run / "request.json").write_text(request)
            (run / "client/created.json").write_text(f'{{"t": {now - 100}}}')
            (run / "final.json").write_text(json.dumps({**seal, "job_id": str(number), "sealed": now}))
            (run / "metrics/rank-0.jsonl").write_text(line)
    projects = [ProjectFolder(folder / f"team-{number:03d}") for number in range(min(PROJECTS, count))]
    store = base / "store" / "index.sqlite3"
    with told(f"index of {count} runs, cold"):
        index = Index(projects, store, most=500)
        index.refresh()
        while index.pending:
            index.refresh()
        assert len(index.summaries) == count
    with told("  after one change"):
        new = next((folder / "team-000" / "runs").iterdir())
        (new / "final.json").write_text(json.dumps({**seal, "state": "FAILED", "sealed": now}))
        os.utime(new / "client")
        index.refresh()
        assert index.summaries
    index.close()
    del index  # the memory of the next one is its own
    with told("  next start"):
        index = Index(projects, store)
        index.refresh()
        assert len(index.summaries) == count
        index.close()
    print(f"  file of {store.stat().st_size / 2**20:.0f} MiB")


def measure_nodes(base: Path, count: int) -> None:
    """A queue of `count` jobs of `count` nodes each, and one run with a rank on each of so many nodes."""
    from hackathon.diagnosis.examine import diagnose_run
    from hackathon.index.catalog import Catalog
    from hackathon.index.projects import ProjectFolder
    from hackathon.index.reader import summarise
    from hackathon.runs.directory import RunDirectory
    from hackathon.runs.status import status
    from hackathon.schedulers import registry
    from hackathon.schedulers.base import CommandOutput
    from hackathon.schedulers.slurm.parse import hosts
    from hackathon.web.routing.registry import values_of
    from support.samples.runs import one_run

    slurm = registry.load("slurm")
    names = [f"node{number:05d}" for number in range(count)]
    short = f"node[{names[0][4:]}-{names[-1][4:]}]"
    with told(f"Slurm: one list of {count} nodes, short and long"):
        assert len(hosts(short)) == len(hosts(",".join(names))) == count
    ids = [str(number) for number in range(count)]
    lines = [
        "\x1f".join([each, "RUNNING", "None", short, "1795262635", "1795262637", "1795262634", "me", "hk-a"]) + "\x1e\n"
        for each in ids
    ]
    answers = [CommandOutput(("squeue",), 0, "".join(lines), ""), CommandOutput(("sacct",), 0, "", "")]
    some = max(1, count // 50)
    with told(f"Slurm: an answer about {some} jobs of {count} nodes each"):
        answer = slurm.parse_status([CommandOutput(("squeue",), 0, "".join(lines[:some]), ""), answers[1]], ids[:some])
        assert len(answer.jobs[ids[0]].hosts) == count
    del answer
    one = [line.replace(short, names[0]) for line in lines]
    with told(f"Slurm: an answer about {count} jobs of one node each"):
        answer = slurm.parse_status([CommandOutput(("squeue",), 0, "".join(one), ""), answers[1]], ids)
        assert len(answer.jobs) == count
    folder = one_run(base / "wide", "FAILED", 1)
    (folder / "final.json").unlink()
    for rank, host in enumerate(names):
        start = {"t": 1_772_326_900.0, "event": "started", "attempt": 1, "host": host}
        end = {**start, "t": start["t"] + 60, "event": "ended", "exit_code": 1 if rank == 7 else 0, "signal": None}
        (folder / f"events/rank-{rank}.jsonl").write_text(f"{json.dumps(start)}\n{json.dumps(end)}\n")
        (folder / f"logs/rank-{rank}.log").write_text(f"[rank {rank}] epoch 1 loss 0.5\n" * 20)
        (folder / f"telemetry/{host}.csv").write_text(
            "t,kind,index,utilisation_percent,memory_mib,power_w\n1772326900,gpu,0,87,12000,180\n"
        )
    run = RunDirectory(folder)
    with told(f"status of a run on {count} nodes"):
        (state,) = status([run], ask=False)
    with told("  its diagnosis"):
        diagnose_run(run, state)
    with told("  its summary for the index"):
        summary = summarise(ProjectFolder(base / "wide"), run, state)
    with told("  its page"):
        key = f"{summary.project}//{summary.id}"
        source = Catalog(summaries=(summary,), projects=[ProjectFolder(base / "wide")], now=time.time())
        values_of("run", key, source)


def measure_lines(base: Path, count: int) -> None:
    """The numbers of a run whose Meter wrote very many lines."""
    from hackathon.logs.final import final_numbers
    from hackathon.logs.metrics import METER
    from hackathon.runs.directory import RunDirectory
    from support.samples.runs import one_run

    folder = one_run(base / "long", "SUCCEEDED", 1)
    path = folder / "metrics/rank-0.jsonl"
    block = "".join(
        json.dumps({"t": 1.0, "step": step, "samples_per_s": 990.0 + step % 20, "loss": 0.5}) + "\n"
        for step in range(10_000)
    )
    with path.open("w") as stream:
        for _ in range(max(1, count // 10_000)):
            stream.write(block)
        stream.write(json.dumps({"final": True, "samples_per_s": 1000.0}) + "\n")
    size = path.stat().st_size
    run = RunDirectory(folder)
    with told(f"numbers of {count:.0e} lines of metrics ({size / 2**20:.0f} MiB, of which {METER >> 20} MiB count)"):
        found = final_numbers(run.path, run.record(), over=True)
    assert found.values["samples_per_s"] == 1000.0, found
    path.unlink()


if __name__ == "__main__":
    main()
