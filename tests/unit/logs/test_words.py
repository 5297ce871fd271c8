"""Numbers are found in the customary words of two languages; what only looks like a number of a run gives nothing."""

import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hackathon.logs.formats import WORDS
from hackathon.logs.metrics import read_metrics
from hackathon.logs.words import MARKS, CustomaryWords

S, EACH, ALL, T, STEPS = "samples_per_s", "samples_per_s/each", "samples_per_s/all", "tokens_per_s", "steps_per_s"
TOLD: dict[str, dict[str, float]] = {
    "1567 枚/秒": {S: 1567.0},
    "1567枚/秒": {S: 1567.0},
    "約1567枚/秒です": {S: 1567.0},
    "スループットは 1567 枚/秒": {S: 1567.0},
    "スループット（枚/秒）：1567": {S: 1567.0},
    "１５６７枚／秒": {S: 1567.0},
    "1.2万 枚/秒": {S: 12000.0},
    "毎秒 1567 枚を処理": {S: 1567.0},
    "1秒あたり 1567 枚": {S: 1567.0},
    "1GPUあたり 312 枚/秒": {EACH: 312.0},
    "312 枚/秒/GPU": {EACH: 312.0},
    "312 枚/秒（1GPUあたり）": {EACH: 312.0},
    "合計 2496 枚/秒": {ALL: 2496.0},
    "全体: 2,496 枚/秒": {ALL: 2496.0},
    "1GPUあたり 312 枚/秒 / 合計 2496 枚/秒": {EACH: 312.0, ALL: 2496.0},
    "1,234.5 imgs/sec/gpu": {EACH: 1234.5},
    "images/sec: 312.4": {S: 312.4},
    "images/sec 312.4": {S: 312.4},
    "throughput = 5.6k samples/s": {S: 5600.0},
    "throughput: 5.6K samples/sec": {S: 5600.0},
    "1.2M tokens/s": {T: 1200000.0},
    "tokens/s: 45,678": {T: 45678.0},
    "4567 tok/s": {T: 4567.0},
    "4567.8 tokens per second": {T: 4567.8},
    "tokens_per_second=4500.5": {T: 4500.5},
    '"samples_per_second": 312.5,': {S: 312.5},
    "throughput (samples/s): 312": {S: 312.0},
    "Throughput[img/s] = 312": {S: 312.0},
    "312 samples/s per GPU": {EACH: 312.0},
    "312 images/sec per device": {EACH: 312.0},
    "312 img/s (total)": {ALL: 312.0},
    "total images/sec: 2496.0": {ALL: 2496.0},
    "epoch=1 total_samples_per_s=2496.0": {ALL: 2496.0},
    '{"loss": 0.5, "global_samples_per_s": 2496.0}': {"loss": 0.5, ALL: 2496.0},
    "epoch 1 images/sec 2496.0 (total)": {ALL: 2496.0},
    "epoch 1 images/sec 312.0 total 16": {S: 312.0},
    "per-GPU throughput: 312 samples/s": {EACH: 312.0},
    "2496 samples/s on 8 GPUs": {ALL: 2496.0},
    "global throughput 2496 samples/s": {ALL: 2496.0},
    "12.3 it/s": {STEPS: 12.3},
    "100%|██████████| 391/391 [00:31<00:00, 12.30it/s, loss=0.97]": {STEPS: 12.3, "loss": 0.97},
    "3.5 steps/s": {STEPS: 3.5},
    "120 ms/step": {STEPS: 8.333333},
    "0.35 s/batch": {STEPS: 2.857143},
    "1.50s/it": {STEPS: 0.666667},
    "ms/step: 120": {STEPS: 8.333333},
    "step time: 250 ms": {STEPS: 4.0},
    "step_time=0.25s": {STEPS: 4.0},
    "time per step: 250 ms": {STEPS: 4.0},
    "1ステップあたり 0.25 秒": {STEPS: 4.0},
    "ステップ時間: 250 ミリ秒": {STEPS: 4.0},
    "0.25 秒/ステップ": {STEPS: 4.0},
    "損失 0.97": {"loss": 0.97},
    "損失: 0.97": {"loss": 0.97},
    "損失：０．９７": {"loss": 0.97},
    "損失は 0.97 です": {"loss": 0.97},
    "損失0.97": {"loss": 0.97},
    "検証損失: 0.85": {"val_loss": 0.85},
    "学習損失 = 0.91": {"loss": 0.91},
    "平均損失 0.93": {"loss": 0.93},
    "精度 98.1%": {"accuracy": 0.981},
    "精度：９８．１％": {"accuracy": 0.981},
    "精度は98.1%": {"accuracy": 0.981},
    "テスト精度 97.5%": {"test_accuracy": 0.975},
    "正解率 0.981": {"accuracy": 0.981},
    "正解率: 9731/10000": {"accuracy": 0.9731},
    "検証正解率＝0.975": {"val_accuracy": 0.975},
    "loss=0.97": {"loss": 0.97},
    "Loss: 0.97": {"loss": 0.97},
    "LOSS 0.97": {"loss": 0.97},
    "loss: nan": {"loss": math.nan},
    "loss: 3.2e-4": {"loss": 0.00032},
    "val_loss: 0.85": {"val_loss": 0.85},
    "val loss 0.85": {"val_loss": 0.85},
    "validation loss: 0.85": {"val_loss": 0.85},
    "train/loss: 0.91": {"loss": 0.91},
    "training loss = 0.91": {"loss": 0.91},
    "total loss: 1.2": {"loss": 1.2},
    '{"loss": 0.97, "step": 3}': {"loss": 0.97},
    "Loss 0.9731 (1.0210)": {"loss": 0.9731},
    "acc: 0.913": {"accuracy": 0.913},
    "acc=91.3%": {"accuracy": 0.913},
    "Accuracy: 97.31%": {"accuracy": 0.9731},
    "accuracy 0.9731": {"accuracy": 0.9731},
    "test accuracy: 97.31 %": {"test_accuracy": 0.9731},
    "val_acc=0.9731": {"val_accuracy": 0.9731},
    "Acc@1 71.234 (70.110) Acc@5 90.120 (89.000)": {"top1": 0.71234, "top5": 0.9012},
    " * Acc@1 71.234 Acc@5 90.120": {"top1": 0.71234, "top5": 0.9012},
    "Top-1: 71.2%": {"top1": 0.712},
    "Top-1 accuracy: 71.2%": {"top1": 0.712},
    "top1_acc=0.712": {"top1": 0.712},
    "2026-11-23 10:11:12,123 INFO step 100 loss 0.97 lr 0.001 312.5 samples/s": {S: 312.5, "loss": 0.97},
    "Epoch 3 | 損失 0.97 | 精度 91.2% | 1,567 枚/秒": {S: 1567.0, "loss": 0.97, "accuracy": 0.912},
    "[rank0]: loss 0.05 samples/s 90.5": {S: 90.5, "loss": 0.05},
    "loss 0.05 samples/s: 90.5": {S: 90.5, "loss": 0.05},
    "speed 312.4 samples/s loss 0.97": {S: 312.4, "loss": 0.97},
    "エポック 3 損失：０．９７，精度：９１．２％": {"loss": 0.97, "accuracy": 0.912},
    "step 100 loss=0.97 throughput=312 samples/s step_time=0.2s": {S: 312.0, "loss": 0.97},
}
"""Line → what it tells."""
SILENT = (
    "2026-11-23 10:11:12,123 INFO starting",
    "12:30:45 samples loaded",
    "torch 2.4.1+cu121, numpy 1.26.4",
    "connected to 10.0.0.12:29500",
    "ETA: 0:12:30",
    "ETA 12:30 remaining",
    "lr=0.001",
    "learning rate: 3.0e-4",
    "学習率: 0.001",
    "model.pt: 45%|████ | 44.7M/97.8M [00:03<00:04, 12.3MB/s]",
    "Downloading: 12.3MB/s",
    "100%|██████████| 9912422/9912422 [00:01<00:00, 8.1MB/s]",
    "Map: 100%|██████████| 50000/50000 [00:05<00:00, 9876.54 examples/s]",
    "Generating train split: 50000 examples [00:05, 9876.54 examples/s]",
    "Filter (num_proc=4): 100%|███| 1000/1000 [00:00<00:00, 2345.6 examples/s]",
    "Loading checkpoint shards: 100%|██████████| 2/2 [00:03<00:00,  1.60s/it]",
    "Loading data: 2345 samples/s",
    "data loading speed 2345.6 samples/s",
    "データ読み込み 2345 枚/秒",
    "前処理: 120 枚/秒",
    "data time: 3 ms/step",
    "data 3 ms/step",
    "forward: 10 ms/step",
    "backward 22 ms/step",
    "allreduce 5 ms/step",
    "memory: 12.3 GiB",
    "max memory allocated: 10.5GB",
    "メモリ使用量 12.3 GB",
    "seed: 42",
    "loss_weight=0.5",
    "loss_scale: 65536.0",
    "loss scale 65536.0",
    "reducing loss scale to 32768.0",
    "aux_loss_coef=0.01",
    "--loss 0.5 --acc 0.9",
    "Namespace(lr=0.1, loss='mse')",
    "Namespace(lr=0.1, loss=0.5, accuracy=0.9)",
    "args: {'loss': 0.5, 'lr': 0.1}",
    "config: loss=0.5 acc=0.9",
    "Config(loss=0.5, accuracy=0.97)",
    "設定: 損失 0.5",
    "python train.py loss=0.5 acc=0.9",
    "+ python train.py --loss=0.5",
    "loss: mse",
    "loss = CrossEntropyLoss()",
    "    loss = 0.5 * (a + b)",
    "saved to epoch=3-val_loss=0.31.ckpt",
    "checkpoint_loss_0.31.pt written",
    "models/loss=0.31/model.pt",
    "logs/loss-0.31.txt",
    "target loss: 0.1",
    "目標損失: 0.1",
    "target accuracy: 0.97",
    "目標精度 97.0%",
    "required accuracy 0.97",
    "best accuracy 0.97",
    "ベスト精度: 97.0%",
    "threshold: loss 0,97",
    "混合精度: 16",
    "半精度: 0.5",
    "精度: FP16",
    "精度: 32",
    "精度 16 ビット",
    "許容精度: 1.0e-3",
    "precision: 16",
    "grad_acc: 4",
    "gradient accumulation 4",
    "acc_steps: 4.0",
    "accelerate 0.34.2",
    "accuracy >= 0.97",
    "top_k=5 top_p=0.95",
    "top-k: 5",
    "top 5 predictions",
    "top - 10:11:12 up 3 days, load average: 0.15",
    "packet loss: 0.0",
    "0.5% packet loss",
    "loss: 12 ms",
    "cls_loss: 0.3",
    "d_loss=0.4 g_loss=0.9",
    "box loss 0.4",
    "再構成損失 0.31",
    "位置精度: 0.9",
    "target: 500 samples/s",
    "peak throughput 5000 samples/s",
    "理論性能 5000 枚/秒",
    "目標: 1500 枚/秒",
    "validation: 812 samples/s",
    "検証: 812 枚/秒",
    "Warmup: 100 samples/s",
    "Testing DataLoader 0: 100%|█| 5/5 [00:00<00:00, 99.07it/s]",
    "Sanity Checking: 100%|███| 2/2 [00:00<00:00, 45.0it/s]",
    "312 samples/s/node",
    "312 samples per step",
    "batch size 128 samples",
    "5 GB/s all-reduce bandwidth",
    "123.4 GFLOP/s",
    "read 120 MB/s",
    "speed: 45 km/s",
    "1/128 [00:00<?, ?it/s]",
    "0%|          | 0/94 [00:00<?, ?it/s]",
    "15 images found",
    "1567 枚の画像",
    "処理時間 12.3 秒",
    "速度 12.3 m/s",
    "Epoch 3/10",
    "step 100/1000",
    "elapsed 12.3s",
    "total time: 123.4 s",
    "GPU 0: 45C, 120W / 300W",
    "http://10.0.0.1:8080/s?loss=0.5&x=1",
    "loss@0.5",
    "lossless 0.5",
    "損失関数: CrossEntropy",
    "損失関数 0.5を使用",
    "損失の重み: 0.5",
    "accuracy_threshold=0.9",
    "version 1.2.3",
    "port 29500",
    "rank 3 of 8",
    "eval_loss_weight: 0.3",
    "it/s",
    "samples/s",
    "loss:",
    "精度",
    "loss: 1.2.3",
    "loss: 0.97s",
    "accuracy: 981",
    "acc: 5",
)
"""Lines that look like results and are none."""


@pytest.mark.parametrize(("line", "told"), TOLD.items(), ids=list(TOLD))
def test_a_line_tells_its_numbers(line: str, told: dict[str, float]) -> None:
    assert any(mark in line for mark in MARKS)
    assert dict(CustomaryWords().read(line)) == pytest.approx(told, nan_ok=True)


def test_what_only_looks_like_a_result_gives_nothing() -> None:
    assert {line: found for line in SILENT if (found := list(CustomaryWords().read(line)))} == {}
    assert len(SILENT) >= 60 and len(TOLD) >= 60


def test_small_percentages_beside_large_ones_are_percentages() -> None:
    words = CustomaryWords()
    assert list(words.read("Acc@1 0.9")) == [("top1", 0.9)]
    assert list(words.read("Acc@1 71.5")) == [("top1", pytest.approx(0.715))]
    assert list(words.read("Acc@1 0.9")) == [("top1", pytest.approx(0.009))]


def _run(folder: Path, *logs: str, processes: int) -> tuple[dict[str, float], dict[str, str]]:
    (folder / "logs").mkdir()
    for rank, text in enumerate(logs):
        (folder / "logs" / f"rank-{rank}.log").write_text(text, "utf-8")
    sure: dict[str, str] = {}
    return read_metrics(folder, {}, S, processes=processes, sure=sure), sure


@pytest.mark.parametrize(
    ("logs", "processes", "value", "how"),
    [
        (["300 枚/秒/GPU\n", "310 枚/秒/GPU\n"], 2, 610.0, "sum"),
        (["300 samples/s per GPU\n", ""], 2, 600.0, "times"),
        (["300 samples/s per GPU\n600 samples/s in total\n", "310 samples/s per GPU\n"], 2, 600.0, None),
        (["合計 600 枚/秒\n", "合計 610 枚/秒\n"], 2, 600.0, None),
        (["300 samples/s\n", "310 samples/s\n"], 2, 300.0, "unsure"),
        (["300 samples/s\n"], 1, 300.0, None),
        (["300 samples/s/gpu\n"], 1, 300.0, None),
        (["損失 0.9\n", "300 枚/秒\n"], 2, 300.0, "unsure"),
    ],
)
def test_the_unit_decides_whether_ranks_are_summed(
    tmp_path: Path, logs: list[str], processes: int, value: float, how: str | None
) -> None:
    values, sure = _run(tmp_path, *logs, processes=processes)
    assert values[S] == value and sure.get(S) == how


def test_iterations_are_never_samples(tmp_path: Path) -> None:
    values, sure = _run(tmp_path, "12.3 it/s\n12.5 it/s\n12.4 it/s\n", processes=4)
    assert values == {STEPS: 12.4} and not sure


PIECES = some.sampled_from(
    [*MARKS, *TOLD, *SILENT, "9" * 300, "1," * 200, " " * 50, "损失", "：", "１", "e+", "[", "\0"]
)


@given(some.lists(some.one_of(PIECES, some.text(max_size=20)), max_size=12))
def test_no_text_raises(pieces: list[str]) -> None:
    for text in ("".join(pieces), " ".join(pieces)):
        for name, value in CustomaryWords().read(text):
            assert isinstance(value, float) and name.split("/")[0] and not math.isinf(value * 0 + 1)


@pytest.mark.parametrize(
    "part",
    [
        "9",
        "1,",
        "1 ",
        "loss ",
        "val_",
        "samples/s ",
        "秒あたり",
        "毎秒 ",
        "loss 0.1 samples/s ",
        "ms/step ",
        ": ",
        "枚",
    ],
)
def test_time_grows_with_the_length_of_a_line(part: str) -> None:
    """What grows with the square would take sixteen times as long for four times the letters."""

    def seconds(letters: int) -> float:
        line = part * (letters // len(part))
        times = []
        for _ in range(3):
            begin = time.thread_time()
            list(CustomaryWords().read(line))
            times.append(time.thread_time() - begin)
        return min(times)

    # it is C that reads: only a clock tells, and another program on the same core disturbs it now and then
    assert any(seconds(32000) < 9 * seconds(8000) + 0.02 for _ in range(5))


def test_the_format_is_the_last_of_the_table() -> None:
    from hackathon.logs.formats import FORMATS

    assert FORMATS[-1] is WORDS
