"""Readers of one output format each: lines in, (metric, value) out. They store only a few values.

Frameworks and public programs print the time of a training step in many ways: in `Time  0.123 ( 0.200)` the number in
brackets is a running average, and the one before it counts. An implausible value (a progress bar's first `?it/s`) is
omitted. Lines come without escape sequences.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from hackathon.logs.values import number, whole

NUMBER = r"[-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:[nN]a[nN]|[iI]nf(?:inity)?)"
NAME = r"[A-Za-z_][\w./@-]{0,63}"
_NOT_METRICS = frozenset({"epoch", "iteration", "step", "v_num", "total_flos", "num_input_tokens_seen"})
Found = Iterator[tuple[str, float]]


class Reader(Protocol):
    """The interface of every format."""

    rounding: float
    """Half a unit of the last digit of the latest rate, relative to it; 0: not computed."""
    open: bool
    """True while the next line belongs to the format without one of its marks (the rows of a table)."""

    def read(self, line: str) -> Iterable[tuple[str, float]]:
        """Yield the values in a line."""

    def finish(self) -> Iterable[tuple[str, float]]:
        """Yield the values that only the end of the output determines."""


class Plain:
    """The base of readers that need no following lines."""

    open = False
    rounding = 0.0

    def read(self, line: str) -> Iterable[tuple[str, float]]:
        """Yield nothing; readers override it."""
        return ()

    def finish(self) -> Iterable[tuple[str, float]]:
        """Yield nothing: each line was complete."""
        return ()


class Patterns(Plain):
    """Regular expressions whose named groups are the metrics; a name in `_percent` becomes a share of 1."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def read(self, line: str) -> Found:
        """Yield the groups of every matching expression."""
        for pattern in self._patterns:
            match = pattern.search(line)
            for name, text in match.groupdict().items() if match else ():
                if (value := number(text)) is not None:
                    yield (name[:-8], value / 100) if name.endswith("_percent") else (name, value)


class MnistExample(Patterns):
    """PyTorch's and Horovod's MNIST examples: the accuracy is a percentage, or a fraction of correct answers."""

    def __init__(self) -> None:
        super().__init__(
            rf"Train Epoch: \d+ .*?\bLoss: (?P<loss>{NUMBER})",
            rf"Test set: Average loss: (?P<test_loss>{NUMBER})",
            rf"Test set: .*?Accuracy: (?P<accuracy_percent>{NUMBER})\s?%",
        )
        self._share = re.compile(r"Test set: .*?Accuracy: (\d+)/(\d+)")

    def read(self, line: str) -> Found:
        """Yield losses and the accuracy as a share of 1."""
        yield from super().read(line)
        match = self._share.search(line)
        if match and whole(match[2]):
            yield "accuracy", whole(match[1]) / whole(match[2])


class Pairs(Plain):
    """Names with values in lines that match an expression: Python dicts, `name: value`."""

    def __init__(self, line: str, pair: str, names: Mapping[str, str], percent: Iterable[str] = ()) -> None:
        self._line, self._pair = re.compile(line), re.compile(pair)
        self._names, self._percent = names, frozenset(percent)

    def read(self, line: str) -> Found:
        """Yield the pairs after the expression's match; `names` renames them, "" drops one."""
        start = self._line.search(line)
        for match in self._pair.finditer(line, start.start()) if start else ():
            name = self._names.get(match[1], match[1])
            value = number(match[2])
            if name and name not in _NOT_METRICS and value is not None:
                yield name, value / 100 if name in self._percent else value


class Torchtitan(Pairs):
    """torchtitan's step lines; `validate step` has only the loss of the validation set."""

    def __init__(self) -> None:
        names = {"tps": "tokens_per_s", "memory": ""}
        super().__init__(rf"\bstep:\s*\d+\s+loss:\s*(?:{NUMBER})", rf"({NAME}):\s*({NUMBER})", names, ["mfu"])

    def read(self, line: str) -> Found:
        """Yield loss, grad_norm, tokens_per_s, tflops and mfu (a share of 1)."""
        for name, value in super().read(line):
            if "validate step" not in line:
                yield name, value
            elif name == "loss":
                yield "val_loss", value


class MlLog(Plain):
    """MLPerf's `:::MLLOG {json}`: results, the time to train, and samples/s from epochs and `train_samples`."""

    _result = re.compile(r"(?!opt_|target).*(?:loss|accuracy|error|perplexity|throughput|score|auc|dice)")

    def __init__(self) -> None:
        self._samples = self._run = self._epoch = None  # type: float | None

    def read(self, line: str) -> Found:
        """Yield results; an epoch's samples/s at its end. Any text may precede or follow the mark."""
        try:
            entry, _ = json.JSONDecoder().raw_decode(line[line.index(":::MLLOG") + 8 :].lstrip())
        except (ValueError, RecursionError):
            return
        if isinstance(entry, dict):
            key, value = str(entry.get("key"))[:64], entry.get("value")
            metadata = entry.get("metadata")
            yield from self._entry(key, value, number(entry.get("time_ms")), _mapping(metadata))

    def _entry(self, key: str, value: object, time: float | None, metadata: Mapping[str, Any]) -> Found:
        if key == "train_samples":
            self._samples = number(value)
        elif key == "run_start":
            self._run = time
        elif key == "run_stop" and time is not None and self._run is not None:
            yield "time_to_train_s", (time - self._run) / 1000
        elif key == "epoch_start":
            self._epoch = time
        elif key == "epoch_stop" and time is not None and self._epoch is not None:
            epochs = number(metadata.get("epoch_count")) or 1.0
            if self._samples and time > self._epoch:
                yield "samples_per_s", self._samples * epochs * 1000 / (time - self._epoch)
            self._epoch = None
        elif key == "tracked_stats":
            for name, entry in _mapping(value).items():
                if (amount := number(entry)) is not None:
                    yield str(name)[:64], amount
        elif self._result.match(key) and (amount := number(value)) is not None:
            yield key, amount


class _Bars(Plain):
    """Progress bars of training epochs: one rate per epoch, the last one before the bar was full.

    A full bar is drawn again after the validation, whose time is then part of its rate. A bar that appears only when
    full (output that is not a terminal) has only that rate.
    """

    def __init__(self) -> None:
        self._on_its_way: tuple[float, float] | None = None
        self._full = False

    def _new_epoch(self) -> Found:
        yield from self.finish()
        self._full = False

    def _rate(self, current: int, total: int, rate: float | None, rounding: float = 0.0) -> Found:
        current_rate = (rate, rounding) if rate else None
        if current < total:
            self._on_its_way = current_rate or self._on_its_way
        elif not self._full:
            self._on_its_way = self._on_its_way or current_rate
            yield from self.finish()
            self._full = True

    def finish(self) -> Found:
        """Yield the rate of an interrupted epoch."""
        if self._on_its_way:
            rate, self.rounding = self._on_its_way
            yield "steps_per_s", rate
        self._on_its_way = None


class Keras(_Bars):
    """Keras' `fit` and `evaluate` lines. The metrics of `evaluate` become test_…, because they have the same names."""

    _epoch = re.compile(r"\s*Epoch \d+(?:/\d+)?\s*$")
    _bar = re.compile(r"(?:^|\s)(\d+)/(\d+|Unknown)\s.{0,160}?(\d+(?:\.\d+)?)(s|ms|us|µs)/(?:step|batch)")
    _elapsed = re.compile(r"\s(\d+)s\s")
    _pair = re.compile(rf" - ({NAME}): ({NUMBER})")
    _seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}

    def __init__(self) -> None:
        super().__init__()
        self._training = False
        self._total = 0

    def read(self, line: str) -> Found:
        """Yield the values in a line and, once per epoch, steps/s."""
        if self._epoch.match(line):
            yield from self._new_epoch()
            self._training = True
            return
        bar = self._bar.search(line)
        if bar is None:
            return
        current = whole(bar[1])
        total = whole(bar[2]) if bar[2].isdigit() else current + 1
        if self._training and self._full and (current < total or total != self._total):
            self._training = False
        self._total = total
        if self._training:
            yield from self._rate(current, total, *self._steps_per_s(line, bar, total))
        for name, text in self._pair.findall(line, bar.start()):
            value = number(text)
            if name not in _NOT_METRICS and value is not None:
                yield name if self._training else f"test_{name}", value

    def _steps_per_s(self, line: str, bar: re.Match[str], total: int) -> tuple[float | None, float]:
        """Return the rate by the finer of two rounded times, of a step or of a finished epoch, and its rounding error.

        Both times are whole numbers.
        """
        printed = float(bar[3])
        if whole(bar[1]) == total:
            elapsed = self._elapsed.search(line, bar.end(2))
            if elapsed and float(elapsed[1]) > printed:
                return total / float(elapsed[1]), 0.5 / float(elapsed[1])
        if not printed:
            return None, 0.0
        last_digit = 10.0 ** -len(bar[3].partition(".")[2])
        return 1 / (printed * self._seconds[bar[4]]), 0.5 * last_digit / printed


class Lightning(_Bars):
    """Lightning's training bar (tqdm's or rich's) and the table of `test` and `validate`."""

    _tqdm = re.compile(r"Epoch (\d+):.*?\|\s*(\d+)/(\d+) \[[^,\]]*,?\s*(?:([\d.]+)(it/s|s/it))?([^\]]*)\]?")
    _rich = re.compile(r"Epoch (\d+)/\S+\s+[━╸╺ ]*(?<=\s)(\d+)/(\d+)\s.{0,60}?([\d.]+)(it/s)(.*)")
    _pair = re.compile(rf"({NAME})(?:=|: )\s*({NUMBER})")
    _row = re.compile(rf"[\s│|]*({NAME})[\s│|]+({NUMBER})[\s│|]")

    def __init__(self) -> None:
        super().__init__()
        self._number = ""
        self._table = self._rows = self._more = False

    def read(self, line: str) -> Found:
        """Yield steps/s once per epoch, the bar's values, and the rows of the table."""
        match = self._tqdm.search(line) or self._rich.search(line)
        if match:
            self._table, self._more = False, "━" in line
            if match[1] != self._number:
                yield from self._new_epoch()
                self._number = match[1]
            rate = number(match[4])
            rate = 1 / rate if rate and match[5] == "s/it" else rate
            yield from self._rate(whole(match[2]), whole(match[3]), rate)
            yield from self._pairs(match[6])
        elif re.match(r"[\s┃|]*(?:Test|Validate) metric\s", line):
            self._table, self._rows, self._more = True, False, False
        elif self._table:
            row = self._row.match(line + " ")
            if row and (value := number(row[2])) is not None:
                self._rows = True
                yield row[1], value
            elif self._rows and line.strip():
                self._table = False
        elif self._more and line.startswith("    "):
            # rich breaks what does not fit on the line of the bar
            yield from self._pairs(line)
        else:
            self._more = False
        self.open = self._table or self._more

    def _pairs(self, text: str) -> Found:
        for name, value in self._pair.findall(text):
            if name not in _NOT_METRICS and (amount := number(value)) is not None:
                yield name, amount


def chainer_name(name: str) -> str:
    """Return Chainer's metric name as other frameworks have it: main/loss → loss, validation/main/loss → val_loss."""
    if name.startswith("validation/main/"):
        return f"val_{name[16:]}"
    return name.removeprefix("main/")


class Chainer(Plain):
    """The table of Chainer's PrintReport, and the speed of its ProgressBar.

    Columns are as wide as their heading, ten at least, two spaces apart; a missing value leaves its column empty.
    """

    _speed = re.compile(rf"(?<![\d.,])({NUMBER}) iters/sec\.")

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._before: dict[str, float] = {}

    def read(self, line: str) -> Found:
        """Yield a row's values; steps/s from the second row on, if there are `iteration` and `elapsed_time`."""
        speed = self._speed.search(line)
        names = line.split()
        if speed and (rate := number(speed[1])):
            yield "steps_per_s", rate
        elif len(names) > 1 and re.split(r"\s{2,}", line.strip()) == names and number(names[0]) is None:
            if any(name.startswith(("main/", "validation/")) or name == "elapsed_time" for name in names):
                self._columns, self._before = names, {}
                self.open = True
        elif self._columns:
            row = self._row(line)
            yield from chainer_values(row, self._before)
            self._before = row or self._before

    def _row(self, line: str) -> dict[str, float]:
        cells = line.split()
        if not cells or any(number(cell) is None for cell in cells):
            return {}
        if len(cells) != len(self._columns):
            cells, start = [], 0
            for name in self._columns:
                width = max(10, len(name)) + 2
                cells.append(line[start : start + width].strip())
                start += width
        row = zip(self._columns, map(number, cells), strict=True)
        return {name: value for name, value in row if value is not None}


def chainer_values(row: Mapping[str, float], before: Mapping[str, float]) -> Found:
    """Yield the values of an entry of Chainer's log, and steps/s since the previous entry (evaluations included)."""
    for name, value in row.items():
        if name not in ("epoch", "iteration", "elapsed_time"):
            yield chainer_name(name), value
    steps = row.get("iteration", 0.0) - before.get("iteration", 0.0)
    seconds = row.get("elapsed_time", 0.0) - before.get("elapsed_time", 0.0)
    if before and steps > 0 and seconds > 0:
        yield "steps_per_s", steps / seconds


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_TIME = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_AVERAGE = rf"\s*\(\s*{_TIME}\s?s?\)(?=[\s,]|$)"
_METER = re.compile(
    r"(?i)(?<![\w./-])(?:(?:batch[ _])?time:?|bt)\s+"
    rf"(?P<s>{_TIME})\s?s?(?:{_AVERAGE}|,?\s+(?:last_time:\s+\S{{1,24}}\s+)?data(?:_time)?:?\s+\d)"
    rf"|\btime \(data\):\s+(?P<basicsr>{_TIME})\s+\("
    rf"|\bbtime\(ms\):\s*(?P<ms>{_TIME})"
)
"""The time of a step beside its average or the time of its data: of ImageNet's example, DETR, MAE, mmengine, …"""
_POSITION = re.compile(
    r"(?i)\[\s*\d+\s*/\s*\d+\s*\]|(?<![a-z_])iter:\s*\d|\[\s*\d+/\d+\s*\(\s*\d+%\)\]|epoch:?\s*\[\d+\]\s*\[\s*\d"
)
"""The position in an epoch: the line is one of a step."""
_NO_TRAINING = re.compile(
    r"(?i)(?<![a-z])(?:val(?:id\w*)?|eval\w*|test(?:ing|_\w+)?|infer\w*|predict\w*|extract\w*|warm-?up|sanity|calibrat\w*)"
    r"(?![a-z])|検証|評価|テスト"
)
_NAMED = re.compile(
    r"\d+epoch:train:\d+-\d+batch:.{0,1500}?[ ,]train_time=(?P<espnet>" + _TIME + ")"
    rf"|\biter_dt\s+(?P<mingpt_ms>{_TIME})\s?ms"
    rf"|\bstep_avg:\s?(?P<nanogpt_ms>{_TIME})\s?ms"
    rf"|\"_type\":\s*\"train_iter.{{0,1500}}?\"(?:dt|time_diff)\":\s*\"?(?P<json>{_TIME})"
    rf"|\btrain_step_timing in s\s?[:=]\s*(?P<nemo>{_TIME})"
    rf"|\belapsed time per iteration \(ms\):\s*(?P<megatron_ms>{_TIME})"
)
"""Times whose name belongs to one program or framework alone."""
_GLOBAL_BATCH = re.compile(r"\bglobal[ _]batch[ _]size\s?[:=]\s*(\d{1,9})(?![\d.])")


class StepTimes(Plain):
    """Steps/s from the printed time of a step, and samples/s where the line names the global batch size."""

    def read(self, line: str) -> Found:
        """Yield the rates of a line; none of a validation's."""
        match = _NAMED.search(line) or self._meter(line)
        if match is None:
            return
        group, text = next((name, text) for name, text in match.groupdict().items() if text)
        value = number(text)
        if not value:
            return
        seconds = value / 1000 if group.endswith("ms") else value
        batch = _GLOBAL_BATCH.search(line)
        if batch and float(batch[1]):
            yield "samples_per_s", float(batch[1]) / seconds
        yield "steps_per_s", 1 / seconds

    def _meter(self, line: str) -> re.Match[str] | None:
        match, position = _METER.search(line), _POSITION.search(line)
        if match is None or position is None or position.start() > match.start():
            return None
        return None if _NO_TRAINING.search(line, 0, position.start()) else match


class DeepSpeed(Plain):
    """DeepSpeed's samples/s of all processes: the current one, not the running average."""

    _rate = re.compile(rf"(?:\bCurr|[\s,])SamplesPerSec=({NUMBER})")

    def read(self, line: str) -> Found:
        """Yield samples/s."""
        match = self._rate.search(line)
        if match and (value := number(match[1])):
            yield "samples_per_s", value


class Fairseq(Plain):
    """fairseq's words and updates per second of all processes; lines of a validation have no `ups`."""

    _pair = re.compile(rf"(?<![A-Za-z_])(?:train_)?(wps|ups)[\"']?\s?[=: ]\s?[\"']?({NUMBER})(?![\w.])")
    _names = {"wps": "tokens_per_s", "ups": "steps_per_s"}

    def read(self, line: str) -> Found:
        """Yield tokens/s and steps/s."""
        values = {name: number(text) for name, text in self._pair.findall(line)}
        if values.keys() == self._names.keys():
            for name, value in values.items():
                if value:
                    yield self._names[name], value
