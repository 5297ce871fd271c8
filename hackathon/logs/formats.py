"""Output formats that need no configuration: their table, and a log reader that uses it.

The order of the table decides: among formats with the same metric, the earlier one takes precedence. Before all of them
come the patterns of `metrics:` in project.yaml or recipe.yaml and the runtime's Meter.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hackathon.logs.lines import read_lines
from hackathon.logs.prefixes import read_prefix
from hackathon.logs.readers import (
    NAME,
    NUMBER,
    Chainer,
    DeepSpeed,
    Fairseq,
    Keras,
    Lightning,
    MlLog,
    MnistExample,
    Pairs,
    Patterns,
    Reader,
    StepTimes,
    Torchtitan,
    chainer_values,
)
from hackathon.logs.values import NumberStream, number
from hackathon.logs.words import ALL, EACH, MARKS, RATES, CustomaryWords, settled

UNITS = {
    "samples_per_s": "samples/s", "tokens_per_s": "tokens/s", "steps_per_s": "steps/s", "time_to_train_s": "s",
    "tflops": "TFLOPS",
}  # fmt: skip
"""Units of the formats' metrics."""
NAMES = 64
"""Metrics per format, at most: names come from the program's output."""
LONGEST = 2048
"""Characters of a line that the regular expressions read: their time may grow with its square."""
RANKS = 4096
"""Ranks of one log that are distinguished: prefixes come from the program's output too."""
COARSE = 0.1
"""A rate counts as coarse from this relative rounding error on."""
LOG_LIMIT = 16 << 20
"""Bytes of a Chainer log file that are read."""


@dataclass(frozen=True)
class Format:
    """The output format of one program or framework."""

    name: str
    title: str
    source: str
    """Source of the wording: package, version, file."""
    marks: tuple[str, ...]
    """Texts of which a line contains one; other lines are skipped."""
    reader: Callable[[], Reader]
    throughput: tuple[str, ...] = ()
    """Its possible throughputs for the whole job: samples_per_s, tokens_per_s, steps_per_s."""
    per_process: frozenset[str] = frozenset()
    """Those that are printed for one process and must be multiplied by the number of processes."""
    skip_first: int = 0
    """First values of a throughput that are skipped as warm-up if there are more."""
    imports: tuple[str, ...] = ()
    """Packages whose programs print it."""
    uses: str = ""
    """Expression for a name of such a package without which its programs do not print it."""
    whole: bool = False
    """True: lines may be longer than LONGEST."""
    last: bool = False
    """True: the last printed throughput counts (it is an average already), else the median."""


WORDS = Format(
    "words",
    "customary words of English and Japanese: “throughput: 812.3 samples/s”, “1567 枚/秒”, “損失 0.97”",
    "no one program",
    MARKS,
    CustomaryWords,
    tuple(name + scope for name in RATES for scope in ("", EACH, ALL)),
)
FORMATS: tuple[Format, ...] = (
    Format(
        "mllog", "MLPerf (:::MLLOG)", "mlperf-logging 4.1.68, mlperf_logging/mllog/mllog.py",
        (":::MLLOG",), MlLog, ("samples_per_s",), imports=("mlperf_logging",), whole=True,
    ),
    Format(
        # tps is tokens per second and device: components/metrics.py, MetricsProcessor.log
        "torchtitan", "torchtitan", "torchtitan (commit 00fbaaf), torchtitan/components/metrics.py",
        ("tps:",), Torchtitan, ("tokens_per_s",), frozenset({"tokens_per_s", "tflops"}), skip_first=1,
        imports=("torchtitan",),
    ),
    Format(
        # samples, steps and tokens are those of all processes: callers of trainer_utils.speed_metrics in trainer.py
        "transformers", "Hugging Face Trainer", "transformers 5.23.0 and 4.x, src/transformers/trainer_callback.py",
        ("{'",),
        lambda: Pairs(
            r"\{'(?:loss|grad_norm|learning_rate|train_\w+|eval_\w+|epoch)': ", rf"'({NAME})': '?({NUMBER})(?![\w.])",
            {"train_samples_per_second": "samples_per_s", "train_steps_per_second": "steps_per_s",
             "train_tokens_per_second": "tokens_per_s"},
        ),
        ("samples_per_s", "tokens_per_s", "steps_per_s"), imports=("transformers", "trl"), last=True,
        uses=r"Trainer\b",
    ),
    Format(
        "lightning", "Lightning's bar, or one like it",
        "lightning 2.6.6, pytorch/callbacks/progress/*, pytorch/loops/evaluation_loop.py",
        ("it/s", "s/it", "Test metric", "Validate metric", "Epoch "), Lightning, ("steps_per_s",), skip_first=1,
        imports=("lightning", "pytorch_lightning"),
    ),
    Format(
        "keras", "Keras", "keras 3, keras/src/utils/progbar.py; tf-keras 2, tf_keras/utils/generic_utils.py",
        ("/step", "Epoch "), Keras, ("steps_per_s",), skip_first=1, imports=("keras", "tf_keras", "tensorflow"),
    ),
    Format(
        "chainer", "Chainer (PrintReport, ProgressBar, LogReport's file)",
        "chainer 7.8.1, chainer/training/extensions/{print_report,progress_bar,log_report}.py",
        ("main/", "elapsed_time", "iters/sec"), Chainer, ("steps_per_s",), imports=("chainer", "chainermn"),
    ),
    Format(
        "total", "Horovod's synthetic benchmarks, TensorFlow's benchmarks",
        "horovod 0.28.1, examples/*/*_synthetic_benchmark.py; tensorflow/benchmarks, benchmark_cnn.py",
        ("/sec",),
        lambda: Patterns(rf"(?i)total (?:img|images|samples)/sec[^:]*:\s*(?P<samples_per_s>{NUMBER})"),
        ("samples_per_s",), imports=("horovod",), last=True,
    ),
    Format(
        "iterations", "Horovod's synthetic benchmarks while they run",
        "horovod 0.28.1, examples/*/*_synthetic_benchmark.py",
        ("/sec per ",),
        lambda: Patterns(rf"Iter #\d+: (?P<samples_per_s>{NUMBER}) (?:img|images|samples)/sec per "),
        ("samples_per_s",), frozenset({"samples_per_s"}),
    ),
    Format(
        "mnist", "PyTorch's and Horovod's MNIST examples",
        "horovod 0.28.1, examples/pytorch/pytorch_mnist.py; pytorch/examples, mnist/main.py",
        ("Train Epoch:", "Test set:"), MnistExample,
    ),
    Format(
        "deepspeed", "DeepSpeed", "deepspeed, deepspeed/utils/timer.py",
        ("SamplesPerSec=",), DeepSpeed, ("samples_per_s",), skip_first=1, imports=("deepspeed",),
    ),
    Format(
        "fairseq", "fairseq", "fairseq, fairseq/logging/progress_bar.py, fairseq/trainer.py",
        ("wps",), Fairseq, ("tokens_per_s", "steps_per_s"), skip_first=1,
    ),
    Format(
        "steps", "times of a step (ImageNet example, DETR, MAE, mmengine, detectron2, ESPnet, Megatron-LM, NeMo, …)",
        "pytorch/examples, imagenet/main.py; facebookresearch/detr, util/misc.py; mmengine, runner/log_processor.py; "
        "detectron2, utils/events.py; espnet2/train/reporter.py; Megatron-LM, training/training.py",
        ("time", "Time", "timing", "BT ", "iter_dt", "step_avg", '"_type"'), StepTimes,
        ("samples_per_s", "steps_per_s"), skip_first=1,
    ),
    WORDS,
)  # fmt: skip


class Speaker:
    """Reads lines of one log with all formats; of several labelled ranks, the lowest with values counts."""

    def __init__(self, formats: Iterable[Format] = FORMATS, *, shared: bool = False) -> None:
        self._formats = tuple(formats)
        self._shared = shared
        self._marks = tuple({mark for form in self._formats for mark in form.marks})
        self._ranks: dict[int, list[tuple[Format, Reader]]] = {}
        self._speaks: int | None = None
        self._open: set[int] = set()
        self.values: dict[tuple[str, str], tuple[NumberStream, NumberStream]] = {}
        """(format, metric) → all values, and those without the warm-up."""

    def read(self, line: str) -> None:
        """Read a line; only LONGEST characters of it unless the format is JSON."""
        if not self._open and not any(mark in line for mark in self._marks):
            return
        # A label of srun looks like a program's own number, so it counts only in a shared log.
        prefixed = read_prefix(line, 0.0, labelled=self._shared)
        rank, line = prefixed.rank or 0, prefixed.text
        if self._speaks is not None and rank > self._speaks:
            return
        readers = self._ranks.get(rank)
        if readers is None and len(self._ranks) >= RANKS:
            return
        if readers is None:
            readers = self._ranks[rank] = [(form, form.reader()) for form in self._formats]
        start = line[:LONGEST]
        for form, reader in readers:
            if reader.open or any(mark in line for mark in form.marks):
                self._take(rank, form, reader.read(line if form.whole else start))
        if any(reader.open for _, reader in readers):
            self._open.add(rank)
        else:
            self._open.discard(rank)

    def _take(self, rank: int, form: Format, numbers: Iterable[tuple[str, float]]) -> None:
        for name, value in numbers:
            if name in form.throughput and not math.isfinite(value):  # a progress bar that has not moved yet
                continue
            if self._speaks is None or rank < self._speaks:
                self.values.clear()
                self._speaks = rank
                self._ranks = {number: readers for number, readers in self._ranks.items() if number <= rank}
                self._open = {number for number in self._open if number <= rank}
            if (form.name, name) not in self.values:
                if sum(1 for form_name, _ in self.values if form_name == form.name) >= NAMES:
                    continue
                skip = form.skip_first if name in form.throughput else 0
                self.values[form.name, name] = NumberStream(), NumberStream(skip)
            for stream in self.values[form.name, name]:
                stream.add(value)

    def finish(self, processes: int) -> dict[tuple[str, str], float]:
        """Return (format, metric) → the final number, for the whole job."""
        for form, reader in self._ranks.get(self._speaks or 0, ()):
            self._take(self._speaks or 0, form, reader.finish())
        numbers = {}
        formats = {form.name: form for form in self._formats}
        for (name, metric), (every, warm) in self.values.items():
            form = formats[name]
            how = "median" if metric in form.throughput and not form.last else "last"
            value = warm.reduce(how)
            value = every.reduce(how) if value is None else value
            if value is not None and (processes or metric not in form.per_process):
                numbers[name, metric] = value * (processes if metric in form.per_process else 1)
        return numbers

    @property
    def coarse(self) -> set[str]:
        """Return the formats whose last rate has a rounding error above COARSE."""
        return {form.name for form, reader in self._ranks.get(self._speaks or 0, ()) if reader.rounding > COARSE}


def expected(program: str) -> list[Format]:
    """Return the formats for a program's imports, in the table's order."""
    imports = set(re.findall(r"^[ \t]*(?:import|from)[ \t]+([A-Za-z_]\w*)", program, re.MULTILINE))
    return [form for form in FORMATS if imports & set(form.imports) and re.search(form.uses, program)]


def read_formats(
    logs: Sequence[Path], shared: Path, folders: Iterable[Path], *, processes: int, torn: bool
) -> tuple[dict[str, float], dict[str, str]]:
    """Return a run's numbers by the formats: metric → final number, and metric → how reliable it is.

    Reliability: as in `words.settled`, or `coarse` for few digits. `logs`: those of the ranks, lowest first; the first
    with values counts; if it has only common words without a rate, the next ones are read, until one has a rate or a
    known format. `shared`: the log of all ranks, read last. `folders`: the program's working folders; a file `log` of
    Chainer's LogReport below them supplies missing metrics. `torn`: the last lines are complete even without a line
    end. Memory does not grow with the logs.
    """
    numbers: dict[tuple[str, str], float] = {}
    coarse: set[str] = set()
    for path in [*logs, shared]:
        speaker = _heard(path, FORMATS, path == shared, torn)
        spoken, before = speaker.finish(processes), {form for form, _ in numbers}
        coarse |= speaker.coarse - before
        for name, value in spoken.items():
            numbers.setdefault(name, value)
        if any(form != WORDS.name or metric in WORDS.throughput for form, metric in numbers):
            break
    for metric, value in _chainer_log(folders).items():
        numbers["chainer", metric] = value
    order = [form.name for form in FORMATS]
    chosen: dict[str, float] = {}
    for (form, metric), value in sorted(numbers.items(), key=lambda entry: order.index(entry[0][0])):
        if form != WORDS.name:
            chosen.setdefault(metric, value)
    words = {metric: value for (form, metric), value in numbers.items() if form == WORDS.name}
    values, sure = settled(words, _sum_of_all(words, logs, processes, torn), processes)
    # a framework's format is more reliable than common words in the same lines
    paced, scored = any(name in RATES for name in chosen), any(name not in UNITS for name in chosen)
    for metric, value in values.items():
        if metric in chosen or (scored if metric not in RATES else paced and metric == "steps_per_s"):
            sure.pop(metric, None)
        else:
            chosen[metric] = value
    rough = {metric for (form, metric), value in numbers.items() if form in coarse and chosen.get(metric) == value}
    return chosen, sure | dict.fromkeys(rough & set(RATES), "coarse")


def _heard(path: Path, formats: Iterable[Format], shared: bool, torn: bool) -> Speaker:
    speaker = Speaker(formats, shared=shared)
    for line in read_lines(path, torn=torn):
        speaker.read(line)
    return speaker


def _sum_of_all(rates: Mapping[str, float], logs: Sequence[Path], processes: int, torn: bool) -> dict[str, float]:
    """Return rate → the sum over the logs of all ranks, if each has a rate of one process; others are omitted."""
    names = [name + EACH for name in RATES if name + EACH in rates and name + ALL not in rates]
    if not names or processes < 2 or len(logs) != processes:
        return {}
    sums = dict.fromkeys(names, 0.0)
    for path in logs:
        spoken = _heard(path, [WORDS], False, torn).finish(processes)
        sums = {name: total + spoken[WORDS.name, name] for name, total in sums.items() if (WORDS.name, name) in spoken}
        if not sums:
            break
    return {name.removesuffix(EACH): value for name, value in sums.items()}


def _chainer_log(folders: Iterable[Path]) -> dict[str, float]:
    """Return the last values of the first LogReport file (a JSON list of entries), and the median of steps/s."""
    for path in _log_files(folders):
        try:
            if path.stat().st_size > LOG_LIMIT:
                continue
            entries = json.loads(path.read_text("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(entries, list) and entries and all(_entry(entry) for entry in entries):
            values: dict[str, NumberStream] = {}
            before: Mapping[str, float] = {}
            for entry in entries:
                row = {str(name)[:64]: amount for name, raw in entry.items() if (amount := number(raw)) is not None}
                for metric, value in chainer_values(row, before):
                    if metric in values or len(values) < NAMES:
                        values.setdefault(metric, NumberStream()).add(value)
                before = row
            reduced = {name: stream.reduce("median" if name in UNITS else "last") for name, stream in values.items()}
            return {name: value for name, value in reduced.items() if value is not None and not math.isinf(value)}
    return {}


def _entry(value: object) -> bool:
    return isinstance(value, dict) and {"epoch", "iteration", "elapsed_time"} <= value.keys()


def _log_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for pattern in ("log", "*/log", "*/*/log"):
            for path in sorted(folder.glob(pattern))[:16]:
                if path.is_file():
                    yield path
