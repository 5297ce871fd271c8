"""The drawing process: Vega-Lite on stdin, pictures on stdout. It is a program of its own because its JavaScript engine
can take a lot of memory, hang or crash, and a table must not go down with a picture.

In: `{"charts": [{"spec", "format": "svg"|"png", "scale"}], "fonts": [folder]}`; out: `{"charts": [base64]}`. Imports
nothing of the toolkit, so that it can be started as a file. As a file it draws one order; `serve` draws one a line.
"""

import base64
import json
import os
import select
import sys
from typing import Any

MISSING_LIBRARY = 69
"""Exit code when vl-convert is not installed (EX_UNAVAILABLE of sysexits.h)."""
REST = 900.0
"""Seconds without an order after which a process that serves ends: the engine holds 100 MB."""


def draw(order: dict[str, Any]) -> dict[str, list[str]]:
    """Return the pictures of an order. No data is fetched from anywhere: an address in a specification is an error."""
    import vl_convert

    for folder in order.get("fonts", []):
        vl_convert.register_font_directory(folder)
    pictures = []
    for chart in order["charts"]:
        if chart["format"] == "png":
            png: bytes = vl_convert.vegalite_to_png(chart["spec"], scale=chart.get("scale", 2), allowed_base_urls=[])
            pictures.append(png)
        else:
            pictures.append(vl_convert.vegalite_to_svg(chart["spec"], allowed_base_urls=[]).encode())
    return {"charts": [base64.b64encode(picture).decode() for picture in pictures]}


def main() -> int:
    """Read the order, write the pictures; errors go to stderr in one line."""
    # The engine prints to stdout on some failures; the answer must be the only thing there.
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.load(sys.stdin)
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        print(error, file=sys.stderr)
        return MISSING_LIBRARY
    try:
        pictures = draw(order)
    except Exception as error:  # whatever the engine says becomes one line
        print(" ".join(str(error).split())[:500], file=sys.stderr)
        return 1
    with os.fdopen(answer, "w", encoding="ascii") as stream:
        json.dump(pictures, stream)
    return 0


def serve() -> None:
    """Answer an order a line with a line, `{}` where it cannot be drawn, until stdin is closed or nothing comes."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    # one order at a time: whoever asks waits for the answer, so nothing lies in Python's buffer while this waits
    while select.select([sys.stdin], [], [], REST)[0] and (line := sys.stdin.readline()):
        try:
            pictures = draw(json.loads(line))
        except Exception:  # who asks draws it in another process, which says why
            pictures = {}
        print(json.dumps(pictures), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
