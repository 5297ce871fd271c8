"""How fast a diagnosis reads a log, against ripgrep with the same patterns on the same file in the same run.

    python tests/bench/bench_diagnosis.py [--size MB] [--rounds N] [--engine NAME]

Makes a log (1 GB) in a temporary folder: what a training writes (progress, NCCL's messages, time stamps of loggers,
launcher's tags) with a failure at the end and some warnings before it. Each round runs, in changing order, the scan
with every engine and all shipped rules, each in a process of its own, and `rg -f` with the same patterns. Prints MB/s
and the ratio to ripgrep: the median of the rounds' ratios, and their lowest and highest. Peak memory is the scanning
process's own (`ru_maxrss`). ripgrep: `apt-get install ripgrep`.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENGINES = ("hyperscan", "ahocorasick", "re")
SEED = 20260101
FAILURE = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/z30100/digits/train.py", line 208, in <module>
[rank3]:     loss.backward()
[rank3]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 15 GiB
W0101 10:00:07.123000 4242 torch/distributed/elastic/multiprocessing/api.py] Sending process 4243 closing signal SIGTERM
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
srun: error: n2: task 3: Exited with exit code 1
"""
_CHILD = """
import json, resource, sys, time
from pathlib import Path
from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.scan import LogFile, Scanner
rules, _ = load_rules()
begun = time.perf_counter()
scanner = Scanner(rules, sys.argv[2])
ready = time.perf_counter()
hits = scanner.scan([LogFile(Path(sys.argv[1]), "log")])
ended = time.perf_counter()
print(json.dumps({
    "prepare_s": ready - begun, "scan_s": ended - ready, "engine": scanner.engine,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "found": sorted({hit.rule.id for hit in hits}),
}))
"""


def write_log(path: Path, size: int) -> None:
    """Write a log of about `size` bytes: shuffled pieces of a training's output, a failure at the end."""
    chance = random.Random(SEED)
    pieces = ["".join(_line(chance) for _ in range(20_000)).encode() for _ in range(10)]
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(chance.choice(pieces))
        stream.write(FAILURE.encode())


def _line(chance: random.Random) -> str:
    step, rank = chance.randrange(100_000), chance.randrange(8)
    stamp = f"2026-01-01 {chance.randrange(24):02d}:{chance.randrange(60):02d}:{chance.randrange(60):02d}"
    kind = chance.random()
    if kind < 0.45:
        loss, speed = chance.uniform(0.1, 9), chance.uniform(900, 1100)
        return (
            f"{stamp},{step % 1000:03d} - train - INFO - step {step} loss {loss:.4f} samples/s {speed:.1f} lr 0.0010\n"
        )
    if kind < 0.65:
        return (
            f"[1,{rank}]<stdout>:Epoch {step % 90}: {step % 100:3d}%|####      | {step}/99999 [00:10<00:20, 9.8it/s]\n"
        )
    if kind < 0.85:
        what = chance.choice(
            [
                f"Channel {step % 16:02d}/16 : {rank} -> {(rank + 1) % 8} [receive] via NET/IB/0/GDRDMA",
                "Connected all rings",
                "comm 0x5581e0 rank 0 nranks 8 cudaDev 0 busId 1b000 - Init COMPLETE",
                "NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.1<0>",
            ]
        )
        return f"n{rank}:{4000 + rank}:{5000 + rank} [{rank % 4}] NCCL INFO {what}\n"
    if kind < 0.999:
        return f"[rank{rank}]: batch {step}: forward 12.3 ms, backward 24.5 ms, all-reduce 3.{step % 10} ms\n"
    return f"/opt/lib/python3.11/site-packages/x.py:{step % 999}: UserWarning: the scheduler was stepped too early\n"


def patterns_of_rules() -> list[str]:
    """Return the shipped rules' patterns as ripgrep reads them."""
    from hackathon.config.literals import expression
    from hackathon.config.rule_files import load_rules

    rules, problems = load_rules()
    for problem in problems:
        print(f"not used: {problem}", file=sys.stderr)
    # ripgrep puts all patterns together: a group's name may stand there only once
    return [
        f"(?i:{words})" if pattern.ignore_case else words
        for rule in rules
        for pattern in rule.patterns
        for words in [re.sub(r"\(\?P<\w+>", "(?:", expression(pattern.text, pattern.regex))]
    ]


def run_scan(log: Path, engine: str) -> dict[str, object]:
    """Return what one scan in a process of its own measured."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(log), engine], capture_output=True, text=True, check=True)
    measured: dict[str, object] = json.loads(done.stdout)
    return measured


def run_ripgrep(log: Path, patterns: Path, output: Path) -> float:
    """Return the seconds that ripgrep takes to find the same patterns; its output goes to a file."""
    begun = time.perf_counter()
    with output.open("wb") as stream:
        argv = ["rg", "--text", "--no-config", "--regex-size-limit=1G", "-f", str(patterns), str(log)]
        done = subprocess.run(argv, stdout=stream, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise SystemExit(f"rg: {done.stderr.decode()}")
    return time.perf_counter() - begun


def main() -> None:
    """Make the log, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="size of the log (default 1000)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (default 5)")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this engine; may be repeated")
    asked = parser.parse_args()
    # Python's own search takes minutes for 1 GB: it is measured on a piece of the log, when it is asked for
    engines = asked.engine or ["hyperscan", "ahocorasick"]
    with tempfile.TemporaryDirectory(prefix="bench-diagnosis-") as place:
        folder = Path(place)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        log = folder / "log.txt"
        write_log(log, asked.size * 1_000_000)
        megabytes = log.stat().st_size / 1e6
        found = patterns_of_rules()
        patterns = folder / "patterns"
        patterns.write_text("\n".join(found) + "\n")
        print(f"{megabytes:.0f} MB, {len(found)} patterns, {asked.rounds} rounds, {os.cpu_count()} cores")
        ripgrep = shutil.which("rg")
        if ripgrep is None:
            print("ripgrep is missing (apt-get install ripgrep): no ratio is measured")
        for engine in engines:
            run_scan(log, engine)  # warm: the file's pages, the compiled database
        seconds: dict[str, list[float]] = {name: [] for name in (*engines, "ripgrep")}
        about: dict[str, dict[str, object]] = {}
        for number in range(asked.rounds):
            names = [*engines, *(["ripgrep"] if ripgrep else [])]
            for name in names[number % len(names) :] + names[: number % len(names)]:
                if name == "ripgrep":
                    seconds[name].append(run_ripgrep(log, patterns, folder / "found.txt"))
                else:
                    about[name] = run_scan(log, name)
                    seconds[name].append(float(str(about[name]["scan_s"])))
        for name, measured in seconds.items():
            if not measured:
                continue
            speed = [megabytes / each for each in measured]
            line = f"{name:12} {statistics.median(speed):7.0f} MB/s ({min(speed):.0f} … {max(speed):.0f})"
            if name in about:
                prepared, peak = float(str(about[name]["prepare_s"])), float(str(about[name]["peak_mb"]))
                line += f"  prepare {prepared:.2f} s  peak {peak:.0f} MB"
                if ripgrep:
                    ratios = [other / own for other, own in zip(seconds["ripgrep"], measured, strict=True)]
                    line += f"  {statistics.median(ratios):.2f} × ripgrep ({min(ratios):.2f} … {max(ratios):.2f})"
            print(line)
        for name, each in about.items():
            print(f"{name}: found {each['found']}")


if __name__ == "__main__":
    main()
