"""The program of a job of `hackathon speedup`: it starts the training repeatedly, each time in a fresh process.

    python hackathon_speedup.py          in a folder with hackathon_speedup.json; standard library, Python 3.7 or newer

Each start is a slot: a folder `slots/<number>` of the run with its own logs and metrics, and `slot.json`, which records
its end and its memory. A slot works in its own copy of the program, so that no file of one start helps the next.
Complete slots are not started again when the scheduler requeues the job.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PROGRAM, TASK = "hackathon_speedup.py", "hackathon_speedup.json"
OTHERS = ("hackathon_micro.py", "hackathon_ranks.py")
"""Programs of further kinds of tasks, which are beside this one and use it."""
POLL = 0.05
"""Seconds between two checks of a start."""
OBSERVED, NOISE = 90.0, 60.0
"""Seconds for the prediction by fake tensors in a program, and for the gradients after it."""
GRACE = 5.0
"""Seconds between TERM and KILL."""
TRIES = 8
"""Starts that use the prediction before the search bisects."""
MARGIN = 0.95
"""Share of the limit that the recommended batch may need."""
_DIE_WITH_PARENT = 1
children: list[subprocess.Popen[bytes]] = []


class Probe(NamedTuple):
    """The result of one start with a batch."""

    batch: int
    fits: bool
    memory: int | None
    """Peak bytes; None when unknown."""
    foretold: int | None = None
    """The largest batch predicted by this start and fake tensors; None without a prediction."""


def memory_line(probes: list[Probe]) -> tuple[int, int, float] | None:
    """Return (batch, its bytes, bytes per additional sample) from two batches that fit: memory = a + b × batch.

    They are the largest one and the next that is at least a quarter smaller, or else the smallest that is at least a
    sixteenth smaller: neighbours differ by less than a page. None with fewer than two measured batches, or if memory
    does not grow. Less memory than for a smaller batch does not count: that start ended before it was measured.
    """
    points: list[tuple[int, int]] = []
    for point in sorted({(probe.batch, probe.memory) for probe in probes if probe.fits and probe.memory}):
        if not points or point[1] >= points[-1][1]:
            points.append(point)
    if len(points) < 2:
        return None
    large, more = points[-1]
    small, less = ([point for point in points if 4 * point[0] <= 3 * large] or points[:1])[-1]
    if 16 * small > 15 * large or more <= less:
        return None
    return large, more, (more - less) / float(large - small)


def predicted(probes: list[Probe], limit: int | None) -> int | None:
    """Return the largest batch for a limit in bytes by the memory line; None when either is unknown."""
    line = memory_line(probes)
    if limit is None or line is None:
        return None
    large, more, slope = line
    return int(large + (limit - more) // slope)


def search(
    start: Callable[[int], Probe], first: int, least: int = 1, most: int | None = None, limit: int | None = None
) -> tuple[list[Probe], int | None]:
    """Return the probes in order, and the first predicted batch (None: unknown).

    Fake tensors predict it after the first start, if possible, else the first two starts that fit. `start` tries a
    batch. In the end the probes contain the largest batch that fits and the next larger one, which does not, unless
    `most` fits or `least` does not. The next batch is the predicted one, or if that fits the batches 1, 2, 4, … above
    it; else twice the largest that fits, or the middle between the largest that fits and the smallest that does not.
    """
    probes: list[Probe] = []
    fails: int | None = None
    guess: int | None = None
    fits, tries, batch, above, missed = least - 1, 0, first, 1, False
    while (fails is None or fails - fits > 1) and fits != most:
        probe = start(batch)
        probes.append(probe)
        if probe.fits:
            fits = batch
        else:
            fails = batch
        forecast = predicted(probes, limit)
        if forecast is None:
            forecast = next((probe.foretold for probe in probes if probe.foretold is not None), None)
        guess = forecast if guess is None else guess
        batch = 2 * fits if fails is None else (fits + fails) // 2
        if forecast is not None and tries < TRIES:
            tries += 1
            if forecast <= fits:  # a step above it, at most halfway to the smallest that does not fit
                batch, above = fits + above if fails is None else min(fits + above, batch), 2 * above
            elif fails is None or forecast < fails:
                batch = forecast
            elif not missed:
                batch, missed = fails - max(1, fails // 64), True  # most predictions miss by little
        batch = max(fits + 1, batch if fails is None else min(batch, fails - 1))
        batch = batch if most is None else min(batch, most)
    return probes, guess


def write_object(path: Path, value: dict[str, Any]) -> None:
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(json.dumps(value) + "\n")
    partial.replace(path)


def read_object(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _variables(slot: Path, variables: dict[str, str]) -> dict[str, str]:
    """Return the environment of a start: one process without a launcher, which writes into its slot."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC_")}
    env.update(
        HK_RUN=str(slot), HK_SOURCE=str(slot / "source"), HK_STOP=str(slot / "stop"), MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
    )  # fmt: skip
    env.update(variables)
    return env


def start_program(
    slot: Path, command: list[str], env: dict[str, str], limit: int | None, *, observed: bool = False, rank: int = 0
) -> subprocess.Popen[bytes]:
    library = ctypes.CDLL(None)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)

    def prepare() -> None:
        library.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if limit is not None:  # the observer lifts it once the memory was measured
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard if observed else limit))

    with (slot / "logs" / f"rank-{rank}.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=str(slot / "source"), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, preexec_fn=prepare,
        )  # fmt: skip


def memory_of(pid: int, virtual: bool) -> int | None:
    """Return a process's peak bytes so far: resident, or address space if that is limited."""
    name = "VmPeak:" if virtual else "VmHWM:"
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
    except (OSError, ValueError, IndexError):
        return None


def _gpu_memory(field: str) -> int | None:
    """Return bytes of this job's first GPU from nvidia-smi; None without it."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"
    argv = ["nvidia-smi", "-i", chosen, "--query-gpu=" + field, "--format=csv,noheader,nounits"]
    try:
        output = subprocess.check_output(argv, stderr=subprocess.DEVNULL, timeout=30)
        return int(output.split()[0]) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _measured(slot: Path, meter: bool) -> bool:
    """Return whether a start has recorded a first value; `meter`: with the toolkit's Meter, not in its output."""
    try:
        if (slot / "metrics" / "rank-0.jsonl").stat().st_size:
            return True
    except OSError:
        pass
    return not meter and (slot / "logs" / "rank-0.log").stat().st_size > 0


def end_start(child: subprocess.Popen[bytes]) -> None:
    """Stop a start with all its child processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except OSError:
            pass
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue
    try:
        os.killpg(child.pid, signal.SIGKILL)  # workers may outlive it
    except OSError:
        pass


def _observing(slot: Path, variables: dict[str, str], observed: dict[str, Any]) -> dict[str, str]:
    """Put the observer beside a start, and return the variables by which its Python loads it."""
    folder = slot / "observer"
    folder.mkdir()
    for name, text in observed["files"].items():
        (folder / name).write_text(text)
    path = variables.get("PYTHONPATH")
    return {"PYTHONPATH": str(folder) + (":" + path if path else ""), "HK_OBSERVE": str(observed["batch"])}


def _observe(slot: Path, child: subprocess.Popen[bytes], limit: int, memory: int) -> None:
    """Let the program predict its memory with other batches, after that of this start is measured."""
    write_object(slot / "observe", {"limit": limit, "memory": memory})
    until = time.monotonic() + OBSERVED
    while not (slot / "predicted.json").exists() and child.poll() is None and time.monotonic() < until:
        time.sleep(POLL)
    until = time.monotonic() + NOISE
    while (read_object(slot / "predicted.json") or {}).get("collecting") and child.poll() is None:
        if (slot / "noise.json").exists() or time.monotonic() >= until:
            return
        time.sleep(POLL)


def run_slot(slot: Path, task: dict[str, Any], command: list[str], more: dict[str, Any]) -> dict[str, Any]:
    """Start the program once, until it has recorded enough, and return the content of `slot.json`.

    `ended`: `itself`, `enough` after `seconds` from its first value, `silent` without one in `starting` seconds.
    """
    done = read_object(slot / "slot.json")
    if done is not None:
        return done
    shutil.rmtree(str(slot), ignore_errors=True)
    for name in ("logs", "metrics", "events"):
        (slot / name).mkdir(parents=True)
    hidden = shutil.ignore_patterns(PROGRAM, TASK, *OTHERS, "__pycache__")
    shutil.copytree(str(Path.cwd()), str(slot / "source"), symlinks=True, ignore=hidden)
    limit, gpus = task.get("limit"), bool(task.get("gpus"))
    begin = time.monotonic()
    observed = more.pop("observed", None)
    variables = _variables(slot, more.get("variables") or {})
    if observed is not None:
        variables.update(_observing(slot, variables, observed))
    child = start_program(slot, command, variables, limit, observed=observed is not None)
    children[:] = [child]
    first: float | None = None
    memory: int | None = None
    elapsed: float | None = None
    ended, looked = "itself", begin
    while child.poll() is None:
        now = time.monotonic()
        if gpus:
            if now - looked >= 1:
                looked, memory = now, max(memory or 0, _gpu_memory("memory.used") or 0) or None
        else:
            memory = max(memory or 0, memory_of(child.pid, limit is not None) or 0) or None
        metered = task.get("meter") or (slot / "metrics" / "rank-0.jsonl").exists()
        if (first is None or metered) and _measured(slot, bool(metered)):
            first = now if first is None else first
        if first is not None and now - first >= task["seconds"] * more.get("longer", 1):
            ended = "enough"
        elif first is None and now - begin >= task["starting"]:
            ended = "silent"
        ready = (slot / "observing").exists() or (ended == "enough" and (slot / "noted").exists())
        if observed is not None and memory is not None and ready:
            elapsed = now - begin
            _observe(slot, child, observed["limit"], memory)
            break
        if ended != "itself":
            end_start(child)
            break
        time.sleep(POLL)
    if observed is not None and ended == "itself":
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(OBSERVED)
    end_start(child)
    seconds = time.monotonic() - begin if elapsed is None else elapsed
    children[:] = []
    shutil.rmtree(str(slot / "source"), ignore_errors=True)
    shutil.rmtree(str(slot / "checkpoints"), ignore_errors=True)
    shutil.rmtree(str(slot / "observer"), ignore_errors=True)
    if observed is not None:
        unseen = {"batch": None, "reason": "no-step"} if ended == "enough" else None
        more["predicted"] = read_object(slot / "predicted.json") or unseen
        more["noise"] = read_object(slot / "noise.json")
    result = dict(
        more, ended=ended, exit_code=child.returncode if ended == "itself" else None, seconds=round(seconds, 3),
        memory=memory, failed=ended == "silent" or (ended == "itself" and child.returncode != 0),
    )  # fmt: skip
    write_object(slot / "slot.json", result)
    return result


def hold_to(task: dict[str, Any], done: list[float]) -> None:
    """Raise SystemExit when the job's time is nearly over: an interrupted slot would measure nothing.

    `done`: seconds of the slots so far; the next one is assumed to last as long as the longest.
    """
    deadline = os.environ.get("HK_DEADLINE", "")
    try:
        left = float(deadline) - time.time()
    except ValueError:
        return
    if left < max([task["seconds"], *done]):
        print("hackathon: the walltime is nearly over", flush=True)
        raise SystemExit(0)


def run_comparison(run: Path, task: dict[str, Any]) -> None:
    """Run all slots of a task in order."""
    done: list[float] = []
    for number, slot in enumerate(task["slots"]):
        hold_to(task, done)
        outcome = run_slot(run / "slots" / f"{number:04d}", task, task["arms"][slot["arm"]][slot["round"]], slot)
        done.append(outcome["seconds"])
        print(f"slot {number + 1} of {len(task['slots'])}: {json.dumps(outcome)}", flush=True)


def run_batches(run: Path, task: dict[str, Any]) -> None:
    """Find the largest batch that fits, confirm one with a margin, measure memory savers: `batches.json`."""
    done: list[float] = []
    limit = limit_of(task)

    def start(batch: int, kind: str = "search", command: list[str] | None = None, longer: int = 1) -> Probe:
        hold_to(task, done)
        words = [word.replace(task["mark"], str(batch)) for word in command or task["command"]]
        more = {"batch": batch, "kind": kind, "variables": task.get("variables") or {}, "longer": longer}
        if not done and task.get("observer") and limit is not None:
            more["observed"] = {"batch": batch, "limit": limit, "files": task["observer"]}
        outcome = run_slot(run / "slots" / f"{len(done):04d}", task, words, more)
        done.append(outcome["seconds"])
        print(f"batch {batch}: {json.dumps(outcome)}", flush=True)
        foretold = (outcome.get("predicted") or {}).get("batch")
        return Probe(batch, not outcome["failed"], outcome["memory"], foretold)

    probes, guess = search(start, task["first"], task["least"], task.get("most"), limit)
    largest = max((probe.batch for probe in probes if probe.fits), default=None)
    result: dict[str, Any] = {"limit": limit, "predicted": guess, "largest": largest, "recommended": None}
    if largest is not None:
        safe = predicted(probes, int(limit * MARGIN)) if limit is not None else None
        # a line with room for a batch that has just failed is based on incompletely measured memory
        wrong = safe is not None and safe >= largest and not all(probe.fits for probe in probes)
        safe = int(largest * MARGIN) if safe is None or wrong else safe
        recommended = max(task["least"], min(largest, safe))
        result["recommended"] = recommended
        result["confirmed"] = start(recommended, "confirm", longer=3).fits
        for name, saver in sorted(task.get("savers", {}).items()):
            start(max(task["least"], recommended // saver["divide"]), name, saver["command"])
    write_object(run / "slots" / "batches.json", result)


def limit_of(task: dict[str, Any]) -> int | None:
    limit = task.get("limit")
    return _gpu_memory("memory.total") if limit is None and task.get("gpus") else limit


def main(kinds: dict[str, Callable[[Path, dict[str, Any]], None]] | None = None) -> None:
    """Run the task; `kinds`: further kinds of tasks with their functions."""
    task = json.loads(Path(TASK).read_text())

    def leave(number: int, frame: Any) -> None:
        for child in children:
            end_start(child)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    run = Path(os.environ["HK_RUN"])
    (run / "slots").mkdir(exist_ok=True)
    {"comparison": run_comparison, "batches": run_batches, **(kinds or {})}[task["kind"]](run, task)


if __name__ == "__main__":
    main()
