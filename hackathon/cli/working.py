"""A line on the terminal for work that takes longer than a moment."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from hackathon.text.units import format_age

DELAY, PAUSE = 2.0, 1.0
"""Seconds until the line appears, and between two changes of it."""


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show what a block does and for how long, on a terminal and after two seconds; the block itself prints nothing."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    done = threading.Event()
    begin = time.monotonic()

    def show() -> None:
        pause = DELAY
        while not done.wait(pause):
            click.echo(f"\r\033[K{text} … {format_age(time.monotonic() - begin)}", nl=False, err=True)
            pause = PAUSE

    shower = threading.Thread(target=show, daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()
        if time.monotonic() - begin >= DELAY:
            click.echo("\r\033[K", nl=False, err=True)
