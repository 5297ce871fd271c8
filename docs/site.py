"""Fits the pages to the documentation's site: a hook of mkdocs (`make site`)."""

import re
from pathlib import Path
from typing import Any

# the theme has a switch of languages; the link is for readers of a repository
_OTHER_LANGUAGE = re.compile(r"(?m)(^)?\[(?:日本語|English)\]\([\w-]+(?:\.ja)?\.md\)(?(1)\n|)")
_CONTRIBUTING = re.compile(r"\]\((?:\.\./)+CONTRIBUTING\.md")
_sites: list[Path] = []


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Leave out the link to the other language; lead links to CONTRIBUTING.md to its page."""
    depth = page.file.src_uri.count("/")
    return _CONTRIBUTING.sub("](" + "../" * depth + "contributing.md", _OTHER_LANGUAGE.sub("", markdown))


def on_config(config: Any) -> None:
    """Note the folder of the site."""
    _sites.append(Path(config.site_dir))


def on_shutdown() -> None:
    """Write the index that the search of a page without a web server reads.

    The plugin `offline` writes it before the plugin `i18n` has joined the indexes of all languages.
    """
    for site in _sites[-1:]:
        index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
        (site / "search" / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
