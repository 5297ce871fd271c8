"""Readers of the lines in which frameworks and public programs print the time of a training step, or their own rates.

`Time  0.123 ( 0.200)`: the number in brackets is a running average, and the one before it counts.
"""

import re

from hackathon.logs.readers import NUMBER, Found, Plain
from hackathon.logs.values import number

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
