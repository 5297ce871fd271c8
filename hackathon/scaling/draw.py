"""The drawing process: Vega-Lite on stdin, pictures on stdout.

It is a separate program because its JavaScript engine can use much memory, hang or crash, which must not affect a
table. In: `{"charts": [{"spec", "format": "svg"|"png"|"pdf", "scale"}], "fonts": [folder]}`; out: `{"charts":
[base64]}`. It imports nothing of the toolkit, so that it can be started as a file. As a file it draws one order;
`serve` draws one per line.
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
"""Seconds without an order after which a server process ends: the engine uses 100 MB."""


def draw(order: dict[str, Any]) -> dict[str, list[str]]:
    """Return the pictures of an order. No data is fetched: an address in a specification is an error."""
    import vl_convert

    for folder in order.get("fonts", []):
        vl_convert.register_font_directory(folder)
    pictures = []
    for chart in order["charts"]:
        if chart["format"] == "png":
            png: bytes = vl_convert.vegalite_to_png(chart["spec"], scale=chart.get("scale", 2), allowed_base_urls=[])
            pictures.append(png)
        elif chart["format"] == "pdf":
            pictures.append(vl_convert.vegalite_to_pdf(chart["spec"], allowed_base_urls=[]))
        else:
            pictures.append(vl_convert.vegalite_to_svg(chart["spec"], allowed_base_urls=[]).encode())
    return {"charts": [base64.b64encode(picture).decode() for picture in pictures]}


def main() -> int:
    """Read the order, write the pictures; errors go to stderr in one line."""
    # The engine prints some failures to stdout, which must contain only the answer.
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
    except Exception as error:  # any error of the engine becomes one line
        print(" ".join(str(error).split())[:500], file=sys.stderr)
        return 1
    with os.fdopen(answer, "w", encoding="ascii") as stream:
        json.dump(pictures, stream)
    return 0


def serve() -> None:
    """Answer each order line with one line, `{}` after an error, until stdin is closed or idle for REST seconds."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    # one order at a time: the client waits for the answer, so Python's buffer is empty during this wait
    while select.select([sys.stdin], [], [], REST)[0] and (line := sys.stdin.readline()):
        try:
            pictures = draw(json.loads(line))
        except Exception:  # the client draws it in another process, which reports the error
            pictures = {}
        print(json.dumps(pictures), file=answers, flush=True)


if __name__ == "__main__":
    sys.exit(main())
