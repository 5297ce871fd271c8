"""Output formats of frameworks are read as they are printed: recorded lines, launchers' prefixes, whatever bytes."""

import json
import math
import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hackathon.config.check import WELL_KNOWN_METRICS
from hackathon.logs import formats
from hackathon.logs.formats import FORMATS, UNITS, Speaker, expected
from hackathon.logs.metrics import read_metrics
from hackathon.scaling.table import RunResult, results

# recorded from the scripts in tests/recipes/own_code (Keras 2 and 3: TensorFlow 2.21), shortened
KERAS_2 = (
    "Epoch 1/2\n"
    "\r 1/93 [..............................] - ETA: 1:01 - loss: 2.3496 - accuracy: 0.0625"
    + "\b"
    * 80
    + "\r93/93 [==============================] - 1s 8ms/step - loss: 1.2603 - accuracy: 0.7530 - val_loss: 0.9\n"
    "Epoch 2/2\n"
    "93/93 [==============================] - 0s 4ms/step - loss: 0.2603 - accuracy: 0.9530 - val_loss: 0.4480\n"
)
KERAS_3 = (
    "Epoch 1/2\n\x1b[1m93/93\x1b[0m \x1b[32m━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m2s\x1b[0m 9ms/step"
    " - accuracy: 0.3 - loss: 2\n"
    "Epoch 2/2\n\n\x1b[1m 1/93\x1b[0m \x1b[37m━━━━\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - accuracy: 0.9 - loss: 0.2070"
    "\n\x1b[1m53/93\x1b[0m \x1b[32m━━━\x1b[0m\x1b[37m━\x1b[0m \x1b[1m0s\x1b[0m 800us/step - accuracy: 0.9 - loss: 0.26"
    "\n\x1b[1m93/93\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 3ms/step"
    " - accuracy: 0.955 - loss: 2.4e-01 - val_loss: 0.43\n"
    "\x1b[1m5/5\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 1ms/step - accuracy: 0.5 - loss: 7\n"
)
TQDM = (
    "\rSanity Checking DataLoader 0: 100%|███| 2/2 [00:00<00:00, 999.00it/s]"
    "\rEpoch 0:   0%|          | 0/94 [00:00<?, ?it/s]"
    "\rEpoch 0:  99%|█| 93/94 [00:01<00:00, 40.00it/s, v_num=1, train_loss=0.9]"
    "\rEpoch 0: 100%|██████████| 94/94 [00:01<00:00, 20.00it/s, v_num=1, train_loss=0.741]"
    "\rEpoch 1:  99%|█████████▉| 93/94 [00:01<00:00, 80.51it/s, v_num=1, train_loss=0.568]"
    "\rEpoch 1: 100%|██████████| 94/94 [00:01<00:00, 80.31it/s, v_num=1, train_loss=0.568]"
    "\rEpoch 1: 100%|██████████| 94/94 [00:02<00:00, 40.26it/s, v_num=1, train_loss=0.541]\n"
    "\rTesting DataLoader 0: 100%|██████████| 5/5 [00:00<00:00, 99.07it/s]\n"
)
RICH = (
    "Epoch 5/5  ━━━━━━━━━━━━━━━━ 94/94 0:00:00 • 0:00:00 106.78it/s v_num: 0.000     \n"
    "                                                               train_loss: 0.071\n"
)
TABLE = (
    "┏━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┓\n┃  Test metric ┃ DataLoader 0┃\n┡━━━━━━━━━━━━━━╇━━━━━━━━━━━━━┩\n"
    "│  test_acc    │  0.90572392 │\n│  test_loss   │  0.59855759 │\n└──────────────┴─────────────┘\n"
)
PLAIN_TABLE = (
    f"{'─' * 60}\n       Test metric             DataLoader 0\n{'─' * 60}\n"
    f"        test_acc            0.9528619647026062\n        test_loss           0.191507026553154\n{'─' * 60}\n"
)
TRAINER = (
    "  0%|          | 0/564 [00:00<?, ?it/s]\r                    \r{'loss': '1.799', 'grad_norm': '1.5', "
    "'learning_rate': '9.6e-03', 'epoch': '0.2128'}\n"
    "{'loss': 0.03454, 'grad_norm': nan, 'learning_rate': 8.865e-05, 'epoch': 5.957}\n"
    "{'eval_loss': '0.3337', 'eval_accuracy': '0.9192', 'eval_samples_per_second': '8553', 'epoch': '6'}\n"
    "{'train_runtime': '1.343', 'train_samples_per_second': '6703', 'train_steps_per_second': '420', "
    "'train_loss': '0.1794', 'epoch': '6'}\n"
)
CHAINER = (
    "epoch       main/loss   validation/main/loss  elapsed_time  iteration \n"
    "\x1b[J1           0.820989                          4.67561       47  \n"
    "\x1b[J     total [####......] 33.33%\nthis epoch [##........] 16.00%\n       160 iter, 3 epoch / 4 epochs\n"
    "\x1b[4A\x1b[J2           0.0769379   0.331253              14.67561      147       \n"
)
HOROVOD = (
    "Model: resnet50\nBatch size: 32\nNumber of GPUs: 4\nRunning warmup...\nRunning benchmark...\n"
    "Iter #0: 100.0 img/sec per GPU\nIter #1: 123.4 img/sec per GPU\nIter #2: 125.0 img/sec per GPU\n"
)
TITAN = (
    "[rank0]:[titan] 2026-11-21 15:34:38,447 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.2  \x1b[34mtps: 100  "
    "\x1b[36mtflops: 0.10  \x1b[35mmfu: 0.01%\x1b[39m\n"
    "[rank0]:[titan] 2026-11-21 15:34:38,447 - root - INFO - \x1b[31mstep: 60  \x1b[32mloss:  1.5434  "
    "\x1b[38;2;180;60;0mgrad_norm:  0.2033  \x1b[38;2;54;234;195mmemory:  1.20GiB(1.50%)  \x1b[34mtps: 12,999  "
    "\x1b[36mtflops: 1.50  \x1b[35mmfu: 40.16%\x1b[39m\n"
    "[rank0]:[titan] x - root - INFO - \x1b[33mvalidate step: 60  \x1b[32mloss:  1.75  \x1b[38mmemory: 1.0GiB(1%)"
    "  tps: 5\n"
)


def _mllog(key: str, value: object = None, time_ms: int = 0, kind: str = "POINT_IN_TIME", **metadata: object) -> str:
    entry = {"namespace": "", "time_ms": time_ms, "event_type": kind, "key": key, "value": value, "metadata": metadata}
    return f":::MLLOG {json.dumps(entry)}"


MLLOG = "\n".join(
    [
        _mllog("global_batch_size", 32), _mllog("train_samples", 1500), _mllog("eval_samples", 297),
        _mllog("opt_loss_scale", 128), _mllog("run_start", None, 1000), _mllog("epoch_start", None, 1000),
        _mllog("epoch_stop", None, 2500), _mllog("train_loss", 0.7), _mllog("eval_accuracy", 0.5, 2600),
        _mllog("tracked_stats", {"throughput": 12.5, "text": "x"}), _mllog("epoch_start", None, 2700),
        _mllog("epoch_stop", None, 5700, epoch_count=2), _mllog("eval_accuracy", 0.93, 5900),
        _mllog("run_stop", None, 6000, status="success"), "",
    ]
)  # fmt: skip

RECORDED = {
    "keras 2": (KERAS_2, {"steps_per_s": 250.0, "loss": 0.2603, "accuracy": 0.953, "val_loss": 0.448}),
    "keras 3": (KERAS_3, {"steps_per_s": 1250.0, "loss": 0.24, "accuracy": 0.955, "val_loss": 0.43, "test_loss": 7.0,
                          "test_accuracy": 0.5}),
    "keras verbose 2": ("Epoch 1/1\n2000/2000 - 20s - loss: 0.5 - 20s/epoch - 12ms/step\n",
                        {"steps_per_s": 100.0, "loss": 0.5}),
    "lightning tqdm": (TQDM + PLAIN_TABLE, {"steps_per_s": 80.51, "train_loss": 0.541, "test_acc": 0.9528619647026062,
                                            "test_loss": 0.191507026553154}),
    "lightning rich": (RICH + TABLE, {"steps_per_s": 106.78, "train_loss": 0.071, "test_acc": 0.90572392,
                                      "test_loss": 0.59855759}),
    "transformers": (TRAINER, {"loss": 0.03454, "grad_norm": math.nan, "learning_rate": 8.865e-05, "eval_loss": 0.3337,
                               "eval_accuracy": 0.9192, "eval_samples_per_second": 8553.0, "train_runtime": 1.343,
                               "samples_per_s": 6703.0, "steps_per_s": 420.0, "train_loss": 0.1794}),
    "chainer": (CHAINER, {"loss": 0.0769379, "val_loss": 0.331253, "steps_per_s": 10.0}),
    "horovod running": (HOROVOD, {"samples_per_s": 2 * 123.4}),
    "horovod": (HOROVOD + "Img/sec per GPU: 116.1 +-22.2\nTotal img/sec on 4 GPU(s): 464.5 +-88.9\n",
                {"samples_per_s": 464.5}),
    "horovod mnist": ("Train Epoch: 4 [640/1500 (85%)]\tLoss: 0.398431\n"
                      "\nTest set: Average loss: 0.0625, Accuracy: 97.25%\n",
                      {"loss": 0.398431, "test_loss": 0.0625, "accuracy": 0.9725}),
    "pytorch mnist": ("Test set: Average loss: 0.0269, Accuracy: 9913/10000 (99%)\n",
                      {"test_loss": 0.0269, "accuracy": 0.9913}),
    "torchtitan": (TITAN, {"loss": 1.5434, "grad_norm": 0.2033, "tokens_per_s": 2 * 12999.0, "tflops": 3.0,
                           "mfu": 0.4016, "val_loss": 1.75}),
    "mllog": (MLLOG, {"train_loss": 0.7, "eval_accuracy": 0.93, "samples_per_s": 1000.0, "time_to_train_s": 5.0,
                      "throughput": 12.5}),
}  # fmt: skip


def _run(folder: Path, text: str | bytes, name: str = "rank-0.log", processes: int = 2) -> dict[str, float]:
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_metrics(folder, {}, "samples_per_s", processes=processes)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_output_is_understood(name: str, tmp_path: Path) -> None:
    text, wanted = RECORDED[name]
    assert _run(tmp_path, text) == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize(
    "prefix",
    ["[1,{}]<stdout>:", "[{}]<stdout>:", "Fri Nov 21 10:00:00 2026[{}]<stdout>:",
     "Fri Nov  1 10:00:00 2026[1,{}]<stdout>: ",
     "{}: ", " {}: ", "[rank{}]:", "[default{}]:", "[{}] "],
)  # fmt: skip
@pytest.mark.parametrize("name", ["mllog", "horovod", "pytorch mnist", "transformers", "keras verbose 2"])
def test_the_lowest_rank_speaks_behind_prefixes(prefix: str, name: str, tmp_path: Path) -> None:
    text, wanted = RECORDED[name]
    lines = []
    for line in text.replace("\r", "\n").splitlines():
        # a higher rank is first, and tells other numbers
        lines += [prefix.format(3) + line.replace("0.", "0.7"), prefix.format(1) + line, prefix.format(12) + line]
    found = _run(tmp_path, "\n".join(lines) + "\n", "job.log")
    assert found == pytest.approx(wanted, nan_ok=True)


def test_the_first_of_the_table_is_believed(tmp_path: Path) -> None:
    text = RECORDED["horovod"][0] + "throughput: 1.0 samples/s\n" + TRAINER
    found = _run(tmp_path, text)
    assert found["samples_per_s"] == 6703.0
    order = [form.name for form in FORMATS]
    assert order.index("transformers") < order.index("total") < order.index("iterations") < order.index("words")


@pytest.mark.parametrize(
    ("words", "value"),
    [("loss 0.25 samples/s 90.0", 90.0), ("loss 0.25 samples/s: 90, epoch 2", 90.0), ("step 3 images/s = 4", 4.0)],
)
def test_a_number_before_the_units_own_value_is_no_throughput(tmp_path: Path, words: str, value: float) -> None:
    assert _run(tmp_path, f"{words}\n")["samples_per_s"] == value
    for plain in (
        "812.5 samples/s, loss 0.25",
        "812.5 samples/s 0.3 s/step",
        "812.5 samples/s loss 0.25",
        "at 812.5 img/s",
    ):
        assert _run(tmp_path, f"{plain}\n")["samples_per_s"] == 812.5


def test_patterns_of_the_project_and_the_meter_win(tmp_path: Path) -> None:
    _run(tmp_path, TRAINER + "speed 5\n")
    pattern = {"samples_per_s": {"pattern": r"speed (\d+)"}}
    found = read_metrics(tmp_path, pattern, "samples_per_s")
    assert found["samples_per_s"] == 5.0 and found["loss"] == 0.03454
    assert "samples_per_s" not in read_metrics(tmp_path, {"samples_per_s": {"pattern": "none (.)"}}, "samples_per_s")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "rank-0.jsonl").write_text('{"final": true, "samples_per_s": 9}\n')
    assert read_metrics(tmp_path, {}, "samples_per_s") == {"samples_per_s": 9.0}


def test_chainers_log_file_tells_the_speed(tmp_path: Path) -> None:
    entries = [{"main/loss": 1 / n, "epoch": n, "iteration": 40 * n, "elapsed_time": 2.0 * n} for n in (1, 2, 3)]
    (tmp_path / "source" / "result").mkdir(parents=True)
    (tmp_path / "source" / "log").write_text("not JSON")
    (tmp_path / "source" / "result" / "log").write_text(json.dumps(entries))
    assert _run(tmp_path, "hello\n") == {"loss": pytest.approx(1 / 3), "steps_per_s": 20.0}


@pytest.mark.parametrize("speed", ["inf iters/sec. Estimated time to finish: 0:00:00.", "nan iters/sec."])
def test_a_progress_bar_that_has_not_moved_tells_no_throughput(tmp_path: Path, speed: str) -> None:
    assert _run(tmp_path, f"     total [....]  0.00%\n       {speed}\n") == {}


def test_metrics_have_units_and_can_be_asked_for() -> None:
    rates = {name.partition("/")[0] for form in FORMATS for name in form.throughput}
    assert rates == {"samples_per_s", "tokens_per_s", "steps_per_s"}
    assert rates <= set(UNITS) and rates <= set(WELL_KNOWN_METRICS)
    for form in FORMATS:
        assert form.source and form.title and form.per_process <= set(UNITS)


@pytest.mark.parametrize(("mode", "unit", "speedup"), [("weak", "steps/s", 1.8), ("strong", "steps/s", 0.9),
                                                       ("weak", "samples/s", 0.9)])  # fmt: skip
def test_a_step_is_more_work_in_weak_scaling(mode: str, unit: str, speedup: float) -> None:
    runs = [RunResult(id=f"{n}", job_id=None, processes=n, nodes=1, status="SUCCEEDED", value=value)
            for n, value in ((1, 100.0), (2, 90.0))]  # fmt: skip
    points = results("s", mode, "steps_per_s", unit, runs)["points"]
    assert points[1]["speedup"] == pytest.approx(speedup)


def test_a_program_tells_by_its_imports_what_it_will_print() -> None:
    names = [form.name for form in expected("import os\nfrom transformers import Trainer\n    import chainermn as c\n")]
    assert names == ["transformers", "chainer"]
    assert expected("# import keras\nx = 'from keras import y'\n") == []
    assert expected("from transformers import GPT2LMHeadModel\n") == []


MARKS = sorted({mark for form in FORMATS for mark in form.marks})
PIECES = some.sampled_from(
    [*MARKS, *[line for text, _ in RECORDED.values() for line in text.splitlines()], "\x1b[31m", "[1,0]<stdout>:",
     "nan",
     "9" * 400, "1e999", "{'loss': ", "│", "Epoch 1/2", "epoch  main/loss", "  ", ":::MLLOG {", "}" * 9, "[" * 3000]
)  # fmt: skip


@given(some.lists(some.one_of(PIECES, some.text(max_size=30), some.floats().map(str)), max_size=30), some.booleans())
def test_whatever_is_printed_breaks_nothing(pieces: list[str], shared: bool) -> None:
    speaker = Speaker(shared=shared)
    for line in " ".join(pieces).splitlines():
        speaker.read(line)
    for (form, name), value in speaker.finish(4).items():
        assert isinstance(value, float) and 0 < len(name) <= 64 and form


@given(some.floats(0.001, 1e6), some.integers(1, 64), some.sampled_from(["img", "images", "samples"]))
def test_totals_are_read_to_the_last_digit(rate: float, processes: int, what: str) -> None:
    speaker = Speaker()
    speaker.read(f"Total {what}/sec on {processes} GPU(s): {rate:.1f} +-{rate / 10:.1f}")
    assert speaker.finish(processes)["total", "samples_per_s"] == float(f"{rate:.1f}")


@given(some.lists(some.floats(0.01, 1e5), min_size=1, max_size=9), some.integers(1, 64))
def test_iterations_are_a_median_times_processes(rates: list[float], processes: int) -> None:
    speaker = Speaker()
    for number, rate in enumerate(rates):
        speaker.read(f"Iter #{number}: {rate:.3f} img/sec per GPU")
    shown = sorted(float(f"{rate:.3f}") for rate in rates)
    value = speaker.finish(processes)["iterations", "samples_per_s"]
    assert shown[0] * processes <= value * 1.000001 and value <= shown[-1] * processes * 1.000001


def test_names_from_the_output_are_bounded(tmp_path: Path) -> None:
    lines = [f"{{'loss': 1, 'name_{number}': {number}}}" for number in range(5000)]
    assert len(_run(tmp_path, "\n".join(lines))) == formats.NAMES


@pytest.mark.slow
def test_long_lines_take_no_long_time(tmp_path: Path) -> None:
    """Quadratic expressions would take minutes for lines as long as those that are kept (64 KiB)."""
    letters = random.Random(1)
    noise = "".join(letters.choices(string.ascii_letters + string.digits + " .:|/'{}[]", k=65000))
    parts = ["9" * 65000, "1," * 32000, "a: " * 21000, "{'loss': " * 7000, "Epoch 1: |" * 6500, noise, " " * 65000,
             "Test set: Accuracy" * 3600, "1/1 " * 16000]  # fmt: skip
    begin = time.process_time()
    for mark in MARKS:
        (tmp_path / "logs").mkdir(exist_ok=True)
        _run(tmp_path, "\n".join(f"{mark} {part} {mark}" for part in parts))
    assert time.process_time() - begin < 100
