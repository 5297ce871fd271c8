"""What stopping early costs and how often it errs, on real learning curves (`tests/samples/tuning/curves.csv.gz`).

Each draw takes so many of the 180 configurations in random order, four at once, an epoch at a time. `epochs`: share of
the epochs of training all; `same`: draws in which the choice is as good as the best of all; `wrongly`: stopped trials
that would have become better than the best one at that time, of all stopped ones. Run:
`python tests/bench/bench_tune.py [DRAWS]`.
"""

import sys
from pathlib import Path
from statistics import fmean

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from hackathon.tuning.trials.stopping import RULES  # noqa: E402
from support.tuning_replay import draws, replay  # noqa: E402


def main(count: int = 30) -> None:
    print("metric    trials  rule     epochs  same     worst regret  wrongly")
    for metric, maximise in (("accuracy", True), ("loss", False)):
        for size in (14, 40, 60):
            for name, rule in RULES.items():
                found = [replay(rule, each, maximise=maximise) for each in draws(metric, size, count)]
                stopped, wrongly = sum(each.stopped for each in found), sum(each.wrongly for each in found)
                print(
                    f"{metric:9} {size:6}  {name:8} {fmean(each.epochs for each in found):6.3f} "
                    f"{sum(each.same for each in found):3}/{count:<4} {max(each.regret for each in found):12.4f}  "
                    f"{wrongly}/{stopped} = {100 * wrongly / max(1, stopped):.1f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
