"""A program with a learning curve that is known beforehand: `1 − accuracy` falls to a floor that depends on --lr.

It tells its accuracy every `--pause` seconds, `--epochs` times, and leaves a file so that a test can count starts: with
the cores, the GPUs, and the step of a Slurm job that it was given. While a file `hold` lies in the project it waits.
One that is hopeless does not come to its end: a tuner has to stop it, however busy the machine is.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path

PARAMETERS = {
    "lr": {"default": 0.01, "type": "float"}, "epochs": {"default": 20, "type": "int"},
    "pause": {"default": 0.05, "type": "float"},
}  # fmt: skip
COMMAND = "python program.py --lr {lr} --epochs {epochs} --pause {pause}"
HOPELESS = 1e-4
"""With a learning rate below this a training is bad and six times as slow: a tuner has the time to see it."""
METRICS = {"accuracy": {"pattern": "accuracy ([0-9.]+)"}}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--lr", type=float)
    options.add_argument("--epochs", type=int)
    options.add_argument("--pause", type=float)
    chosen = options.parse_args()
    given = {"cores": sorted(os.sched_getaffinity(0))}
    given |= {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "SLURMD_NODENAME", "SLURM_STEP_ID")}
    place = Path(os.environ["HK_RUN"])
    (place / ".started").write_text(json.dumps(given))
    (place / ".started").rename(place / f"started-{os.getpid()}")
    while (place.parent.parent / "hold").exists():
        time.sleep(0.05)
    floor = 0.02 + 0.1 * abs(math.log10(chosen.lr) + 2)
    for epoch in range(1, chosen.epochs + 1):
        if epoch == chosen.epochs and chosen.lr <= HOPELESS:
            time.sleep(1000)
        print(f"epoch {epoch} accuracy {1 - floor - 0.5 / epoch:.4f}", flush=True)
        time.sleep(chosen.pause * (1 if chosen.lr > HOPELESS else 6))


if __name__ == "__main__":
    main()
