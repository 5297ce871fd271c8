"""How long a diagnosis takes for logs that repeat a failure, against a healthy log of the same size in the same run.

    python tests/bench/bench_bad_logs.py [--size MB] [--rounds N] [--only KIND]

Makes logs (30 MB each) in a temporary folder: a training's output, c10d's retries, NCCL's warnings with tracebacks, and
logs of one line (progress, c10d's retries, words of NCCL's warnings). Each has a failure at its end. Each round runs
`hackathon diagnose LOG --json` on each, in changing order, and ripgrep with all shipped patterns. Prints the processor
seconds, their ratio to the healthy log of the same round (the median, the lowest and the highest), peak memory
(`ru_maxrss`), and what was found. ripgrep: `apt-get install ripgrep`.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_diagnosis import FAILURE, SEED, patterns_of_rules, write_log

HEALTHY = "healthy"
_DIAGNOSE = "import sys; from hackathon.cli.main import main; sys.argv[0] = 'hackathon'; main()"


@dataclass(frozen=True)
class Used:
    """What a program used."""

    seconds: float
    """Processor seconds."""
    megabytes: float
    """Peak memory."""


def c10d(chance: random.Random) -> str:
    """Return a retry of c10d, in one of its wordings."""
    stamp = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:{chance.randrange(60):02d}"
    label = f"[rank{chance.randrange(8)}]:" if chance.random() < 0.5 else ""
    where = chance.choice(["[n2.cluster]:29500", "[::ffff:10.0.0.2]:29500", "(n2, 29500)", "n2.cluster:3254"])
    why = chance.choice(["111 - Connection refused", "113 - No route to host", "110 - Connection timed out"])
    return (
        f"{label}[W1121 {stamp}.{chance.randrange(10**9):09d} socket.cpp:{chance.choice([663, 752])}] [c10d] "
        f"The client socket has failed to connect to {where} (errno: {why}).\n"
    )


def nccl(chance: random.Random) -> str:
    """Return a warning of NCCL and a traceback."""
    rank, line = chance.randrange(8), chance.randrange(400)
    reason = chance.choice(["Connection refused", "No route to host", "Connection timed out"])
    return (
        f"n{rank}:{4000 + rank}:{5000 + line} [{rank % 4}] misc/socket.cc:{line} NCCL WARN socketStartConnect: "
        f"Connect to 10.0.0.{rank}<{40000 + line}> failed : {reason}\n"
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "/home/z30100/train.py", line {line}, in step\n'
        f"[rank{rank}]:     dist.all_reduce(loss)\n"
        f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:{line}, "
        "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
    )


def progress(chance: random.Random) -> str:
    """Return one state of a progress bar."""
    return f"{chance.randrange(100):3d}%|####      | {chance.randrange(99999)}/99999 [00:10<00:20, 9.8it/s]"


KINDS: dict[str, tuple[Callable[[random.Random], str], bytes]] = {
    "c10d": (c10d, b"\n"),
    "nccl": (nccl, b"\n"),
    "line of progress": (progress, b" "),
    "line of c10d": (c10d, b" "),
    "line of nccl": (nccl, b" "),
}
"""Name → what the log repeats, and what is in the place of a line's end."""


def write_bad_log(path: Path, size: int, piece: Callable[[random.Random], str], end: bytes) -> None:
    """Write a log of about `size` bytes that repeats a message, with a failure at the end."""
    chance = random.Random(SEED)
    parts = ["".join(piece(chance) for _ in range(5_000)).encode().replace(b"\n", end) for _ in range(10)]
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(chance.choice(parts))
        stream.write(b"\n" + FAILURE.encode())


def run(argv: list[str], output: Path) -> Used:
    """Run a program and return what it used; its output goes to a file. Raises SystemExit when it fails."""
    with output.open("wb") as stream:
        child = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, stream.fileno(), 1)])
        _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{argv[0]} failed")
    return Used(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def found(output: Path) -> str:
    """Return the cause and the rules that were left out, of what a diagnosis printed."""
    diagnosis = json.loads(output.read_text())
    causes = [f"{entry['rule']} ({entry['count']})" for entry in diagnosis["findings"]]
    return f"{', '.join(causes)}; left out: {diagnosis['left_out'] or 'none'}"


def main() -> None:
    """Make the logs, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=30, metavar="MB", help="size of each log (default 30)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default 3)")
    parser.add_argument("--only", action="append", choices=KINDS, help="only this kind; may be repeated")
    options = parser.parse_args()
    kinds = [HEALTHY, *(options.only or KINDS)]
    with tempfile.TemporaryDirectory(prefix="bench-bad-logs-") as place:
        folder = Path(place)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        logs = {kind: folder / f"{kind.replace(' ', '-')}.log" for kind in kinds}
        for kind, log in logs.items():
            if kind == HEALTHY:
                write_log(log, options.size * 1_000_000)
            else:
                write_bad_log(log, options.size * 1_000_000, *KINDS[kind])
        patterns, output, listed = folder / "patterns", folder / "output", folder / "listed"
        patterns.write_text("\n".join(patterns_of_rules()) + "\n")
        ripgrep = shutil.which("rg")
        limits = ["--text", "--no-config", "--regex-size-limit=2G", "--dfa-size-limit=2G", "-n"]

        def diagnose(log: Path) -> Used:
            return run([sys.executable, "-c", _DIAGNOSE, "diagnose", str(log), "--json"], output)

        diagnose(logs[HEALTHY])  # warm: the compiled database
        used: dict[tuple[str, str], list[Used]] = {}
        text: dict[str, str] = {}
        for number in range(options.rounds):
            turn = number % len(kinds)
            for kind in kinds[turn:] + kinds[:turn]:
                used.setdefault((kind, "diagnose"), []).append(diagnose(logs[kind]))
                text[kind] = found(output)
                if ripgrep is not None:
                    argv = [ripgrep, *limits, "-f", str(patterns), str(logs[kind])]
                    used.setdefault((kind, "ripgrep"), []).append(run(argv, listed))
        print(f"{options.size} MB, {options.rounds} rounds, {os.cpu_count()} cores; seconds of processor")
        for (kind, program), measured in used.items():
            healthy = used[HEALTHY, program]
            ratios = [own.seconds / other.seconds for own, other in zip(measured, healthy, strict=True)]
            print(
                f"{kind:17} {program:9} {statistics.median(entry.seconds for entry in measured):7.2f} s"
                f"  {statistics.median(ratios):6.2f} × healthy ({min(ratios):.2f} … {max(ratios):.2f})"
                f"  peak {max(entry.megabytes for entry in measured):.0f} MB"
            )
        for kind, line in text.items():
            print(f"{kind}: {line}")


if __name__ == "__main__":
    main()
