"""Predicted and measured statistics of asynchronous SGD: the recipe with 2, 4 and 8 workers, predicted from one worker.

Gradients and updates have planted times (workers that sleep do not compete for cores), with a deviation, so that
workers lose their common start. The settings load the update thread with 8 workers by about 40 %, 80 %, 160 % and
300 %. Errors are |predicted ÷ measured − 1|; the formulas beside them. Run:
`python tests/bench/bench_async.py [GRADIENTS OF A WORKER [REPEATS]]`.
"""

import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from hackathon.prediction.asynchronous.outlook import OneWorker, predict  # noqa: E402
from hackathon.prediction.asynchronous.timings import timings_of  # noqa: E402
from support.training import Training, good  # noqa: E402

SETTINGS = ((0.12, 0.006, 0.1), (0.12, 0.012, 0.2), (0.12, 0.024, 0.1), (0.12, 0.045, 0.2))
"""Seconds of a gradient, seconds of an update, relative deviation of both."""
WORKERS = (2, 4, 8)
BATCH = 16
EPOCH = 1437 / BATCH
RESULTS = ("sweep_seconds", "batch", "staleness")


def trained(workers: int, gradients: int, setting: tuple[float, float, float], seed: int) -> dict[str, Any]:
    """Return the final numbers of a training."""
    compute, update, jitter = map(str, setting)
    epochs = max(1, round(gradients * workers / EPOCH))
    with tempfile.TemporaryDirectory() as folder:
        place = Training("async-sgd", Path(folder), sys.executable)
        planted = ("--compute-seconds", compute, "--update-seconds", update, "--jitter", jitter)
        options = ("--epochs", str(epochs), "--batch-size", str(BATCH), "--seed", str(seed))
        good(place.train(workers, *planted, *options))
        return place.final()


def main(gradients: int = 90, repeats: int = 1) -> None:
    errors: dict[str, list[float]] = {f"{how} {name}": [] for how in ("simulated", "formula") for name in RESULTS}
    print(
        "compute  update  jitter  workers | sweep: measured simulated formula | batch | staleness | times of one, "
        "of all",
        flush=True,
    )
    for setting in SETTINGS:
        for repeat in range(repeats):
            one = trained(1, gradients, setting, 11 + repeat)
            for workers in WORKERS:
                run = trained(workers, gradients, setting, 21 + repeat)
                source = OneWorker("one", timings_of({**one, "gradients": run["gradients"]}))
                (told,) = predict(source, [workers]).outlooks
                true = {
                    "sweep_seconds": run["sweep_seconds"],
                    "batch": run["mini_batch"],
                    "staleness": run["staleness"],
                }
                made = {"sweep_seconds": told.sweep_seconds, "batch": told.batch, "staleness": told.staleness.mean}
                for name in RESULTS:
                    errors[f"simulated {name}"].append(abs(made[name] / true[name] - 1))
                    errors[f"formula {name}"].append(abs(told.formula[name] / true[name] - 1))
                cells = " | ".join(f"{true[name]:7.3f} {made[name]:7.3f} {told.formula[name]:7.3f}" for name in RESULTS)
                print(
                    f"{setting[0]:7.3f} {setting[1]:7.3f} {setting[2]:7.2f} {workers:8} | {cells} | gradient "
                    f"{1e3 * one['compute_seconds']:.1f} {1e3 * run['compute_seconds']:.1f} ms, exchange "
                    f"{1e3 * one['exchange_seconds']:.1f} {1e3 * run['exchange_seconds']:.1f} ms",
                    flush=True,
                )
    for name, values in errors.items():
        print(f"{name:26} mean {100 * fmean(values):5.1f} %  worst {100 * max(values):5.1f} %  of {len(values)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
