"""Read single keys from a terminal."""

import os
import select
import sys
import termios
import tty
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress

UP, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST, ENTER, BACK, TAKE, QUIT = (
    "up", "down", "page_up", "page_down", "first", "last", "enter", "back", "take", "quit",
)  # fmt: skip
_SEQUENCES = {
    b"\x1b[A": UP, b"\x1bOA": UP, b"\x1b[B": DOWN, b"\x1bOB": DOWN, b"\x1b[5~": PAGE_UP, b"\x1b[6~": PAGE_DOWN,
    b"\x1b[H": FIRST, b"\x1bOH": FIRST, b"\x1b[1~": FIRST, b"\x1b[F": LAST, b"\x1bOF": LAST, b"\x1b[4~": LAST,
    b"\x1b[C": ENTER, b"\x1bOC": ENTER, b"\x1b[D": BACK, b"\x1bOD": BACK,
}  # fmt: skip
_LETTERS = {
    "k": UP, "j": DOWN, " ": PAGE_DOWN, "b": PAGE_UP, "g": FIRST, "G": LAST, "\r": ENTER, "\n": ENTER, "\x1b": BACK,
    "h": BACK, "l": ENTER, "\x7f": BACK, "\x08": BACK, "t": TAKE, "q": QUIT,
}  # fmt: skip


class Keys:
    """The keys of the terminal on standard input; none if that is not a terminal."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    @property
    def open(self) -> bool:
        """Whether keys can be read."""
        return self._descriptor is not None

    def read(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, after at most `seconds`; other keys are left out."""
        if self._descriptor is None or not select.select([self._descriptor], [], [], seconds)[0]:
            return []
        try:
            raw = os.read(self._descriptor, 1024)
        except OSError:  # the terminal is gone
            raw = b""
        if not raw:
            self._descriptor = None
        return list(keys_in(raw))


def keys_in(raw: bytes) -> Iterator[str]:
    """Yield the keys in what a terminal sent; full-width letters of an input method count as the plain ones."""
    while raw:
        sequence = next((known for known in _SEQUENCES if raw.startswith(known)), b"")
        if sequence:
            yield _SEQUENCES[sequence]
            raw = raw[len(sequence) :]
            continue
        if raw[:1] == b"\x1b" and len(raw) > 1:  # a key without a meaning here: up to its final letter
            end = next((at for at in range(2, len(raw)) if 0x40 <= raw[at] <= 0x7E), len(raw) - 1)
            raw = raw[end + 1 :]
            continue
        size = 1 if raw[0] < 0x80 else next((at for at in range(1, len(raw)) if raw[at] & 0xC0 != 0x80), len(raw))
        letter = unicodedata.normalize("NFKC", raw[:size].decode("utf-8", "replace"))
        if letter in _LETTERS:
            yield _LETTERS[letter]
        raw = raw[size:]


@contextmanager
def pressed() -> Iterator[Keys]:
    """Yield the keys of standard input, read one by one and without echo; the terminal is restored at the end."""
    if not sys.stdin.isatty():
        yield Keys(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield Keys(descriptor)
    finally:
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
