"""Cells of CSV files: a spreadsheet evaluates a text that looks like a formula."""

_SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet evaluates: a `'` precedes a text like a formula.

    Source: OWASP, "CSV Injection". The toolkit's own numbers are written as numbers, without this.
    """
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_SIGNS) else text
