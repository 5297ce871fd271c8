"""How long the command line takes, as ratios to what it can not do without.

    python tests/bench/bench_cli.py

Interleaved pairs, median of the pairwise ratios. Targets: `--help` ≤ 2.5 × importing click; `render` of a 2-node job ≤
2 × importing click, jinja2 and yaml (configuration already checked once, as in daily use).
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

PAIRS = 15
RENDER = ["render", "torch-ddp", "--cluster", "reedbush-h", "--queue", "h-debug", "--nodes", "2", "--group", "pz0425"]


def seconds(argv: list[str], environment: dict[str, str]) -> float:
    """Return the wall time of one process."""
    begin = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - begin


def compare(title: str, ours: list[str], theirs: list[str], environment: dict[str, str], target: float) -> None:
    """Print the median ratio of interleaved pairs, with its quartiles."""
    seconds(ours, environment), seconds(theirs, environment)
    pairs = [(seconds(ours, environment), seconds(theirs, environment)) for _ in range(PAIRS)]
    ratios = sorted(mine / other for mine, other in pairs)
    low, middle, high = ratios[PAIRS // 4], statistics.median(ratios), ratios[-1 - PAIRS // 4]
    mine = statistics.median(pair[0] for pair in pairs) * 1000
    other = statistics.median(pair[1] for pair in pairs) * 1000
    print(
        f"{title}: {middle:.2f} × (quartiles {low:.2f}–{high:.2f}; {mine:.0f} ms / {other:.0f} ms; target {target} ×)"
    )


def main() -> None:
    """Run the comparisons with caches of their own."""
    with tempfile.TemporaryDirectory() as home:
        # as after an installation: every module compiled to byte code, whatever this shell's environment says
        environment = {**os.environ, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home, "PYTHONPYCACHEPREFIX": home}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        tool = [sys.executable, "-m", "hackathon"]
        python = [sys.executable, "-c"]
        compare("--help / import click", [*tool, "--help"], [*python, "import click"], environment, 2.5)
        base = [*python, "import click, jinja2, yaml"]
        compare("render / import click, jinja2, yaml", [*tool, *RENDER], base, environment, 2.0)
        cold = {**environment, "XDG_CACHE_HOME": "/proc/self/nowhere"}
        compare("render without a cache / same", [*tool, *RENDER], base, cold, 2.0)


if __name__ == "__main__":
    main()
