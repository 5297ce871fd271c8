"""What pictures become alive with, beside the pages instead of in them: one file for a page in all its languages.

It is a script, since a page that is opened from a disk may read no other file. It is made of pages that are masked.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from hackathon.web.page.plot_forms import ABSENT, difference, shortened

_SPEC = re.compile(r'<script type="application/json" data-plot="([^"]*)">(.*?)</script>\n?', re.DOTALL)

Specs = dict[str, dict[str, Any]]
"""Figure → specification."""


def parted(page: str) -> tuple[str, Specs]:
    """Return a page without the specifications in it, and these."""
    found: Specs = {}
    for name, text in _SPEC.findall(page):
        found[name] = {entry: value for entry, value in json.loads(text).items() if entry != "$schema"}
    return _SPEC.sub("", page), found


def plot_file(pages: Mapping[str, Specs]) -> str:
    """Return the file of a page; `pages`: language → its specifications, the first language first.

    It holds `{figure: [form, difference, {language: difference from the first language}]}`.
    """
    told: dict[str, list[Any]] = {}
    for language, specs in pages.items():
        for figure, spec in specs.items():
            if figure not in told:
                told[figure] = [*shortened(figure, spec), {}, spec]
                continue
            apart = difference(told[figure][3], spec)
            if apart is not ABSENT:
                told[figure][2][language] = apart
    made = {figure: each[:3] if each[2] else each[:2] for figure, each in told.items()}
    return f"window.hackathonPlots={json.dumps(made, ensure_ascii=False, separators=(',', ':'))};\n"
