"""Lines that public training programs and frameworks print: their throughput is read, or suggested, and nothing else.

The shapes are those of the programs named beside them; the numbers are invented.
"""

from pathlib import Path

import pytest

from hackathon.logs.metrics import read_metrics
from hackathon.logs.suggest import suggestions
from hackathon.logs.words import RATES

SECONDS = (1.9, 1.3, 1.25, 1.31, 1.28)
MEDIAN = 1.29
"""Without the first one."""
STEPS = {"steps_per_s": 1 / MEDIAN}
SAMPLES = {"samples_per_s": 1290.0}
OF_A_BATCH = {"samples_per_s": 8 / MEDIAN, **STEPS}
READ: dict[str, tuple[str, dict[str, float]]] = {
    "imagenet": (
        "Epoch: [0][ {n}0/1251]\tTime  {v} ( 0.200)\tData  0.001 ( 0.010)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   "
        "0.00 (  0.10)",
        STEPS,
    ),
    "imagenet old": (
        "Epoch: [0][{n}0/1251]\tTime {v} (0.200)\tData 0.001 (0.010)\tLoss 6.9001 (7.0001)\tPrec@1 0.10 (0.10)",
        STEPS,
    ),
    "detr": (
        "Epoch: [0]  [  {n}0/1251]  eta: 0:20:11  lr: 0.000100  class_error: 90.1  loss: 1.0201 "
        "(1.1001)  time: {v}  data: 0.0002  max mem: 1234",
        STEPS,
    ),
    "mae": (
        "Epoch: [0]  [  {n}0/1251]  eta: 0:20:11  lr: 0.000001  loss: 1.0201 (1.1001)  time: {v}  data: "
        "0.0002  max mem: 5555",
        STEPS,
    ),
    "dino": (
        "Epoch: [0/100]  [  {n}0/1251]  eta: 1 day, 2:03:04  loss: 10.1 (10.2)  lr: 0.0001 (0.0000)  "
        "wd: 0.04 (0.04)  time: {v}  data: 0.0002  max mem: 12345",
        STEPS,
    ),
    "dinov2": (
        "I20260101 10:00:0{n} 123 dinov2 helpers.py:102] Training  [  {n}0/125000]  eta: 1 day, 2:03:04 "
        " lr: 0.0001 (0.0000)  total_loss: 12.1 (12.2)  time: {v}  data: 0.0002  max mem: 12345",
        STEPS,
    ),
    "mmengine": (
        "2026/01/01 10:00:00 - mmengine - INFO - Epoch(train)  [1][ {n}0/196]  lr: 1.0000e-02  eta: "
        "0:10:00  time: {v}  data_time: 0.0100  memory: 1234  loss: 1.2",
        STEPS,
    ),
    "mmengine iter": (
        "01/01 10:00:00 - mmengine - INFO - Iter(train) [  {n}50/160000]  lr: 9.9e-03  eta: 10:11:12  "
        "time: {v}  data_time: 0.0100  memory: 1234  loss: 1.2",
        STEPS,
    ),
    "mmcv": (
        "2026-01-01 10:00:00,123 - mmdet - INFO - Epoch [1][{n}50/7330]\tlr: 1.978e-03, eta: 10:11:12, "
        "time: {v}, data_time: 0.050, memory: 3800, loss_cls: 0.5, loss: 1.2",
        STEPS,
    ),
    "detectron2": (
        "[01/01 10:00:00 d2.utils.events]:  eta: 0:10:11  iter: {n}9  total_loss: 3.11  loss_cls: 1.2  "
        "time: {v}  data_time: 0.0102  lr: 0.0001  max_mem: 1234M",
        STEPS,
    ),
    "detectron2 new": (
        "[01/01 10:00:00 d2.utils.events]:  eta: 0:10:11  iter: {n}9  total_loss: 3.11    time: {v}  "
        "last_time: 0.3401  data_time: 0.0102  last_data_time: 0.0030   lr: 0.0001  max_mem: 1234M",
        STEPS,
    ),
    "maskrcnn-benchmark": (
        "2026-01-01 10:00:00,123 maskrcnn_benchmark.trainer INFO: eta: 1 day, 2:03:04  iter: {n}0  "
        "loss: 1.2000 (1.5000)  loss_box_reg: 0.1 (0.1)  time: {v} (0.4012)  data: 0.0102 (0.1000)  lr: "
        "0.001000  max mem: 1234",
        STEPS,
    ),
    "deepspeed": (
        "[2026-01-01 10:00:00,123] [INFO] [timer.py:215:stop] epoch=0/micro_step={n}0/global_step={n}0, "
        "RunningAvgSamplesPerSec=3512.2, CurrSamplesPerSec={r}, MemAllocated=0.1GB, "
        "MaxMemAllocated=0.2GB",
        SAMPLES,
    ),
    "deepspeed old": (
        "[2026-01-01 10:00:00,123] [INFO] [timer.py:154:stop] 0/{n}0, SamplesPerSec={r}",
        SAMPLES,
    ),
    "fairseq json": (
        '2026-01-01 10:00:00 | INFO | train_inner | {{"epoch": 1, "update": 0.{n}, "loss": "12.1", '
        '"ppl": "4400", "wps": "{r}", "ups": "3.11", "wpb": "3900", "bsz": "128", "lr": "1e-05", '
        '"gnorm": "3.1", "train_wall": "33", "wall": "40"}}',
        {"tokens_per_s": 1290.0, "steps_per_s": 3.11},
    ),
    "fairseq simple": (
        "epoch 001:  {n}0 / 1000 loss=12.1, ppl=4400, wps={r}, ups=3.11, wpb=3900, bsz=128, "
        "num_updates=100, lr=1e-05, gnorm=3.1, train_wall=33, wall=40",
        {"tokens_per_s": 1290.0, "steps_per_s": 3.11},
    ),
    "espnet": (
        "[host:0/2] 2026-01-01 10:00:00,123 (trainer:756) INFO: 1epoch:train:{n}1-{n}50batch: "
        "iter_time=0.001, forward_time=0.1, loss=12.1, backward_time=0.2, optim_step_time=0.01, "
        "optim0_lr0=1e-05, train_time={v}",
        STEPS,
    ),
    "megatron": (
        " iteration       {n}0/    1000 | consumed samples:           80 | elapsed time per iteration "
        "(ms): {ms} | throughput per GPU (TFLOP/s/GPU): 45.1 | learning rate: 1.0E-05 | global batch "
        "size:     8 | lm loss: 1.0E+01 | loss scale: 1.0 |",
        OF_A_BATCH,
    ),
    "megatron bare": (
        " iteration       {n}0/    1000 | elapsed time per iteration (ms): {ms} | learning rate: "
        "1.000E-05 | lm loss: 1.0E+01 |",
        STEPS,
    ),
    "mingpt": (
        "iter_dt {ms}ms; iter {n}00: train loss 2.31000",
        STEPS,
    ),
    "nemo": (
        "Training epoch 0, iteration {n}/99 | lr: 1e-05 | global_batch_size: 8 | global_step: {n} | "
        "reduced_train_loss: 10.1 | train_step_timing in s: {v} | consumed_samples: 88",
        OF_A_BATCH,
    ),
    "basicsr": (
        "2026-01-01 10:00:00,123 INFO: [train..][epoch:  0, iter:   {n},100, lr:(2.000e-04,)] [eta: 1 "
        "day, 2:03:04, time (data): {v} (0.001)] l_pix: 1.2e-02",
        STEPS,
    ),
    "pyslowfast": (
        '[01/01 10:00:00][INFO] logging.py: 99: json_stats: {{"RAM": "10/500G", "_type": "train_iter", '
        '"dt": {v}, "dt_data": 0.001, "dt_net": 0.511, "epoch": "1/200", "eta": "1 day, 2:03:04", '
        '"gpu_mem": "10G", "iter": "{n}0/940", "loss": 6.9, "lr": 0.1}}',
        STEPS,
    ),
    "pycls": (
        '[meters.py: 100]: json_stats: {{"_type": "train_iter", "epoch": "1/100", "eta": "1:02", '
        '"iter": "{n}0/5004", "loss": 6.9, "lr": 0.1, "mem": 1234, "time_avg": 0.6, "time_diff": {v}, '
        '"top1_err": 99.9}}',
        STEPS,
    ),
    "vissl": (
        "INFO 2026-01-01 10:00:00,123 log_hooks.py: 322: Rank: 0; [ep: 0] iter: {n}0; lr: 0.03; loss: "
        "7.1; btime(ms): {ms}; eta: 1 day; peak_mem(M): 12345;",
        STEPS,
    ),
    "swin": (
        "[2026-01-01 10:00:00 swin](main.py 260): INFO Train: [0/300][{n}0/1251]\teta 0:20:11 lr "
        "0.000001\t wd 0.0500\ttime {v} (0.9421)\tloss 6.9001 (6.9101)\tgrad_norm 1.2 (1.3)\tloss_scale "
        "65536.0 (65536.0)\tmem 1234MB",
        STEPS,
    ),
    "supcontrast": (
        "Train: [1][{n}0/195]\tBT {v} (0.310)\tDT 0.001 (0.010)\tloss 8.1 (8.2)",
        STEPS,
    ),
    "imagenet without data": (
        "Epoch: [0][{n}0/1251]\tTime {v} (0.200)\tLoss 6.9001 (7.0001)\tLR 0.1",
        STEPS,
    ),
    "modded-nanogpt": (
        "step:{n}0/1750 train_loss:4.2 train_time:1{n}34ms step_avg:{ms}ms",
        STEPS,
    ),
    "bert nvidia": (
        "DLL 2026-01-01 10:00:00 -  Training Epoch: 0 Training Iteration: {n}0  training_sequences_per_second : {r}",
        SAMPLES,
    ),
    "composer": (
        "\t Train throughput/samples_per_sec: {r}",
        SAMPLES,
    ),
    "olmo": (
        "    throughput/device/tokens_per_second={r}",
        {"tokens_per_s": 1290.0},
    ),
    "done per epoch": (
        "Epoch {n} done. Time per epoch: {v}[s] Speed: {r}[samples/s]",
        SAMPLES,
    ),
    "per step ms": (
        "epoch time: {ms} ms, per step time: {ms} ms",
        STEPS,
    ),
    "seconds/iteration": (
        "iteration {n}, loss 0.5, seconds/iteration {v}",
        STEPS,
    ),
    "yolox": (
        "2026-01-01 10:00:00 | INFO | yolox.core.trainer:257 - epoch: 1/300, iter: {n}0/1848, mem: "
        "1234Mb, iter_time: {v}s, data_time: 0.001s, total_loss: 15.1, lr: 1e-5, size: 640, ETA: 1 day",
        STEPS,
    ),
    "avg epoch": (
        "epoch {n}: avg. step time {ms} ms",
        STEPS,
    ),
}
"""Family → its line, and the rates that are read."""
SUGGESTED: dict[str, tuple[str, str, str, float]] = {
    "cleanrl": (
        "SPS: {r0}",
        "throughput",
        "",
        1290,
    ),
    "sb3 table": (
        "|    fps                  | {r0}         |",
        "throughput",
        "",
        1290,
    ),
    "kuangliu": (
        " [===>....................................]  Step: {ms0}ms | Tot: 4s{ms0}ms | Loss: 1.910 | "
        "Acc: 25.000% (32/128) {n}1/391",
        "step_time",
        "ms/step",
        645,
    ),
    "consumed": (
        "epoch {n} training time consumed: {v}s",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "taken for": (
        "Time taken for epoch {n}: {v} sec",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "took": (
        "Epoch {n} took {v} seconds",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "cyclegan": (
        "End of epoch {n} / 200 \t Time Taken: {v} sec",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "mxnet": (
        "INFO:root:Epoch[{n}] Time cost={v}",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "gluoncv": (
        "[Epoch {n}] training: accuracy=0.1 loss=6.9 time cost: {v}",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "dgl": (
        "Epoch 0000{n} | Time(s) {v} | Loss 1.9000 | Accuracy 0.7000 | ETputs(KTEPS) 120.10",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "dgl dist": (
        "Part 0, Epoch Time(s): {v}, sample: 1.23, data copy: 2.3, forward: 3.4, backward: 3.1, update: "
        "0.1, #seeds: 1000",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "stylegan": (
        "tick {n}     kimg 4.0      time 1m 3{n}s       sec/tick 33.1    sec/kimg {v}    maintenance "
        "1.2    cpumem 3.40   gpumem 5.60",
        "time",
        "s/kimg",
        MEDIAN,
    ),
    "attention-is-all": (
        "  - (Training)   ppl:  123.4, accuracy: 12.3 %, lr: 0.0001, elapse: {v} min",
        "time",
        "min",
        MEDIAN,
    ),
    "openclip": (
        "2026-01-01,10:00:00 | INFO | Train Epoch: 0 [ {n}1200/1000000 (5%)] Data (t): 0.001 Batch (t): "
        "{v}, 4161.2/s, 520.1/s/gpu LR: 0.000010 Logit Scale: 14.286",
        "throughput",
        "/s",
        2340.65,
    ),
    "nanogpt": (
        "iter {n}0: loss 2.3100, time {ms}ms, mfu 3.20%",
        "step_time",
        "ms/step",
        1290,
    ),
    "pinn": (
        "It: {n}0, Loss: 1.2e-03, Time: {v}",
        "step_time",
        "s/step",
        MEDIAN,
    ),
    "marian": (
        "[2026-01-01 10:00:00] Ep. 1 : Up. {n}000 : Sen. 64,000 : Cost 5.61000 : Time 33.12s : {r} words/s",
        "throughput",
        "words/s",
        1290,
    ),
    "opennmt": (
        "[2026-01-01 10:00:00,123 INFO] Step {n}50/100000; acc:  5.10; ppl: 123.0; xent: 9.1; lr: "
        "0.0001; 12345/{r0} tok/s;     12 sec",
        "tokens_per_s",
        "tokens/s",
        1290,
    ),
    "unitless epoch": (
        "Epoch: {n} train loss: 0.61 time: {v}",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "unitless csv-like": (
        "epoch={n} loss=0.61 epoch_time={v}",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "unitless step": (
        "step {n}0, loss 0.61, step_time {v}",
        "step_time",
        "s/step",
        MEDIAN,
    ),
    "epoch minutes": (
        "Epoch {n} | Loss: 0.1 | F1: 0.9 | Epoch Time: {v} minutes",
        "epoch_time",
        "min",
        MEDIAN,
    ),
    "nnunet": (
        "2026-01-01 10:00:00.123: Epoch time: {v} s",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "rl-games": (
        "fps step: 12345 fps step and policy inference: 12000 fps total: {r0} epoch: {n}/100 frames: 1000",
        "throughput",
        "",
        1290,
    ),
    "graphsage": (
        "Epoch {n}: Training took {v} secs, loss 0.3",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "one epoch": (
        "Training time for 1 epoch: {v} s",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "japanese": (
        "エポック {n} 完了: 損失 0.5, 時間 {v} 秒",
        "epoch_time",
        "s",
        MEDIAN,
    ),
    "sci": (
        "step {n} throughput: 1.2{n}e+04",
        "throughput",
        "",
        12350,
    ),
    "espnet epoch": (
        "{n}epoch results: [train] iter_time=0.001, loss=12.1, train_time={v}, time=3 minutes and 4.5 seconds",
        "step_time",
        "s/step",
        MEDIAN,
    ),
}
"""Family → its line, and name, unit and value of the first suggestion."""
SILENT = (
    "learning rate: 1.0E-05",
    "Learning Rate: 0.1",
    "iteration {n} | learning rate: 1.0E-0{n} | lm loss 3.1",
    "lr rate 0.{n}",
    "epoch {n} learning-rate 0.1{n}",
    "learning  rate = 0.00{n}",
    "current learning rate is 0.00{n}",
    "base rate 0.{n}",
    "dropout rate: 0.{n}",
    "decay rate 0.9{n}",
    "word error rate: 12.{n}",
    "success rate: 0.{n}",
    "sampling rate: 16000",
    "sample rate 22050",
    "hit rate 0.9{n}",
    "acceptance rate: 0.4{n}",
    "(0.000{n} rate)",
    "1: 1234.5, 1234.5 avg loss, 0.000000 rate, 3.4{n}6 seconds, 64 images, 9.{n} hours left",
    "false positive rate: 0.0{n}",
    "clip rate 0.{n}",
    "exploration_rate: 0.{n}",
    "| exploration_rate | 0.{n} |",
    "LearningRate: 0.{n}",
    "学習率 0.00{n}",
    "mutation rate 0.{n}",
    "Test: [  {n}/391]\tTime  0.12{n} ( 0.200)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.00 (  0.10)",
    "Test:  [  {n}/1251]  eta: 0:20:11  loss: 1.02 (1.10)  time: 0.942{n}  data: 0.0002  max mem: 1234",
    "Epoch(val)  [1][ {n}0/196]  eta: 0:10:00  time: 0.351{n}  data_time: 0.0100",
    "Test: Total time: 0:00:10 (0.{n}592 s / it)",
    "1epoch:valid:{n}1-{n}50batch: iter_time=0.001, forward_time=0.1, valid_time=0.5{n}",
    '{{"epoch": 1, "valid_loss": "12.1", "valid_wps": "1200{n}", "valid_wpb": "3900"}}',
    (
        '{{"_type": "test_iter", "epoch": "1/100", "iter": "{n}0/5004", "time_avg": 0.6, "time_diff": '
        '0.5{n}, "top1_err": 99.9}}'
    ),
    "(epoch: 1, iters: {n}00, time: 0.12{n}, data: 0.001) G_GAN: 0.9 G_L1: 20.1",
    "time_limit: 3.{n}",
    "runtime 3.{n}.1",
    "timestamp: 17000000{n}0.12",
    "time: 10:0{n}:00",
    "Time: 2026-11-0{n}",
    "epoch {n} time 1.2.{n}",
    "uptime: 3.{n}",
    "lifetime 0.{n}",
    "epoch time",
    "time zone: 9.0",
    "epoch {n} elapsed: 3{n}.5",
    "It: {n}0, Time: {n}{n}{n}3.5",
    "eta time: 1{n}.5 s",
    "epoch {n}, remaining time: 3.{n}",
    "ETA: 0:0{n}:10",
    "time to train: 12{n}.5",
    "Data loading took 3.{n} s",
    "data_time: 0.0{n}2",
    "Epoch {n} val time: 3.{n}s",
    "validation epoch {n} took 3.{n} seconds",
    "evaluation time: 3.{n}",
    "Testing took 3.{n} seconds",
    "compile time: 3{n}.1 s",
    "setup time 2.{n} s",
    "import took 2.{n} s",
    "checkpoint saved, took 1.{n} s",
    "saving took 3.{n} s",
    "best step time 0.{n}",
    "forward time: 0.0{n}2 s",
    "backward_time=0.0{n}2",
    "iter_time=0.00{n}",
    "optim_step_time=0.01{n}",
    "sec/tick",
    "time 1m 3{n}s",
    "Time: 0m 3{n}s",
    "0m {n}s (- 5m 12s) (5 6%) 2.3",
    "Step: {n}s0ms of 10",
    "Tot: 1m2{n}s",
    "wps: 5",
    "ups and downs 3.{n}",
    "https://fps.example/{n}",
    "fps limit 3{n}",
    "max_fps: 6{n}",
    "video fps: 25",
    "target fps {n}0",
    "step:{n}0/1750 val_loss:4.2 train_time:{n}{n}{n}34ms",
    "elapsed time per request (ms): 1{n}.4",
    "MemAllocated=0.{n}GB",
    "global batch size: {n}",
    "batch size: 12{n}, time steps: 1{n}",
    "time_steps: 10{n}",
    "num_timesteps = 1{n}00",
    "time_embed_dim: 32{n}",
    "timeout: 30.{n}",
    "timeout 1800.{n} s",
    "time budget: 3.{n} h",
    "took 3.{n} GB",
    "time {n}",
    "step time budget 0.{n}s",
    "walltime 01:0{n}:00",
    "world size {n}, took rank 3.{n}",
    "GPU time limit 0.{n}",
    "times: 3.{n}",
    "at time t=0.{n}",
    "simulation time: 0.{n}",
    "time step dt=0.00{n}",
    "dt: 0.00{n}",
    "sim_dt 0.0{n} s",
    "latency: 3.{n} ms",
    "inference time: 3.{n} ms",
    "ping time=0.3{n} ms",
    "{n}0/40 lr 1.{n}e-0{n} rate",
)
"""Lines that look like a throughput or a time of training, and are none."""


def _log(folder: Path, form: str) -> Path:
    (folder / "logs").mkdir()
    path = folder / "logs" / "rank-0.log"
    path.write_text("".join(_lines(form)), "utf-8")
    return path


def _lines(form: str) -> list[str]:
    return [
        form.format(n=n, v=value, ms=f"{value * 1000:.2f}", ms0=int(value * 500), r=f"{value * 1000:.1f}",
                    r0=round(value * 1000)) + "\n"
        for n, value in enumerate(SECONDS, 1)
    ]  # fmt: skip


def _rates(folder: Path) -> dict[str, float]:
    values = read_metrics(folder, {}, "samples_per_s", processes=1)
    return {name: value for name, value in values.items() if name in RATES}


@pytest.mark.parametrize(("form", "rates"), READ.values(), ids=list(READ))
def test_a_known_line_is_read_without_configuration(tmp_path: Path, form: str, rates: dict[str, float]) -> None:
    _log(tmp_path, form)
    assert _rates(tmp_path) == pytest.approx(rates, rel=0.01)


@pytest.mark.parametrize(("form", "name", "unit", "value"), SUGGESTED.values(), ids=list(SUGGESTED))
def test_another_line_is_suggested(tmp_path: Path, form: str, name: str, unit: str, value: float) -> None:
    first, *_ = suggestions([_log(tmp_path, form)])
    assert (first.name, first.unit, first.value) == (name, unit, pytest.approx(value, rel=0.01))
    declared = {name: {"pattern": first.pattern, "unit": unit, "reduce": "median", "skip_first": first.skip_first}}
    assert read_metrics(tmp_path, declared, name)[name] == first.value


def test_look_alikes_are_neither_read_nor_suggested(tmp_path: Path) -> None:
    alarms = {}
    for number, form in enumerate(SILENT):
        folder = tmp_path / str(number)
        folder.mkdir()
        log = _log(folder, form)
        if rates := {**_rates(folder), **{entry.name: entry.value for entry in suggestions([log])}}:
            alarms[form] = rates
    assert alarms == {}


def test_a_validation_between_the_epochs_does_not_count(tmp_path: Path) -> None:
    train, test = READ["imagenet"][0], "Test: [ {n}0/100]\tTime  0.01{n} ( 0.010)\tLoss 6.9e+00 (7.0e+00)"
    _log(tmp_path, f"{train}\n{test}\n{test}\n{test}")
    assert _rates(tmp_path) == pytest.approx(STEPS, rel=0.01)


def test_there_are_more_look_alikes_than_lines() -> None:
    assert len(set(SILENT)) > len(READ) + len(SUGGESTED)
