"""The files of the pages: the style sheet, the scripts, and Vega as one file.

A page works without any of the scripts. `plots.js` loads `vega.js` from its own folder when a reader points at a plot.
"""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hackathon.text.errors import HackathonError, UnavailableError
from hackathon.text.files import write_whole
from hackathon.text.paths import child_environment, shipped
from hackathon.web.page.plot_forms import forms_file

SECONDS = 120.0
"""Seconds allowed for building the bundle on a busy login node; 2 s on an idle one."""
SNIPPET = "window.hackathonPlot = vegaEmbed;"
"""The global name that the bundle defines for `plots.js`."""
_PROGRAM = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle(sys.argv[1]).encode())"


def vega_bundle(cache: Path) -> bytes:
    """Return Vega, Vega-Lite and Vega-Embed as one classic script, 0.9 MB, built once in the folder `cache`.

    It begins with the notices of their licences, which every publisher has to pass on.

    Raises UnavailableError without vl-convert and HackathonError if the build fails; the pages work without it.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        made_of = hashlib.sha256(SNIPPET.encode() + _notices()).hexdigest()[:12]
        name = f"vega-{version('vl-convert-python')}-{made_of}.js"
    except PackageNotFoundError:
        raise UnavailableError(
            "scaling.plot_missing_library",
            "plots need vl-convert, which is not installed",
            hint="pip install vl-convert-python",
        ) from None
    with suppress(OSError):
        head, _, content = (cache / name).read_bytes().partition(b"\n")
        if head == _seal(content):
            return content
    bundle = _bundle()
    with suppress(OSError):  # a full disk: it is built again next time
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(cache / name, _seal(bundle) + b"\n" + bundle)
    return bundle


def _seal(content: bytes) -> bytes:
    return b"// " + hashlib.sha256(content).hexdigest().encode()


def _notices() -> bytes:
    return shipped("templates", "pages", "vega-licences.txt").read_bytes()


def _bundle() -> bytes:
    # A separate process, as for drawings, because the engine may crash, and its memory is freed at the end.
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, SNIPPET],
            capture_output=True, timeout=SECONDS, check=False, env=child_environment(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HackathonError(
            "look.no_bundle",
            "plots are static images, because Vega could not be prepared: {reason}",
            hint="the pages are complete without it",
            reason=error,
        ) from None
    if child.returncode or SNIPPET.split(" ")[0].encode() not in child.stdout:
        last = child.stderr.decode("utf-8", "replace").strip().splitlines()
        raise HackathonError(
            "look.no_bundle",
            "plots are static images, because Vega could not be prepared: {reason}",
            hint="the pages are complete without it",
            reason=last[-1][:300] if last else f"exit {child.returncode}",
        )
    # It is a module, whose names must not become names of the page.
    return b"/*!\n" + _notices() + b"*/\n" + b'(() => {\n"use strict";\n' + child.stdout + b"\n})();\n"


def _page_file(name: str) -> Callable[[Path], bytes]:
    def read(_: Path) -> bytes:
        return shipped("templates", "pages", name).read_bytes()

    return read


FILES: dict[str, Callable[[Path], bytes]] = {
    "style.css": _page_file("style.css"),
    "plots.js": _page_file("plots.js"),
    "tables.js": _page_file("tables.js"),
    "live.js": _page_file("live.js"),
    "tutor.js": _page_file("tutor.js"),
    "keys.js": _page_file("keys.js"),
    "forms.js": lambda _: forms_file().encode(),
    "vega.js": vega_bundle,
}
"""File name → function that returns its content, given a cache folder on this machine.

A site links `plots.js` and `tables.js` (a server `live.js` and `keys.js`); `vega.js` is beside them and is loaded on
demand, as is `forms.js` on a site (`page.plot_forms`).
"""
