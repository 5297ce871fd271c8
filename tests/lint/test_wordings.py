"""Texts stay in plain words: phrases that readers stumbled over do not come back.

This covers messages, help, docs and README, and the docstrings and comments of the code.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support import sources
from support.paths import ROOT
from support.translations import pairs

# What stands here was written, and a reader in a hurry had to read it twice. Each comes with what to write instead.
ENGLISH = {
    r"\bcan not\b": "cannot",
    r"(?<![Tt]here )(?<!has )\b(?:is|are|was) (?:no|none) (?!longer\b|more\b)": "is not a …",
    r"\bnobody (?:says|knows|tells|has confirmed)\b": "no … is configured; it is unclear whether …; unverified",
    r"\bknows no\b": "… does not exist on …",
    r"\bfine: ": "OK: …",
    r"\bmade [{/]": "created …",
    r"\btold to end\b": "cancel requested; asked to stop",
    r"\bhad ended already\b": "already finished",
    r"\bthe first failure ends it\b": "stopped at the first error",
    r"\bwhich (?:process counts|cluster)\?": "no process counts given; could not detect the cluster",
    r"\b(?:given|gives|gave|tells|told|giving) no (?:number|speed|throughput)": "no metrics were recorded",
    r"\bended well\b|\bwell\b(?= ·)": "succeeded",
    r"\bin its own words\b": "in its own format",
    r"\bis ended after\b|\bstarts? sooner\b": "time limit; … start earlier",
    r"^A consequence\b|\bMay also matter\b": "Follow-on error; Possibly related",
    r"\bwithout a word\b": "without output",
    r"\bdid not come\b|\bnever come(?:s|) ": "never joined; cannot start",
    r"\beverything: hackathon\b": "Full diagnosis: hackathon …",
    r"\bdo(?:es)? not fill nodes\b": "… is not a multiple of …",
    r"\b(?:taken up as|[Tt]ake up a job)\b": "adopted as; track a job submitted by hand",
    r"\bbeside an old one\b": "compare two results",
    r"\bTell a chat\b|\bmorning round\b": "send notifications to a chat; daily status report",
    r"\b(?:what|that) can go\b|\bhalf-made\b": "what can be deleted",
    r"\b(?:group|account) that pays\b": "group or account to charge",
    r"\bjob of seconds\b": "short job",
    r"\bdid not do its work\b": "failed",
    r"\bcut[- ]off\b": "interrupted",
    r"\bis nowhere\b": "is not found",
    r"\bneeds? help\b|\bgoing well\b|\bGoing well\b": "needs attention; running normally",
    r"\bstands? still\b": "no progress",
    r"\bTell the team that you come\b": "Take this request",
    r"\bRight to left\b|\bWhat was asked\b": "Right ÷ left; Request",
    r"\b(?:process|node|run|job|point|log|problem|core|GPU|question|time)\((?:es|s)\)": "{count} {count:run|runs}",
    r"\bis there already\b|\bstands? twice\b": "already exists; appears twice",
    r"\bin brackets, all\b|\bis not to be had\b": "is not available",
    r"\bwould do\b": "accepted",
}
SOURCE = ENGLISH | {
    r"\bnobody knows\b|\b(?:can|could) know\b": "is unknown",
    r"\bbecame of\b": "the outcome of",
    r"\bwhat (?:is|are|was) no(?:ne|t)?\b": "values that are not …",
    r"\bpassed over\b": "skipped; ignored",
    r"\b(?:is|are|was|were|be|been) told\b(?! (?:to|apart)\b)": "is reported; is printed; receives",
    r"\b(?:tells?|told|telling) of\b": "reports; names",
    r"\b[Ww]hat stands\b|\bstands? for what\b": "the text; the entry",
    r"\blikewise\b": "say it again for this one",
    r"\b(?:in one go|once for all(?! \w)|the like|anew)\b": "at once; and similar ones; again",
    r"\b(?:of|in) one's own\b|\b(?:none|no \w+) of ours\b": "custom; not the toolkit's",
    r"\b(?:no|none|not) such one\b|\bno whole\b": "is not a …; is incomplete",
    r"\bReturn what (?:is|are|was|were|stands)\b": "Return the …",
    r"\bReturn whether (?:what|something is)\b": "Return whether the …",
}
"""For docstrings and comments; the messages have some of these in another sense."""
PAGES = {
    r"\b\d[\d,.]*(?: [A-Za-zµ×]+)?(?: samples?)? a (?:page|file|step|node|person|team|second|line)\b": "… per …",
    r"\b[Oo]ne \w+ an? (?:page|file|step|node|person|team|second|run|line)\b": "one … per …",
    r"\b(?:stands?|lies?) (?:in|there|below|above|under|beside|at the|on|behind)\b": "is in; is shown below",
    r"\bshall\b": "should",
    r"\bbut for\b": "except",
    r"\b(?:say|says|said) so\b": "reports this; prints a warning",
    r"\b[Tt]ells? (?:its|the|a|no|that|how|what|where|when|which|of)\b": "prints; shows; reports",
    r"(?:^|[.:;] |\| )What (?!is\b|are\b|was\b|were\b|to\b|happens\b|it\b)[^?|]*$": "begin with the noun: files that …",
}
"""For pages: the verb at the end, programs that speak, "what …" as a subject, "a page" for "per page"."""
JAPANESE = {
    r"助けが必要": "要対応",
    r"遊び|遊んで": "低使用率、使われていない",
    r"順調なもの": "順調な実行",
    r"だれ$|^今$": "チーム・利用者、現況",
    r"対応を始めると": "対応する",
    r"手で(?:投入|実行|動か|書|直)": "手動で",
    r"ジョブを終わらせ": "ジョブを取り消す",
    r"検査(?:不)?合格": "精度条件 達成、未達",
    r"理想(?:的|の線)|やや外れ": "目標の段階、目標から 1 段階、線形",
    r"これで終わりです": "これで完了です",
    r"(?<!RO-)クレート": "RO-Crate（再実行用パッケージ）",
    r"行方不明": "状態不明",
    r"[ぁ-んァ-ヶ一-龠、。]\([^)]*\)|\([^(]*[ぁ-んァ-ヶ一-龠][^)]*\)(?!\))": "全角括弧（）",
    r"チーム チーム": "チーム…",
    r"1e\+\d": "1,000,000",
    r"[ぁ-んァ-ヶ一-龠々](?!HPC基)[A-Za-z0-9]|(?<!HP)[A-Za-z0-9%][ぁ-んァ-ヶ一-龠]": "全角と半角の間に空白 1 つ",
}


def catalogue() -> Iterator[tuple[str, str, str]]:
    """Yield (files, English, Japanese) of every message."""
    yield from pairs()


def prose(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (place, line) of a page outside of its code blocks: what other programs print is theirs."""
    code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield f"{path.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+", "`…`", line)


def offenders(texts: Iterator[tuple[str, str]], rules: dict[str, str]) -> list[str]:
    """Return `place: phrase → better` of each phrase that a rule refuses."""
    return [
        f"{place}: {found[0]!r} → {better}"
        for place, text in texts
        for pattern, better in rules.items()
        if (found := re.search(pattern, text, re.MULTILINE))
    ]


def pages(japanese: bool) -> list[Path]:
    """Return the pages that people write."""
    found = [ROOT / "README.md", ROOT / "README.ja.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [path for path in found if path.name.endswith(".ja.md") == japanese]


def test_messages_are_in_plain_english() -> None:
    assert offenders(((place, english) for place, english, _ in catalogue()), ENGLISH) == []


def test_messages_are_in_natural_japanese() -> None:
    # commands and patterns in quotes have brackets of their own
    texts = ((place, re.sub(r"`[^`]*`|'[^']*'|\b[a-z_.]+\([^)]*\)", "", text)) for place, _, text in catalogue())
    assert offenders(texts, JAPANESE) == []


def shipped(language: str) -> Iterator[tuple[str, str]]:
    """Yield (file and place, text) of what rules, surveys, profiles and recipes say in a language."""

    def walk(value: object, place: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                if key == language and isinstance(inner, str):
                    yield place, inner
                else:
                    yield from walk(inner, place)
        for inner in value if isinstance(value, list) else ():
            yield from walk(inner, f"{place} {inner['id']}" if isinstance(inner, dict) and "id" in inner else place)

    files = [*(ROOT / "templates").glob("*/*.yaml"), *(ROOT / "recipes").glob("*/recipe.yaml")]
    for path in sorted(files):
        yield from walk(yaml.safe_load(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))


def test_rules_surveys_and_recipes_are_in_plain_english() -> None:
    assert len(list(shipped("en"))) > 1000
    assert offenders(shipped("en"), ENGLISH) == []


def test_rules_surveys_and_recipes_are_in_natural_japanese() -> None:
    code = r"`[^`]*`|'[^']*'|[A-Za-z_.]+\([^()]*(?:\([^()]*\)[^()]*)*\)"
    assert offenders(((place, re.sub(code, "", text)) for place, text in shipped("ja")), JAPANESE) == []


def test_docs_are_in_plain_english() -> None:
    rules = ENGLISH | PAGES
    # a heading may ask, and others link to it
    lines = ((place, line) for path in pages(japanese=False) for place, line in prose(path) if not line.startswith("#"))
    assert offenders(lines, rules) == []


def test_docs_are_in_natural_japanese() -> None:
    assert offenders((line for path in pages(japanese=True) for line in prose(path)), JAPANESE) == []


def packages() -> list[str]:
    """Return the packages and top-level modules of the toolkit."""
    return sorted({path.relative_to(sources.CODE).parts[0] for path in sources.modules()})


def explanations(package: str) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of each docstring and comment of a package, quoted code left out."""
    for path in sources.modules():
        if path.relative_to(sources.CODE).parts[0] == package:
            for line, text in (*sources.docstrings(path), *sources.comments(path)):
                yield f"{path.relative_to(ROOT)}:{line}", re.sub(r"`[^`]*`", "`…`", " ".join(text.split()))


@pytest.mark.parametrize("package", packages())
def test_docstrings_and_comments_are_in_plain_english(package: str) -> None:
    assert offenders(explanations(package), SOURCE) == []


def test_comments_of_several_lines_are_read_as_one_text(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('"""First."""\nSIZE = 1  # bytes\n"""Second."""\n# a phrase over\n# two lines\n')
    assert sources.docstrings(file) == ((1, "First."), (3, "Second."))
    assert sources.comments(file) == ((2, "bytes"), (4, "a phrase over two lines"))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("{value} is no list of tags", ENGLISH),
        ("the file can not be read", ENGLISH),
        ("nobody says where the directory is", ENGLISH),
        ("3 process(es)", ENGLISH),
        ("Return what stands in the file.", SOURCE),
        ("The state, None where nobody can know it.", SOURCE),
        ("Return the days; what is none is passed over.", SOURCE),
        ("it lists 50 runs, one line a run", PAGES),
        ("The README tells what is checked.", PAGES),
        ("What is missing stands in the log", PAGES),
        ("What a chain did another one can take up", PAGES),
        ("12 件で助けが必要です", JAPANESE),
        ("GPU1枚の基準値", JAPANESE),
        ("2 点(弱スケーリング)", JAPANESE),
        ("クレートから再実行", JAPANESE),
    ],
)
def test_the_rules_refuse_what_was_written(text: str, rules: dict[str, str]) -> None:
    assert offenders(iter([("here", text)]), rules)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("the scheduler no longer knows the job; there is no board; it has no checksum", ENGLISH),
        ("What is a step? Exit code 1 when a run failed: one run a day, 3 a.m.", PAGES),
        ("RO-Crate から再実行（別のクラスタでも）", JAPANESE),
        ("最先端共同HPC基盤施設の 4 GPU で", JAPANESE),
    ],
)
def test_the_rules_leave_good_texts_alone(text: str, rules: dict[str, str]) -> None:
    assert not offenders(iter([("here", text)]), rules)
