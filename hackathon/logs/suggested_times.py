"""Find times of an epoch or a step in a program's output, `epoch 3 loss 0.6 time 1.3s`, for `suggest`.

Only words for such a time count: those of a part (`data time`), of the whole run so far (`total time`) and of the rest
(`ETA`) do not. A time that grows from line to line counts from the start, whatever its name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hackathon.logs.words import BAR, NO_TRAINING, NOT_REACHED

NAMES = ("epoch_time", "step_time", "time")
LEAST_OF_ELAPSED = 3
"""Values of a doubtful time that are needed to decide whether it counts from the start."""
_NUMBER = r"(?P<number>\d[\d,]*(?:\.\d+)?)"
_SECONDS = r"(?P<time>ms|msecs?|s|secs?|seconds?|min|minutes?|ミリ秒|秒|分)"
_ANY = re.compile(rf"(?i)\d\s?{_SECONDS}(?![a-z0-9_])|time|s(?:ec)?/kimg")
"""Lines without a match are skipped."""
_THING = r"(?:epoch|step|iteration|iter|batch|training|train)"
_SPENT = r"(?:\s(?:taken|consumed|cost|costs|used|spent))?"
_WORDS = (
    rf"(?:(?:{_THING}|wall|avg|average|mean)[ _-]?)?(?:time{_SPENT}|duration|took|takes|elapsed(?:[ _-]time)?|elapse)"
    rf"(?:\s(?:taken\s)?(?:for|of|per)\s(?:(?:an|each|one|1)\s)?{_THING}(?:\s\d{{1,9}})?|/{_THING})?(?:\s(?:is|was))?"
    rf"|{_THING}\s\[?\d{{1,9}}(?:/\d{{1,9}})?\]?\s?(?:took|takes|(?:finished|done|completed|ended)\sin|in|(?=:))"
    r"|step(?=:)"
    r"|(?:(?:1\s?)?(?:エポック|ステップ|イテレーション|反復|バッチ|学習|訓練)(?:\s?\d{1,9}\s?)?(?:の|あたりの)?)?"
    r"(?:所要|処理|計算|実行|学習|訓練|経過)?時間[はが]?"
)
_NAMED = re.compile(
    rf"(?i)(?<![\w.-])(?P<words>(?:{_WORDS})\s{{0,2}}[:=]?\s{{0,8}}){_NUMBER}(?P<unit>\s?{_SECONDS})"
    r"(?![\w/]|\s?\d|\sand\s\d)"
)
_PER = re.compile(
    rf"(?i)(?<![\w.,:-])(?P<words>){_NUMBER}(?P<unit>\s?{_SECONDS}(?:\s?/\s?|\sper\s)"
    rf"(?:{_THING}|it|エポック|ステップ))(?![\w/])"
)
_UNIT_FIRST = re.compile(
    rf"(?i)(?<![\w.-])(?P<words>(?:(?:{_WORDS})\s?[(\[]{_SECONDS}[)\]]|sec/kimg)\s{{0,2}}[:=]?\s{{0,8}}){_NUMBER}"
    r"(?P<unit>)(?![\w.:/%])"
)
_BARE = re.compile(
    rf"(?i)(?<![\w./-])(?P<words>[\"']?(?:(?:{_THING}|wall|avg|average|mean)[ _-]?)?time{_SPENT}[\"']?"
    r"(?:\s{0,2}[:=]\s{0,8}|\s{1,8}))(?P<number>\d{1,5}\.\d+)(?P<unit>)(?P<time>)(?![\w.:/%])"
    r"(?!\s?(?:[kmg]i?b|m?s(?:ec\w*)?|min\w*|h(?:ours?)?|ミリ秒|秒|分)(?![a-z0-9_]))"
    r"(?=\s*[,;|)\]}]|\s{1,8}[^\s\d]|\s*$)"
)
"""A time without a unit: probably in seconds."""
_BRACKETS = re.compile(rf"(?i)(?P<words>[(\[]){_NUMBER}(?P<unit>\s?{_SECONDS}[)\]])")
_BEFORE = re.compile(r"(?<![^\W_])([^\W\d_]+)[ :]*$")
_MAY_STAND_BEFORE = frozenset(
    {
        "epoch", "step", "iteration", "iter", "train", "training", "done", "finished", "completed", "avg", "average",
        "mean", "time", "took", "takes", "speed", "pace", "in", "at", "s", "sec", "ms", "秒",
    }
)  # fmt: skip
_EPOCH = re.compile(r"(?i)epoch|エポック")
_STEP = re.compile(
    r"(?i)(?<![A-Za-z])(?:steps?|iterations?|iters?|it|batch)(?![A-Za-z])|ステップ|イテレーション|反復|バッチ"
)
_PLACE_IN_EPOCH = re.compile(r"(?i)(?:epoch|エポック)\W{0,4}\d+(?:\s?/\s?\d+)?\W{1,6}\d+\s?/\s?\d+")
"""`Epoch: [1][10/100]`: the line is one of a step, whatever its words."""
_LEFT = re.compile(r"(?i)\s*(?:left|remaining|to go|残り)")
"""After a number: it is remaining time."""
_EVALUATION = re.compile(
    r"(?i)\b(?:valid(?:ation|ating)?|val|eval(?:uation|uating)?|test(?:ing)?|inference)\b(?!\s(?:loss|acc|error))"
    r"|検証|評価|テスト"
)
_UNITS = {"m": "min", "ミ": "ms", "秒": "s", "分": "min", "s": "s"}


@dataclass(frozen=True)
class FoundTime:
    """A number in a line that is a time of an epoch or a step."""

    name: str
    """One of NAMES; `time` if the line names neither an epoch nor a step."""
    words: str
    """The text directly before the number, part of the pattern."""
    start: int
    """Position of the number."""
    behind: str
    unit: str
    doubtful: bool
    """Whether several values are needed to show that it does not count from the start, or is not a setup time."""


def times(line: str) -> Iterator[FoundTime]:
    """Yield the times of an epoch or a step in a line; none after a word for validation."""
    if not _ANY.search(line):
        return
    bar = BAR.search(line)
    if bar and NO_TRAINING.search(line, 0, bar.start()):  # e.g. of a download
        return
    evaluation = _EVALUATION.search(line)
    for form in (_NAMED, _UNIT_FIRST, _PER, _BRACKETS, _BARE):
        for match in form.finditer(line):
            if (evaluation and evaluation.start() < match.start()) or _LEFT.match(line, match.end()):
                continue
            before = line[max(0, match.start() - 40) : match.start()]
            last = _BEFORE.search(before)
            clause = re.split(r"[\d,;|]", before)[-1] + match["words"]
            if (last and last[1].lower() not in _MAY_STAND_BEFORE) or NO_TRAINING.search(clause):
                continue
            wording = match["words"] + match["unit"]
            step = _STEP.search(wording) or (
                not _EPOCH.search(wording) and (_STEP.search(line) or _PLACE_IN_EPOCH.search(line))
            )
            name = "step_time" if step else "epoch_time" if _EPOCH.search(line) else "time"
            if NOT_REACHED.search(clause) or (form in (_BRACKETS, _BARE) and name == "time"):
                continue
            if form is _BARE and line.count("(", 0, match.start()) > line.count(")", 0, match.start()):
                continue  # a sample's time: CycleGAN's `(epoch: 1, iters: 100, time: 0.1)`
            if form is _BARE and "train_time=" in line and not match["words"].startswith("train"):
                continue  # ESPnet's `iter_time` is the time of the data
            time = (match["time"] or "s").lower()
            unit = "ms" if time.startswith("ms") else _UNITS[time[0]]
            if wording.lower().startswith("sec/kimg"):
                name, step, unit = "time", None, "s/kimg"
            yield FoundTime(
                name, match["words"], match.start("number"), match["unit"], unit + "/step" if step else unit,
                name == "time" or form is _BARE or re.search("(?i)elapse|経過", wording) is not None,
            )  # fmt: skip


class Growth:
    """Whether the values of a log grow all the time, as a time since the start does."""

    def __init__(self) -> None:
        self.count = self.rises = 0
        self.first = self.last = 0.0

    def add(self, value: float) -> None:
        """Add the next value."""
        if self.count:
            self.rises += value > self.last
        else:
            self.first = value
        self.count += 1
        self.last = value

    @property
    def steady(self) -> bool:
        """Return True if nearly all values exceed the previous one; for few values, if they grow much."""
        pairs = self.count - 1
        if pairs < 4:
            return pairs > 0 and self.rises == pairs and self.last >= 1.5 * self.first
        return self.rises >= 0.8 * pairs
