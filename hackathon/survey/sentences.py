"""Cut free answers into sentences, and tag sentences by their words. Pure functions; Japanese and English."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

WORDS: Mapping[str, tuple[str, ...]] = {
    "thanks": (
        "ありがと", "有難", "感謝", "有意義", "有益", "勉強にな", "為になり", "ためになり", "参考にな",
        "役に立", "楽し", "良かった", "よかった", "助かり", "助かった", "助けにな", "助けられ", "お世話",
        "満足", "素晴らし", "すばらし", "thank", "grateful", "appreciate", "great", "helpful", "help a lot",
        "useful", "worthwhile", "good", "excellent", "enjoy", "enjoyed", "learned a lot", "learnt a lot",
        "satisfied", "wonderful", "amazing",
    ),
    "request": (
        "ほしい", "欲しい", "希望", "要望", "お願い", "ください", "下さい", "いただきたい", "頂きたい",
        "いただけると", "頂けると", "あると良", "あるとよ", "あれば良", "あればよ", "れば良かった",
        "ればよかった", "たら良", "たらよ", "改善", "もっと", "べき", "検討", "ではないか", "できると嬉",
        "だと嬉", "増やし", "ありがたい", "please", "would like", "would be good", "would be nice",
        "would be better", "would be great", "would have been", "wish", "hope", "should", "want", "suggest",
        "prefer", "next time", "more time", "if possible", "could you",
    ),
    "difficulty": (
        "難し", "むずかし", "困っ", "困り", "困難", "わからな", "分からな", "わかりにく", "分かりにく",
        "わかりづら", "分かりづら", "苦労", "できなかった", "出来なかった", "できず", "エラー", "失敗", "不明",
        "足りな", "無駄", "動かな", "つまず", "つまづ", "バグ", "厳し", "辛かった", "つらかった", "問題",
        "difficult", "difficulty", "difficulties", "hard", "harder", "problem", "trouble", "error", "bug",
        "fail", "stuck", "confusing", "confused", "unclear", "too slow", "not enough", "lack", "waste",
        "wasted", "struggle", "struggled", "could not", "couldn't", "cannot", "can't", "did not work",
        "didn't work",
    ),
}  # fmt: skip
"""Tag → words that give a sentence this tag, unless the questionnaire has its own."""

# Parts that contain no end of a sentence: code between backticks, addresses. Punctuation after an address is not part
# of it.
_WHOLE = re.compile(r"`[^`\n]+`|(?:https?://|www\.)[!-~]*[!-~](?<![.,!?;:)\]}\"'>])")
_ENDS = re.compile(r"[。！？!?｡．.]+")
_CLOSING = "」』）)”’\"'】〉》］]｣"
_OPEN = {"「": "」", "『": "』", "（": "）", "(": ")", "“": "”", "｢": "｣", "【": "】"}
_QUOTED = 300
"""The most characters in a bracket that keep a sentence together.

A bracket that closes later was forgotten, or is an aside.
"""
# Words before a full stop that never end a sentence, and words that do so only before a capital letter.
_NEVER = frozenset(
    {"e.g", "i.e", "eg", "ie", "vs", "cf", "dr", "mr", "mrs", "ms", "prof", "fig", "figs", "eq", "no", "sec"}
)
_RARELY = frozenset(
    {"etc", "approx", "al", "max", "min", "u.s", "u.k", "a.m", "p.m", "inc", "ltd", "corp", "dept", "ver"}
)
# Particles that continue a sentence after a quotation, but not words that begin with them (とても, でも, もっと).
_GOES_ON = re.compile(
    "と(?![てもにき])|って|の(?!ち)|は(?![いじ])|[がをにやへ]|で(?![もす])|も(?![っう])|から|など|なん"
)
_ENDINGS = "(?:s|es|d|ed|ing)?"
# A Japanese number has 10 or 11 digits beginning with 0, one with a country code 8 to 15 (ITU-T E.164).
_TELEPHONE = re.compile(r"(?<![0-9A-Za-z.,_/+-])(?:\+[1-9]|0[1-9])[0-9()\- .]{6,20}[0-9](?![0-9A-Za-z_/]|[.,-][0-9])")
_DASH = re.compile(r"(?<=[0-9])[\u2010-\u2015\u2212\u30fc](?=[0-9])")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}")
_COMMON = frozenset({"user", "guest", "test", "data", "root", "admin", "team", "チーム"})
"""Account names that identify nobody."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a free answer in order, unchanged except for surrounding white space.

    They end at line ends, at 。！？!?． and at a full stop before white space or Japanese; a closing bracket or
    quotation mark stays with its sentence. Numbers (3.5), abbreviations (e.g.), addresses, code and brackets
    are not split.
    """
    parts = []
    for line in re.split(r"[\n\r\u2028\u2029]+", text):
        start = 0
        for end in _ends(line):
            parts.append(line[start:end].strip())
            start = end
        parts.append(line[start:].strip())
    return [part for part in parts if part]


def _ends(line: str) -> Iterable[int]:
    """Yield the positions in a line after each sentence but the last."""
    spans = [match.span() for match in _WHOLE.finditer(line)]
    spans += _brackets(line)
    start = 0
    for match in _ENDS.finditer(line):
        at = match.start()
        if at < start or any(first <= at < last - 1 for first, last in spans):
            continue
        end = match.end()
        while end < len(line) and line[end] in _CLOSING:
            end += 1
        if end < len(line) and _is_end(line, start, match, end):
            yield end
            start = end


def _brackets(line: str) -> list[tuple[int, int]]:
    """Return the positions of the outermost brackets, without those that close late or never."""
    spans = []
    at = 0
    while at < len(line):
        closing = _OPEN.get(line[at])
        other = line.find(closing, at, at + _QUOTED) if closing else -1
        if other > 0:
            # the end of a sentence just before the closing bracket moves behind it
            last = other
            while last > at and _ENDS.match(line[last - 1]):
                last -= 1
            spans.append((at, last + 1))
            at = other
        at += 1
    return spans


def _is_end(line: str, start: int, match: re.Match[str], end: int) -> bool:
    """Return whether a sentence ends at `end`, after a run of ending characters and closing marks."""
    mark, following = match[0], line[end]
    closed = end > match.end()
    if closed and _GOES_ON.match(line, end):
        return False  # 「…。」と言われた
    before, after = line[match.start() - 1 : match.start()], following
    if mark[-1] in "。！？｡":
        return True
    if mark[-1] == "．":
        return not (before.isdigit() and after.isdigit())
    if not (after.isspace() or not after.isascii()):
        return False
    if mark[-1] in "!?":
        return True
    return _is_full_stop(line[start : match.start()], before, line[end:].lstrip()[:1], after)


def _is_full_stop(sentence: str, before: str, word: str, after: str) -> bool:
    """Return whether a `.` ends a sentence, given text and last character before it, and the text after it."""
    if not after.isspace():
        return not before.isascii()  # 速い.とても, but not torch.nnは
    last = sentence.split()[-1].lower().lstrip("([\"'“‘「（") if sentence.split() else ""
    if last in _NEVER or (last.isdigit() and last == sentence.strip()):
        return False
    return not (last in _RARELY and word.islower())


def tags(sentence: str, words: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the tags whose words a sentence contains, in their order.

    Words in Latin letters match only as complete words. Case, full and half width, and the endings -s, -ed and -ing
    make no difference.
    """
    text = _plain(sentence)
    return tuple(tag for tag, some in words.items() if any(_has(text, _plain(word)) for word in some))


def words_of(own: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return a questionnaire's own tags and words, or the default ones."""
    return own or WORDS


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _has(text: str, word: str) -> bool:
    if not word.strip():
        return False
    if word not in text:
        return False
    if not word[0].isascii() or not word[-1].isascii():
        return True
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}{_ENDINGS}(?![a-z0-9])", text) is not None


def mentions(sentence: str, names: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Return (kind, word) of the parts of a sentence that identify a person: names, telephone numbers and addresses.

    `names`: kind → names to look for, `name` also by their parts; width and case make no difference.
    """
    text = _DASH.sub("-", unicodedata.normalize("NFKC", sentence))
    matches = [("mail", match[0]) for match in _MAIL.finditer(text)]
    for match in _TELEPHONE.finditer(text):
        digits = sum(letter.isdigit() for letter in match[0])
        if digits in (10, 11) if match[0][0] == "0" else 8 <= digits <= 15:
            matches.append(("telephone", match[0].strip()))
    plain = _plain(sentence)
    for kind, some in names.items():
        for name in some:
            matches += [(kind, word) for word in _parts_of(name, kind) if _names(plain, _plain(word))]
    return list(dict.fromkeys(matches))


def _parts_of(name: str, kind: str) -> list[str]:
    """Return the forms in which a name may occur: complete, without spaces, and each part of a person's name."""
    parts = name.split() if kind == "name" else []
    forms = [name, *(["".join(parts)] if parts else []), *parts]
    return [form for form in dict.fromkeys(forms) if len(form) > (2 if form.isascii() else 1) and form not in _COMMON]


def _names(text: str, word: str) -> bool:
    """Return whether a name occurs in a text; in Latin letters as a complete word."""
    if not word.isascii():
        return word in text
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
