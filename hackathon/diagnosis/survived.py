"""Tell by a message's own words that the program survived it, where an exception ends the program later."""

import re
from collections.abc import Sequence

from hackathon.config.rule import Rule
from hackathon.diagnosis.findings import Evidence
from hackathon.diagnosis.log_tails import NO_WARNING, Traceback

# Lines that say themselves how the program goes on, those of start-up files, and tests of `configure`.
_GOES_ON = re.compile(
    r"(?i)\b(?:skipp(?:ed|ing)|ignor(?:ed|ing)|fall(?:ing|s)? ?back|(?:go(?:es|ing)?|carr(?:y|ies|ying)) on\b"
    r"|(?:is|are|was|were) (?:left out|dropped|switched off|turned off|disabled|used instead|caught)"
    r"|start(?:s|ing)? (?:fresh|from scratch|anew)|continu(?:e|es|ing) (?:without|with|anyway|on)"
    r"|as (?:expected|intended)|hint:|previous (?:attempt|run)|days ago|trying (?:another|the next|port|\d)"
    r"|next one is|path is taken|non-?fatal|not fatal|(?:no|new) \w+ is (?:used|written|made))"
    r"|\b(?:off|disabled|restarted|replaced|dropped)\W*$"
    r"|[;,)(-] ?(?:now )?using \w|[;,:-] (?:[\w.]+ ){1,4}(?:is|are) used\b"
    r"|^(?:/etc/\S+|\S*/\.(?:bash\w*|profile|zsh\w*|cshrc|login))(?:: line \d+|:\d+)?: "
    r"|^checking (?:for|whether) |\bconftest\b"
)
_FAILURE = re.compile(r"(?i)error|exception|fail|fatal|abort|critical|assert|terminat|crash")
_EXCEPTION_LINE = re.compile(r"\s*[\w.]*(?:Error|Exception|Interrupt|Exit)\b:?")
_RAISED = re.compile(r"\b\w*(?:Error|Exception|Interrupt)\b: ")


def goes_on(text: str) -> bool:
    """Return whether a line says itself that the program goes on."""
    return _GOES_ON.search(text) is not None


def survived(rule: Rule, evidence: Evidence, level: str, offset: int, tracebacks: Sequence[Traceback]) -> bool:
    """Return whether a match tells that the program goes on, and an exception ends the program later.

    `level`: of the logger that wrote the line; `offset`: of the line; `tracebacks`: those of its file. The words of
    Python's exceptions count in an exception, or in a line about a failure.
    """
    inside = any(traceback.begin <= offset < traceback.end for traceback in tracebacks)
    if inside or not any(traceback.begin > offset for traceback in tracebacks):
        return False
    text = evidence.text
    if NO_WARNING.search(text) or _EXCEPTION_LINE.match(text):
        return False
    if level in ("I", "D") or goes_on(text):
        return True
    return _of_exceptions(rule) and level not in ("E", "F", "C") and _FAILURE.search(text) is None


def _of_exceptions(rule: Rule) -> bool:
    """Return whether all examples of a rule are exceptions of Python."""
    examples = [rule.sample, *rule.variants]
    return all(example is not None and _RAISED.search(example.text) for example in examples)
