"""Numbers with common words of English and Japanese: `1567 枚/秒`, `imgs/sec/gpu: 312`, `損失：０．９７`.

Text that only looks like a result is ignored: progress of downloads, echoes of a configuration, targets, file names.
Every expression begins at a word or a number and has no nested repeat: a line takes time in proportion to its length.
"""

import re
import unicodedata
from collections.abc import Mapping

from hackathon.logs.readers import Found, Plain
from hackathon.logs.values import number

EACH, ALL = "/each", "/all"
"""Suffixes of names until `settled`: by its unit, the number is one process's, or that of all."""
MARKS = (
    "/s", "/S", "/ s", "/秒", "／秒", "毎秒", "秒間", "秒あたり", "秒当たり", "per s", "per_s", "loss", "Loss", "LOSS",
    "損失", "精度", "正解率", "正答率", "acc", "Acc", "ACC", "op-1", "op-5", "op1", "op5", "rec@", "/it", "/batch",
    "per batch", "step time", "Step time", "step_time", "per step", "ステップ", "反復", "イテレーション", "バッチ",
)  # fmt: skip
"""Lines with none of these are skipped."""
RATES = ("samples_per_s", "tokens_per_s", "steps_per_s")
_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
_START = r"(?<![A-Za-z0-9_.,])(?<![0-9][:/-])"
_END = r"(?![A-Za-z0-9_/@-]|[.,:][0-9A-Za-z])"
_DEVICE = r"(?:1\s?)?(?:gpus?|devices?|process(?:es)?|procs?|ranks?|cards?|workers?|プロセス|カード|デバイス|ランク)"
_STEP = r"(?:steps?|iterations?|iters?|it|batch(?:es)?|ステップ|イテレーション|反復|バッチ)"
_THING = rf"(?:samples?|images?|imgs?|examples?|sequences?|seqs?|サンプル|画像|枚|tokens?|toks?|トークン|{_STEP})"
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "千": 1e3, "万": 1e4, "億": 1e8}
_UNIT = (
    rf"(?i:(?P<thing>{_THING})(?P<in>\s?/\s?{_DEVICE})?(?:\s?/\s?|\sper\s|_per_|-per-)(?:seconds?|secs?|s|秒)"
    rf"(?P<each>(?:\s?/\s?|\sper\s|_per_|-per-|・){_DEVICE})?(?![a-z0-9_]|/[a-z]|\sper\s[a-z]))"
)
_TIME = r"(?:ms|msec|us|μs|s|secs?|seconds?|ミリ秒|マイクロ秒|秒)"
_SECONDS = {"ms": 1e-3, "msec": 1e-3, "ミリ秒": 1e-3, "us": 1e-6, "μs": 1e-6, "マイクロ秒": 1e-6}
_IS = r"['\")\]]{0,2}(?:\s{0,4}[:=]|\s?[はが]|(?=\s))\s{0,8}約?"
_VALUE_UNIT = re.compile(rf"{_START}(?P<number>{_NUMBER})\s?(?P<factor>[kKM千万億])?\s?[\[(]?{_UNIT}")
_UNIT_VALUE = re.compile(
    r"(?<![A-Za-z0-9_/.-])(?:throughput/(?P<device>device/)?)?(?P<whole>total_|global_|overall_)?(?:train(?:ing)?_|avg_|mean_)?"
    rf"{_UNIT}(?P<is>{_IS})(?P<number>{_NUMBER})"
    rf"(?:\s?(?P<factor>[kKM千万億])(?![A-Za-z]))?{_END}"
)
_EVERY_SECOND = re.compile(
    rf"(?:毎秒|秒間|秒(?:あたり|当たり))[^0-9\n]{{0,12}}?(?<![0-9.,])(?P<number>{_NUMBER})"
    rf"\s?(?P<factor>[kKM千万億])?\s?(?P<thing>{_THING})(?![/A-Za-z])"
)
_VALUE_TIME = re.compile(rf"{_START}({_NUMBER})\s?({_TIME})(?:\s?/\s?|\sper\s)(?i:{_STEP})(?![A-Za-z0-9_/])")
_TIME_VALUE = re.compile(rf"(?<![A-Za-z0-9_/.])({_TIME})\s?/\s?(?i:{_STEP})(?![A-Za-z0-9_/]){_IS}({_NUMBER}){_END}")
_STEP_TIME = re.compile(
    r"(?:(?i:(?<![A-Za-z0-9_])(?:(?:step|iteration|iter|batch)[ _-]?time|time\s?(?:per|/)\s?(?:step|iteration|batch)))"
    rf"|(?:ステップ|イテレーション|反復|バッチ)(?:の?時間|あたり|当たり)){_IS}({_NUMBER})\s?({_TIME})(?![A-Za-z0-9_/])"
)
_SCORE = re.compile(
    r"(?<![A-Za-z0-9_./@?&-])(?i:(?P<part>train(?:ing)?|validation|valid|val|dev|evaluation|eval|test|total|average|avg"
    r"|mean|学習|訓練|検証|評価|テスト|平均)[ _/.-]?)?"
    r"(?:(?P<loss>(?i:loss)|損失)|(?i:(?:acc(?:uracy)?|prec)@|top[-_ ]?)(?P<top>[15])(?i:[-_ ]acc(?:uracy)?)?"
    r"|acc(?P<acc>[15])|(?P<accuracy>(?i:acc(?:uracy)?)|精度|正解率|正答率))(?:値)?"
    rf"(?P<is>['\"]?(?:\s{{0,4}}[:=]|\s?[はが]|\s)\s{{0,8}}|(?<=[失度率値])['\"]?)"
    rf"(?P<value>[-+]?{_NUMBER}|(?i:nan|[-+]?inf(?:inity)?)(?![A-Za-z]))"
    rf"(?:/(?P<of>[0-9]+))?(?:\s?(?P<percent>%))?{_END}(?!\s{{0,4}}[*^]|\s?(?:ms|sec|[MG]i?B)(?![a-z]))"
)
_PARTS = {
    "validation": "val_", "valid": "val_", "val": "val_", "dev": "val_", "検証": "val_", "evaluation": "eval_",
    "eval": "eval_", "評価": "eval_", "test": "test_", "テスト": "test_", "train": "train_", "training": "train_",
    "学習": "train_", "訓練": "train_",
}  # fmt: skip
ECHO = re.compile(
    r"(?i)\b(?:namespace|argparse)\s?\(|\b(?:kw)?args\s?[:={(\[]|\b(?:arguments|argv|config(?:uration)?|hparams|overrides"
    r"|hyper-?param(?:eter)?s|options|settings)\s?[:={(\[]|(?:設定|引数|パラメータ)\s?[:={(\[]|\.py['\"]?,?\s+\S{0,64}[=-]"
    r"|^\s{0,64}(?:[+$]\s|>>>|File \")"
)
"""Lines that echo the program's arguments or structure."""
NOT_REACHED = re.compile(
    r"(?i)(?:\b(?:targets?|goal|threshold|best|min(?:imum)?|max(?:imum)?|initial|required?|expected|baseline|desired|peak"
    r"|theoretical|ideal|limit|packet|previous|tolerance)|目標|しきい値|閾値|最小|最大|最良|最高|ベスト|初期|基準|期待|理論"
    r"|許容|混合|[半単倍])(?:[\s_]?(?:of|was|the|の|throughput|speed|スループット|速度|性能))?[\s:=_(-]{0,3}$"
)
"""Before a number: it is a target, or the best of several."""
NO_TRAINING = re.compile(
    r"(?i)\b(?:down|up)?load|\bdata(?:\b(?!\s?parallel)|set|_?load)|preprocess|tokeniz|\bextract|\bdecod|\bcach|\bmap\b|\bfilter"
    r"|generating|\bsav(?:e|ing)|\bread(?:ing)?\b|\bcopy|valid|\bval\b|\beval|\btest|\bsanity|warm-?up|読み?込|ダウンロード"
    r"|前処理|展開|評価|検証|テスト|ウォームアップ|データ(?!並列)"
)
"""Before a rate: it does not concern the training."""
BAR = re.compile(r"%\||\[[0-9]{1,4}:[0-9]{2}(?::[0-9]{2})?[<,]")
"""In a progress bar, after its subject."""
_OF_DATASETS = re.compile(r" examples/s(?:, [^\]]{0,80})?\]")
"""The end of a progress bar of the package datasets, whatever its subject is called: it prepares data."""
_ALL_BEFORE = re.compile(r"(?i)\b(?:total|global|overall|aggregated?|all)\b|合計|全体|全GPU|全プロセス|トータル|総計")
_ALL_BEHIND = re.compile(
    r"\s?[(\[]?(?i:(?:in\s)?(?:total|overall|aggregated?|global|all)|合計|全体)(?![A-Za-z])(?!\s?[:=]?\s{0,4}[0-9])"
    rf"|\s(?i:on|over|across|with)\s[0-9]{{1,9}}\s(?i:{_DEVICE})"
)
_ALL_IN_BRACKETS = re.compile(r"\s?[(\[](?i:(?:in\s)?total|overall|aggregated?|global|all|合計|全体)[)\]]")
_EACH_BEFORE = re.compile(rf"(?i)(?:\bper[-_ ]|/\s?){_DEVICE}\b|(?:GPU|{_DEVICE})\s?(?:あたり|当たり|毎|ごと)")
_EACH_BEHIND = re.compile(
    rf"(?i)\s?[(\[]?(?:per[- ]|/\s?)(?:{_DEVICE})\b|\s?[(\[]?(?:1\s?)?(?:GPU|{_DEVICE})\s?(?:あたり|当たり)"
)
_CUT = re.compile(r"[0-9,;|、。]")
_NAMED = re.compile(r"(?<![0-9A-Za-z_])([A-Za-z_]{1,24}|[ぁ-んァ-ヶ一-龥ー]{1,16})\s{0,2}[:=]?\s{0,4}$")
_QUALIFIED = re.compile(r"(?<![A-Za-z0-9_/])([A-Za-z]{1,32})[ -]$|([ァ-ヶ一-龥ー]{1,32})$")
_OF_THE_WHOLE = frozenset(
    {
        "the", "step", "epoch", "iter", "iteration", "batch", "running", "current", "final", "last", "and", "with",
        "has", "info", "now", "of", "new", "entropy", "model", "lm", "classification", "prediction", "end", "認識",
        "分類", "識別", "予測", "推論", "最終", "現在", "全体", "総", "毎",
    }
)  # fmt: skip
"""Words that may precede `loss` and `accuracy`; after any other word, as in `box loss`, it is that of a part."""
_OF_A_STEP = frozenset(
    {
        "time", "step", "steps", "step_time", "speed", "avg", "average", "mean", "median", "at", "took", "takes",
        "per", "is", "iteration", "iter", "batch", "train", "training", "elapsed", "平均", "時間", "速度", "処理時間",
        "学習", "学習時間", "学習速度", "実行時間", "約", "は", "が",
    }
)  # fmt: skip
_OF_SPEED = _OF_A_STEP | frozenset(
    {
        "throughput", "performance", "rate", "total", "global", "overall", "スループット", "処理速度", "性能",
        "合計", "全体",
    }
)  # fmt: skip


class CustomaryWords(Plain):
    """Rates, losses and accuracies in common wordings of any program."""

    def __init__(self) -> None:
        self._percent: set[str] = set()
        """Accuracies that exceeded 1 without a sign: they are percentages, small ones too."""

    def read(self, line: str) -> Found:
        """Yield samples/s, tokens/s, steps/s (with EACH or ALL according to the unit), losses, accuracies."""
        text = line if line.isascii() else unicodedata.normalize("NFKC", line)
        if ECHO.search(text):
            return
        if not prepares(text):
            yield from _rates(text)
            yield from _step_times(text)
        for match in _SCORE.finditer(text):
            yield from self._score(match, text)

    def _score(self, match: re.Match[str], text: str) -> Found:
        value = number(match["value"])
        before = text[max(0, match.start() - 32) : match.start()]
        qualified = _QUALIFIED.search(before)
        if value is None or NOT_REACHED.search(before):
            return
        if not match["part"] and qualified and (qualified[1] or qualified[2]).lower() not in _OF_THE_WHOLE:
            return
        part = _PARTS.get((match["part"] or "").lower(), "")
        rough = not any(sign in match["value"].lower() for sign in ".en")  # a whole number is more often a count
        named = ":" in match["is"] or "=" in match["is"]
        if match["loss"]:
            if not match["percent"] and not match["of"] and (named or not rough):
                yield ("" if part == "train_" else part) + "loss", value
            return
        top = match["top"] or match["acc"]
        name = part + (f"top{top}" if top else "accuracy")
        if match["of"]:
            of = number(match["of"])
            if of and rough and value <= of:
                yield name, value / of
        elif match["percent"]:
            if 0 <= value <= 100:
                yield name, value / 100
        elif not rough and not value < 0 and not value > 100:
            if value > 1:
                self._percent.add(name)
            yield name, value / 100 if name in self._percent else value


def prepares(text: str) -> bool:
    """Return whether a line is a progress bar of something else than training: loading, tokenising, evaluating."""
    bar = BAR.search(text)
    return bar is not None and bool(NO_TRAINING.search(text, 0, bar.start()) or _OF_DATASETS.search(text, bar.start()))


def settled(
    numbers: Mapping[str, float], sums: Mapping[str, float], processes: int
) -> tuple[dict[str, float], dict[str, str]]:
    """Return `CustomaryWords`' results as metric → number of the whole job, and metric → how reliable that is.

    Without `processes` the job's number is unknown if each process prints its own rate. `sums`: rate → the sum over all
    processes, if each log has its own; else that of one is multiplied. Reliability: `sum`, `times`, or `unsure` if the
    unit names neither one process nor all.
    """
    values = {name: value for name, value in numbers.items() if not name.endswith((EACH, ALL))}
    how: dict[str, str] = {}
    for name in RATES:
        if name + ALL in numbers:
            values[name] = numbers[name + ALL]
        elif name + EACH in numbers and (processes or name in sums):
            values[name] = sums.get(name, numbers[name + EACH] * processes)
            how[name] = "sum" if name in sums else "times"
        elif name in values and name != "steps_per_s":
            how[name] = "unsure"
    return values, how if processes > 1 else {}


def _rates(text: str) -> Found:
    taken: list[tuple[int, int]] = []
    for match in _VALUE_UNIT.finditer(text):
        follows = _UNIT_VALUE.match(text, match.start("thing"))
        named = _NAMED.search(text, max(0, match.start() - 40), match.start())
        # “loss 0.05 samples/s 90”: the number before the unit belongs to another word
        if follows and (":" in follows["is"] or "=" in follows["is"] or _of_another(named)):
            continue
        taken.append(match.span())
        yield from _rate(text, match, match.start(), match.end())
    for match in _UNIT_VALUE.finditer(text):
        if not any(start <= match.start() < end for start, end in taken):
            yield from _rate(text, match, match.start(), match.start())
    for match in _EVERY_SECOND.finditer(text):
        yield from _rate(text, match, match.start(), match.end())


def _of_another(named: re.Match[str] | None) -> bool:
    return named is not None and named[1].lower() not in _OF_SPEED


def _rate(text: str, match: re.Match[str], start: int, end: int) -> Found:
    """Yield the rate of a match; `start`: where its words begin, `end`: after its unit, or `start` without one."""
    groups = match.groupdict()
    rate, factor = number(match["number"]), _FACTORS.get(match["factor"] or "", 1.0)
    before = _clause(text, start)
    if rate is None or NO_TRAINING.search(before) or NOT_REACHED.search(before):
        return
    unit = match["thing"].lower()
    name = "tokens" if unit.startswith(("tok", "トークン")) else "samples"
    if re.fullmatch(_STEP, unit):
        if factor == 1.0:
            yield "steps_per_s", rate
        return
    behind = end > start and _EACH_BEHIND.match(text, end)
    if groups.get("in") or groups.get("each") or groups.get("device") or behind or _EACH_BEFORE.search(before):
        scope = EACH
    elif (
        groups.get("whole")
        or _ALL_BEFORE.search(before)
        or (_ALL_BEHIND.match(text, end) if end > start else _ALL_IN_BRACKETS.match(text, match.end()))
    ):
        scope = ALL
    else:
        scope = ""
    yield f"{name}_per_s{scope}", rate * factor


def _clause(text: str, start: int) -> str:
    """Return the words directly before a position: at most 40 characters, after the last number or comma."""
    return _CUT.split(text[max(0, start - 40) : start])[-1]


def _step_times(text: str) -> Found:
    for match in _VALUE_TIME.finditer(text):
        if _of_step(text, match.start()):
            yield from _per_second(match[1], match[2])
    for match in _TIME_VALUE.finditer(text):
        if _of_step(text, match.start()):
            yield from _per_second(match[2], match[1])
    for match in _STEP_TIME.finditer(text):
        if _of_step(text, match.start()):
            yield from _per_second(match[1], match[2])


def _of_step(text: str, start: int) -> bool:
    """Return whether a time is that of a whole step, not of a part that is named before it: `data 3 ms/step`."""
    before, named = _clause(text, start), _NAMED.search(text, max(0, start - 40), start)
    if NO_TRAINING.search(before) or NOT_REACHED.search(before):
        return False
    return named is None or named[1].lower() in _OF_A_STEP


def _per_second(digits: str, unit: str) -> Found:
    value = number(digits)
    if value:
        yield "steps_per_s", 1 / (value * _SECONDS.get(unit, 1.0))
