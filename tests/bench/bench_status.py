"""`status` of 1,000 sealed runs, warm: no scheduler call, below 0.5 s.

    python tests/bench/bench_status.py

The scheduler of the runs is one whose commands do not exist, so that a call would be seen as a warning on stderr.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 1000
ROUNDS = 7


def main() -> None:
    """Make the runs, measure and print."""
    from hackathon.text.files import write_json

    with tempfile.TemporaryDirectory() as place:
        project = Path(place)
        (project / "project.yaml").write_text("name: many\ncommand: 'true'\n")
        for number in range(RUNS):
            run = (
                project
                / "runs"
                / f"20260101-{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}-many-1p-{number:08d}"
            )
            (run / "client").mkdir(parents=True)
            write_json(run / "request.json", {"name": "many", "scheduler": "slurm", "cluster": "slurm", "processes": 1})
            write_json(run / "client" / "created.json", {"t": 1.0})
            write_json(run / "client" / "submitted.json", {"t": 2.0, "job_id": str(number)})
            final = {"state": "SUCCEEDED", "job_id": str(number), "exit_code": 0, "t_ended": 3.0, "sealed": 4.0}
            write_json(run / "final.json", final)
        environment = {**os.environ, "XDG_CACHE_HOME": place, "PATH": "/nonexistent"}
        argv = [sys.executable, "-m", "hackathon", "status", "--all"]
        times, floor = [], []
        for _ in range(ROUNDS + 1):
            begin = time.perf_counter()
            answer = subprocess.run(argv, cwd=project, env=environment, capture_output=True, text=True, check=True)
            times.append(time.perf_counter() - begin)
            assert answer.stdout.count("SUCCEEDED") == RUNS and not answer.stderr, answer.stderr
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import click"], check=True)
            floor.append(time.perf_counter() - begin)
        middle = statistics.median(times[1:])
        print(
            f"status of {RUNS} sealed runs: {middle:.2f} s, {middle / statistics.median(floor):.1f} × importing click "
            f"(target below 0.5 s, no scheduler call: none was made)"
        )


if __name__ == "__main__":
    main()
