"""`submit --repeat 50` on a real Slurm against a bare `sbatch` loop, in interleaved rounds.

    python tests/bench/bench_submit.py          starts a Slurm of its own (root, slurm-wlm and munge installed)

TMPDIR chooses the file system that the runs are made on: `TMPDIR=/dev/shm` leaves the disk out of the comparison.

Target: ≤ 1.5 ×. Jobs are submitted held-like (they wait for a reservation of time far away), so that running jobs do
not disturb the measurement; they are cancelled after each round.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

REPEAT = 50
ROUNDS = 5
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=00:01:00\n#SBATCH --begin=now+1hour\ntrue\n"


def clear(environment: dict[str, str]) -> None:
    """Cancel everything and wait until the queue is empty."""
    subprocess.run(["scancel", "--user", str(os.getuid())], env=environment, check=False)
    while subprocess.run(["squeue", "-h"], env=environment, capture_output=True, check=True).stdout.strip():
        time.sleep(0.1)


def ours(project: Path, environment: dict[str, str]) -> float:
    """Return the seconds of one `hackathon submit --repeat 50`."""
    argv = [sys.executable, "-m", "hackathon", "submit", "--repeat", str(REPEAT)]
    begin = time.perf_counter()
    subprocess.run(argv, cwd=project, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begin


def bare(project: Path, environment: dict[str, str]) -> float:
    """Return the seconds of 50 `sbatch` commands one after another."""
    begin = time.perf_counter()
    for _ in range(REPEAT):
        subprocess.run(["sbatch", "bare.sh"], cwd=project, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print the ratio."""
    from support.slurm_lab.lab import SlurmLab

    with (
        tempfile.TemporaryDirectory() as place,
        tempfile.TemporaryDirectory(dir="/tmp") as slurm,
        SlurmLab(slurm) as lab,
    ):
        project = Path(place) / "project"
        project.mkdir()
        profiles = Path(place) / "config" / "hackathon" / "clusters"
        profiles.mkdir(parents=True)
        environment = {**os.environ, **lab.environment, "HACKATHON_LANG": "en"}
        environment |= {"XDG_CACHE_HOME": f"{place}/cache", "XDG_CONFIG_HOME": f"{place}/config"}
        # as after an installation: every module compiled to byte code, whatever this shell's environment says
        environment["PYTHONPYCACHEPREFIX"] = f"{place}/compiled"
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        (project / "bare.sh").write_text(SCRIPT)
        (project / "project.yaml").write_text("name: bench\ncommand: python3 -c pass\ncluster: bench\n")
        (profiles / "bench.yaml").write_text(
            "name: bench\nscheduler: slurm\nnode: {cores: 4}\nprocesses_per_node: 1\nstarter: srun\nlaunchers: [srun]\n"
            'walltime: 00:01:00\ndirectives: ["--begin=now+1hour"]\n'
        )
        ratios, mine, other = [], [], []
        for number in range(ROUNDS + 1):
            first, second = ours(project, environment), bare(project, environment)
            clear(environment)
            if number:  # the first round fills caches
                ratios.append(first / second)
                mine.append(first)
                other.append(second)
        print(
            f"submit --repeat {REPEAT} / {REPEAT} × sbatch: {statistics.median(ratios):.2f} × "
            f"(from {min(ratios):.2f} to {max(ratios):.2f} in {ROUNDS} rounds; {statistics.median(mine):.2f} s / "
            f"{statistics.median(other):.2f} s; target 1.5 ×)"
        )


if __name__ == "__main__":
    main()
