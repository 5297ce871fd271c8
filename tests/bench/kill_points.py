"""SIGKILL many times at each named point of `submit`, `scale`, `tune`, survey answers, the board and event files.

    python tests/bench/kill_points.py [--times N] [--only COMMAND]

Prints for each command and point how often it was killed, and how many jobs, trials, answers, posts and files were lost
and doubled afterwards (`tests/support/late_kills.py`). Ends with 1 unless all are zero. The tests kill once per point.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=100, help="kills at each point")
    options.add_argument("--only", action="append", help="command, for example submit")
    chosen = options.parse_args()
    from support.late_kills import PLAYS

    bad = 0
    print(f"{'command':14} {'killed at':16} {'kills':>6} {'lost':>5} {'doubled':>8}")
    for command, (play, points) in PLAYS.items():
        for point in points if command in (chosen.only or PLAYS) else ():
            with tempfile.TemporaryDirectory(prefix="hackathon-kills-") as folder:
                os.environ.update(XDG_CACHE_HOME=f"{folder}/cache", XDG_CONFIG_HOME=f"{folder}/config", HOME=folder)
                outcome = play(Path(folder), point, chosen.times)
            bad += outcome.lost + outcome.doubled
            print(f"{command:14} {point:16} {outcome.kills:6} {outcome.lost:5} {outcome.doubled:8}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
