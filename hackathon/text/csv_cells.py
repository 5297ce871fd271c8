"""Cells of CSV files: a spreadsheet computes a text that looks like a formula."""

_SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet computes: `'` stands before what looks like a formula.

    Source: OWASP, "CSV Injection". Numbers of our own are written as numbers, without this.
    """
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_SIGNS) else text
