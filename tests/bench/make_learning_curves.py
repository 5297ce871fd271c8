"""Make `tests/samples/tuning/curves.csv.gz`: real learning curves of small networks, for the tests of `tune`.

Each configuration is a network of one hidden layer, trained for 50 epochs on 800 of the digits of scikit-learn (a tenth
of their labels drawn anew, so that configurations differ in the end) and validated on the other 997 after each epoch.
Learning rate, width, batch, momentum and weight decay are drawn at random. Needs numpy and scikit-learn; minutes on one
core. Run: `python tests/bench/make_learning_curves.py`.
"""

import csv
import gzip
import io
from pathlib import Path

import numpy
from sklearn.datasets import load_digits

CONFIGURATIONS, EPOCHS, TRAINED, SEED = 180, 50, 800, 20261125
TARGET = Path(__file__).resolve().parents[1] / "samples" / "tuning" / "curves.csv.gz"
NAMES = ("lr", "width", "batch", "momentum", "decay")


def main() -> None:
    random = numpy.random.default_rng(SEED)
    digits = load_digits()
    order = random.permutation(len(digits.target))
    inputs = (digits.data[order] / 16.0 - 0.3).astype(numpy.float32)
    labels = digits.target[order].copy()
    wrong = random.random(TRAINED) < 0.1
    labels[:TRAINED][wrong] = random.integers(0, 10, int(wrong.sum()))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*NAMES, "metric", *range(1, EPOCHS + 1)])
    for number in range(CONFIGURATIONS):
        chosen = (
            float(f"{10 ** random.uniform(-3.5, 0.3):.4g}"),
            int(random.choice([8, 16, 32, 64, 128])),
            int(random.choice([8, 16, 32, 64, 128])),
            float(random.choice([0.0, 0.5, 0.9])),
            float(random.choice([0.0, 1e-4, 1e-3, 1e-2])),
        )
        found = curve(inputs, labels, *chosen, seed=SEED + number)
        for metric, values in zip(("accuracy", "loss"), zip(*found, strict=True), strict=True):
            rows.writerow([*(f"{value:g}" for value in chosen), metric, *(f"{value:.3f}" for value in values)])
        print(number, chosen, found[-1], flush=True)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(TARGET, "wb", 9, mtime=0) as stream:
        stream.write(text.getvalue().encode())
    print(TARGET, TARGET.stat().st_size, "bytes")


def curve(
    inputs: numpy.ndarray, labels: numpy.ndarray, lr: float, width: int, batch: int, momentum: float, decay: float,
    seed: int,
) -> list[tuple[float, float]]:  # fmt: skip
    """Return (accuracy, loss) on the validation data after each epoch; SGD with momentum and weight decay."""
    random = numpy.random.default_rng(seed)
    weights = [
        (random.standard_normal(shape) * (2 / shape[0]) ** 0.5).astype(numpy.float32)
        for shape in ((64, width), (width, 10))
    ]
    weights += [numpy.zeros(width, numpy.float32), numpy.zeros(10, numpy.float32)]
    speed = [numpy.zeros_like(each) for each in weights]
    ones = numpy.eye(10, dtype=numpy.float32)[labels]
    found = []
    for _ in range(EPOCHS):
        order = random.permutation(TRAINED)
        for start in range(0, TRAINED, batch):
            rows = order[start : start + batch]
            given = inputs[rows]
            hidden = numpy.maximum(given @ weights[0] + weights[2], 0)
            error = (softmax(hidden @ weights[1] + weights[3]) - ones[rows]) / len(rows)
            back = (error @ weights[1].T) * (hidden > 0)
            slopes = [given.T @ back, hidden.T @ error, back.sum(0), error.sum(0)]
            for each, moved, slope in zip(weights, speed, slopes, strict=True):
                moved *= momentum
                moved -= lr * (slope + decay * each)
                each += moved
        output = softmax(numpy.maximum(inputs[TRAINED:] @ weights[0] + weights[2], 0) @ weights[1] + weights[3])
        right = output[numpy.arange(len(output)), labels[TRAINED:]]
        loss = float(-numpy.log(numpy.maximum(right, 1e-12)).mean()) if numpy.isfinite(right).all() else 99.0
        found.append((float((output.argmax(1) == labels[TRAINED:]).mean()), min(loss, 99.0)))
    return found


def softmax(values: numpy.ndarray) -> numpy.ndarray:
    """Return the softmax of each row."""
    with numpy.errstate(all="ignore"):
        powers = numpy.exp(values - values.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)


if __name__ == "__main__":
    main()
