"""Texts as they are compared with what people typed: `Ｍａｓｔｅｒ` is `master`."""

import unicodedata


def plain(text: str) -> str:
    """Return a text as it is compared: full-width as half-width letters, small, blanks as one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def unspaced(text: str) -> str:
    """Return a text as `plain` does, without any blank: `修士 課程` is `修士課程`."""
    return plain(text).replace(" ", "")
