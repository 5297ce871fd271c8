"""The data of interactive pictures, in a separate file: one for a page in all its languages.

It is a script, because a page that is opened from a disk may read no other file. It is made of masked pages.
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
    """Return a page without its specifications, and the specifications."""
    specs: Specs = {}
    for name, text in _SPEC.findall(page):
        specs[name] = {entry: value for entry, value in json.loads(text).items() if entry != "$schema"}
    return _SPEC.sub("", page), specs


def plot_file(pages: Mapping[str, Specs]) -> str:
    """Return the file of a page; `pages`: language → its specifications, the first language first.

    It contains `{figure: [form, difference, {language: difference from the first language}]}`.
    """
    figures: dict[str, list[Any]] = {}
    for language, specs in pages.items():
        for figure, spec in specs.items():
            if figure not in figures:
                figures[figure] = [*shortened(figure, spec), {}, spec]
                continue
            apart = difference(figures[figure][3], spec)
            if apart is not ABSENT:
                figures[figure][2][language] = apart
    plots = {figure: entry[:3] if entry[2] else entry[:2] for figure, entry in figures.items()}
    return f"window.hackathonPlots={json.dumps(plots, ensure_ascii=False, separators=(',', ':'))};\n"
