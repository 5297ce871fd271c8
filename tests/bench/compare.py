"""Compare two checkouts of the toolkit: each one's own benches, in interleaved pairs, as one table.

    python tests/bench/compare.py BEFORE AFTER [--rounds N] [--only NAME] [--full]

BEFORE and AFTER are folders with the toolkit's source. Both run with this Python and its libraries. Each bench runs in
one checkout, then in the other, and so on in changing order; the table has the medians and the median of the pairs'
ratios. Sizes are small, so that a round takes some five minutes; --full takes those that the targets are for. A bench
that does not work here (no Slurm, no ripgrep) or that one checkout does not have is left out and named.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bench:
    """A script of tests/bench and the figures in what it prints."""

    script: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    figures: dict[str, str]
    """Name, with its unit → a regular expression with one group around the figure, which must be on one line."""


BENCHES = {
    "cli": Bench("bench_cli.py", (), (), {
        "--help [× import click]": r"--help / import click: ([\d.]+) ×",
        "render warm [× import click, jinja2, yaml]": r"render / import click, jinja2, yaml: ([\d.]+) ×",
        "render cold [× import click, jinja2, yaml]": r"render without a cache / same: ([\d.]+) ×",
        "--help [ms]": r"--help / .*; (\d+) ms / ",
        "render warm [ms]": r"render / .*; (\d+) ms / ",
        "render cold [ms]": r"render without .*; (\d+) ms / ",
    }),
    "submit": Bench("bench_submit.py", (), (), {
        "submit --repeat 50 [× 50 sbatch]": r"submit --repeat 50 / .*?: ([\d.]+) ×",
        "submit --repeat 50 [s]": r"submit --repeat 50 / .*; ([\d.]+) s / ",
    }),
    "status": Bench("bench_status.py", (), (), {"status of 1000 runs [s]": r"sealed runs: ([\d.]+) s"}),
    "index": Bench("bench_index.py", ("2000",), ("10000",), {
        "index cold [s of processor]": r"cold: .*\(([\d.]+) s of processor",
        "index, next start [s]": r"next start: .* fresh after ([\d.]+) s",
        "index warm, no change [ms of processor]": r"warm, no change: .*\((\d+) ms of processor",
        "index warm, a run ends [ms of processor]": r"warm, a run ends: .*\((\d+) ms of processor",
        "index cold [MiB more]": r"cold: .*; (\d+) MiB more memory",
    }),
    "dashboard": Bench(
        "bench_dashboard.py",
        ("--runs", "1000", "--viewers", "10", "--seconds", "5", "--minutes", "0.1"), (),
        {
            "dashboard, viewers a second apart, p50 [ms]": r"viewers, about a second apart: .*p50 ([\d.]+) ms",
            "dashboard without a pause, p50 [ms]": r"viewers, without a pause: .*p50 ([\d.]+) ms",
        },
    ),
    "publish": Bench("bench_publish.py", ("--teams", "20", "--runs", "40"), (), {
        "publish cold [s of processor]": r"^(?!8 teams).*runs, cold .*of processor ([\d.]+)",
        "publish warm [s of processor]": r"runs, warm .*of processor ([\d.]+)",
        "publish, one run more [s of processor]": r"one run more .*of processor ([\d.]+)",
    }),
    "diagnosis": Bench("bench_diagnosis.py", ("--size", "200", "--rounds", "2"), ("--size", "1000", "--rounds", "3"), {
        "diagnosis, Hyperscan [× ripgrep, more is better]": r"^hyperscan .* ([\d.]+) × ripgrep",
        "diagnosis, Aho-Corasick [× ripgrep, more is better]": r"^ahocorasick .* ([\d.]+) × ripgrep",
        "diagnosis, Hyperscan [MB/s, more is better]": r"^hyperscan +(\d+) MB/s",
        "diagnosis, Aho-Corasick [MB/s, more is better]": r"^ahocorasick +(\d+) MB/s",
    }),
}  # fmt: skip
"""Name for --only → what is run and read."""


def run(checkout: Path, bench: Bench, arguments: tuple[str, ...], place: str) -> tuple[dict[str, float], str]:
    """Return the figures that a checkout's bench printed, and what went wrong ("" when nothing did)."""
    script = checkout / "tests" / "bench" / bench.script
    if not script.is_file():
        return {}, f"{checkout} has no {bench.script}"
    # modules compiled to byte code, as after an installation
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": place, "HACKATHON_LANG": "en"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [sys.executable, str(script), *arguments]
    # `python -m` looks into the current folder first
    done = subprocess.run(argv, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, f"{bench.script} of {checkout}: exit code {done.returncode}\n{done.stderr.strip()[-1000:]}"
    found = {name: re.search(expression, done.stdout, re.MULTILINE) for name, expression in bench.figures.items()}
    missing = [name for name, match in found.items() if match is None]
    problem = f"{bench.script} of {checkout} does not tell: {', '.join(missing)}" if missing else ""
    return {name: float(match[1]) for name, match in found.items() if match}, problem


def show(pairs: dict[str, list[tuple[float, float]]]) -> None:
    """Print the table."""
    print(f"\n{'':52} {'before':>9} {'after':>9}   after ÷ before")
    for name, measured in pairs.items():
        before, after = (statistics.median(pair[side] for pair in measured) for side in (0, 1))
        ratios = sorted(new / old for old, new in measured if old)
        told = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} … {ratios[-1]:.2f})" if ratios else "–"
        print(f"{name:52} {before:9.2f} {after:9.2f}   {told}")


def main() -> None:
    """Measure both checkouts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="pairs of each bench (default 1)")
    parser.add_argument("--only", action="append", choices=list(BENCHES), help="only this one; may be repeated")
    parser.add_argument("--full", action="store_true", help="with the sizes that the targets are for")
    asked = parser.parse_args()
    checkouts = [asked.before.resolve(), asked.after.resolve()]
    pairs: dict[str, list[tuple[float, float]]] = {}
    problems: dict[str, None] = {}
    with tempfile.TemporaryDirectory(prefix="bench-compare-") as place:
        for number in range(asked.rounds):
            for name in asked.only or BENCHES:
                bench = BENCHES[name]
                figures: dict[int, dict[str, float]] = {}
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    print(f"round {number + 1}: {name} of {checkouts[side]}", file=sys.stderr, flush=True)
                    arguments = bench.full if asked.full else bench.quick
                    figures[side], problem = run(checkouts[side], bench, arguments, f"{place}/{side}")
                    if problem:
                        problems[problem] = None
                for figure in bench.figures:
                    if figure in figures[0] and figure in figures[1]:
                        pairs.setdefault(figure, []).append((figures[0][figure], figures[1][figure]))
    show(pairs)
    for problem in problems:
        print(f"\nleft out: {problem}")


if __name__ == "__main__":
    main()
