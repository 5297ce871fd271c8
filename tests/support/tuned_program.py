"""A program with a learning curve that is known beforehand: `1 − accuracy` falls to a floor that depends on --lr.

It tells its accuracy every `--pause` seconds, `--epochs` times, and leaves a file so that a test can count starts.
"""

import argparse
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
    Path(os.environ["HK_RUN"], f"started-{os.getpid()}").touch()
    floor = 0.02 + 0.1 * abs(math.log10(chosen.lr) + 2)
    for epoch in range(1, chosen.epochs + 1):
        print(f"epoch {epoch} accuracy {1 - floor - 0.5 / epoch:.4f}", flush=True)
        time.sleep(chosen.pause * (1 if chosen.lr > HOPELESS else 6))


if __name__ == "__main__":
    main()
