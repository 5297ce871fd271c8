"""The reference of all failure rules, made from `templates/rules/*.yaml`."""

import re
from collections.abc import Iterator
from typing import get_args

from hackathon.config.load import load_rule_file
from hackathon.config.rule import LEVELS, Part, Rule
from hackathon.text.messages import localized, speaking
from hackathon.text.paths import shipped

WORDS = {
    "title": ("Failures that are recognised", "認識できる失敗"),
    "made": (
        "Made by `make docs` from `templates/rules/*.yaml`. See [my job failed](../how-to/my-job-failed.md) and"
        " [how to add a rule](../how-to/add-a-rule.md). [日本語](rules.ja.md)",
        "`make docs` が `templates/rules/*.yaml` から作ったページです。"
        "[ジョブが失敗したら](../how-to/my-job-failed.ja.md)、[ルールを追加する](../how-to/add-a-rule.md) も参照。"
        "[English](rules.md)",
    ),
    "levels": (
        "`root` names a cause, `likely` is probably near it, `secondary` follows from a failure elsewhere, `benign` is"
        " harmless. *Italic* words are filled in from the log or the run.",
        "`root` は原因そのもの、`likely` は原因に近いもの、`secondary` は別の失敗の結果、`benign` は無害な表示です。"
        "*斜体* の部分にはログや実行記録の値が入ります。",
    ),
    "check": ("check", "確認"),
    "do": ("What to do", "対処"),
    "see": ("See", "参考"),
}


def pages() -> dict[str, str]:
    """Return name → text of the two pages; rules of the user's own are no part of them."""
    rules = [rule for path in sorted(shipped("templates", "rules").glob("*.yaml")) for rule in load_rule_file(path)]
    return {"rules.md": _page(rules, "en"), "rules.ja.md": _page(rules, "ja")}


def _page(rules: list[Rule], language: str) -> str:
    words = {key: pair[("en", "ja").index(language)] for key, pair in WORDS.items()}
    with speaking(language):
        lines = [f"# {words['title']}", "", words["made"], "", words["levels"], ""]
        by_part = {part: [rule for rule in rules if rule.part == part] for part in get_args(Part)}
        counted = ", ".join(f"[`{part}`](#{part}) {len(listed)}" for part, listed in by_part.items() if listed)
        lines += [f"{len(rules)}: {counted}"]
        for part, listed in by_part.items():
            if listed:
                lines += ["", f"## {part}"]
            for rule in sorted(listed, key=lambda rule: (LEVELS.index(rule.level), rule.id)):
                lines += ["", *_rule(rule, words)]
    return "\n".join(lines) + "\n"


def _rule(rule: Rule, words: dict[str, str]) -> Iterator[str]:
    yield from (f"### {rule.id}", "", f"`{rule.level}` — {_filled(localized(rule.title))}", "")
    for pattern in rule.patterns:
        yield f"- `{(pattern.text or pattern.regex).replace('`', '´')}`"
    if rule.fact:
        yield f"- `{rule.fact}`" + "".join(f", {name} {value:g}" for name, value in rule.thresholds.items())
    if rule.causes:
        yield ""
    for number, cause in enumerate(rule.causes, 1):
        check = f" — {words['check']}: `{cause.check}`" if cause.check else ""
        yield f"{number}. {_filled(localized(cause.text))}{check}"
    if rule.advice:
        yield from ("", f"{words['do']}: {_filled(localized(rule.advice))}")
    if rule.references:
        listed = ", ".join(f"<{each}>" if "://" in each else each for each in rule.references)
        yield from ("", f"{words['see']}: {listed}")


def _filled(text: str) -> str:
    """Return a text of a rule as one line, with its places to fill in italics."""
    return re.sub(r"\{(\w+)\}", r"*\1*", " ".join(text.split())).replace("<", "\\<")
