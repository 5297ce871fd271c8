"""Fits the pages to the documentation's site: a hook of mkdocs (`make site`)."""

import json
import re
from pathlib import Path
from typing import Any

# the theme has a switch of languages; the link is for readers of a repository
_OTHER_LANGUAGE = re.compile(r"(?m)(^)?\[(?:日本語|English)\]\([\w-]+(?:\.ja)?\.md\)(?(1)\n|)")
_CONTRIBUTING = re.compile(r"\]\((?:\.\./)+CONTRIBUTING\.md")
_BASE = re.compile(r'("base": ")\.\.(?:/(\.\.)|)')
_sites: list[Path] = []
OTHER = "ja"
"""The language whose pages stand in a folder of their own, with an index of their own for the search."""


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Leave out the link to the other language; lead links to CONTRIBUTING.md to its page."""
    depth = page.file.src_uri.count("/")
    return _CONTRIBUTING.sub("](" + "../" * depth + "contributing.md", _OTHER_LANGUAGE.sub("", markdown))


def on_post_page(output: str, *, page: Any, **_: object) -> str:
    """Let the search of a page in the other language read the index of its own folder."""
    if not page.file.dest_uri.startswith(f"{OTHER}/"):
        return output
    return _BASE.sub(lambda match: match[1] + (match[2] or "."), output, count=1)


def on_config(config: Any) -> None:
    """Note the folder of the site."""
    _sites.append(Path(config.site_dir))


def on_shutdown() -> None:
    """Write an index of each language for the search, also for pages without a web server.

    The plugin `i18n` joins the indexes of all languages, so that each page would find the texts of both.
    """
    for site in _sites[-1:]:
        index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
        prefix = f"{OTHER}/"
        own, other = [], []
        for entry in index["docs"]:
            if entry["location"].startswith(prefix):
                other.append({**entry, "location": entry["location"].removeprefix(prefix)})
            else:
                own.append(entry)
        for folder, entries in ((site, own), (site / OTHER, other)):
            text = json.dumps({**index, "docs": entries}, ensure_ascii=False, separators=(",", ":"))
            (folder / "search").mkdir(exist_ok=True)
            (folder / "search" / "search_index.json").write_text(text, encoding="utf-8")
            (folder / "search" / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")
