"""Normalise texts for comparison with typed ones: `Ｍａｓｔｅｒ` equals `master`."""

import unicodedata


def plain(text: str) -> str:
    """Return a text for comparison: full-width characters as half-width, lower case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def unspaced(text: str) -> str:
    """Return a text like `plain`, without spaces: `修士 課程` becomes `修士課程`."""
    return plain(text).replace(" ", "")
