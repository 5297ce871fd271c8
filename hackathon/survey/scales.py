"""Scales at the end of a heading: `満足度（1: 不満 〜 5: 満足）`, `Help [Scale: 1..5]`, `Help - 1 (low) to 5`."""

import re
from dataclasses import dataclass
from functools import lru_cache

from hackathon.config.survey import Question
from hackathon.survey.values import texts_of
from hackathon.text.normalise import plain

LONGEST = 300
"""Characters of a heading that is searched for a scale."""
_BRACKETS = (
    re.compile(r"(.+?)\s*\(([^()]*)\)\s*\Z", re.DOTALL),
    re.compile(r"(.+?)\s*\[([^\[\]]*)\]\s*\Z", re.DOTALL),
    re.compile(r"(.+?)\s*【([^【】]*)】\s*\Z", re.DOTALL),
)
_DASH = re.compile(r"(.+?)(?:\s+[-–—]|\s*:)\s+((?:scale\b|1\b).*)\Z", re.DOTALL)
_WORDS = re.compile(r"(?:scale|rating|評価|尺度)\s*[:=]?\s*")
_REMARK = re.compile(
    r"required|optional|必須|任意|複数選択可?|複数回答可?|選択式|自由記述|自由回答|(?:select|choose) all that apply"
)
_MARK = r"\s*[:=.(がは]?\s*"
_ENDS = tuple(
    re.compile(
        rf"1(?!\d){_MARK}(?P<low>[^\d]*?)\s*\)?(?:{separator})\s*(?:.*[^\d])?"
        rf"(?P<levels>\d{{1,4}})(?!\d){_MARK}(?P<high>[^\d]*?)\s*\)?\s*\Z",
        re.DOTALL,
    )
    # a space parts the ends only where nothing else does
    for separator in (r"\s*(?:\.\.+|…|[,;/|、~〜～\-–—→]|\bto\b|から)", r"\s")
)
_LEVELS = re.compile(r"(?P<levels>\d{1,4})\s*(?:段階|points?|levels?|-point)(?:評価|尺度|scale|\s)*\Z")


@dataclass(frozen=True)
class HeadingScale:
    """A heading without its scale, and what the scale says."""

    heading: str
    levels: int
    low: str = ""
    """The words at level 1; empty where the heading has none."""
    high: str = ""

    def reversed(self, question: Question) -> bool:
        """Return whether level 1 here means what the question calls its highest level, or the other way round."""
        low, high = ({plain(text) for text in texts_of(end)} for end in (question.low, question.high))
        return bool({self.low} & (high - low) or {self.high} & (low - high))


@lru_cache(maxsize=4096)
def scale_of(heading: str) -> HeadingScale | None:
    """Return the scale at the end of a heading, None without one."""
    text = plain(heading)
    if len(text) > LONGEST:
        return None
    for form in (*_BRACKETS, _DASH):
        match = form.match(text)
        if match is None:
            continue
        inside = _WORDS.sub("", match[2], count=1).strip() if _WORDS.match(match[2]) else match[2].strip()
        ends = _ENDS[0].match(inside) or _ENDS[1].match(inside) or _LEVELS.match(inside)
        if ends is not None:
            found = ends.groupdict()
            low, high = ((found.get(end) or "").strip(" :=.,;") for end in ("low", "high"))
            return HeadingScale(match[1], int(found["levels"]), low, high)
    return None


def without_remark(heading: str) -> str:
    """Return a heading without a remark in brackets at its end: `（複数選択可）`, `(required)`."""
    text = plain(heading)
    if len(text) > LONGEST:
        return text
    matches = (form.match(text) for form in _BRACKETS)
    return next((match[1] for match in matches if match and _REMARK.fullmatch(match[2].strip())), text)
