"""Read a trace's JSON event by event: with bounded memory, for files of any size and origin.

The formats are Chrome's: an object whose `traceEvents` is a list of events, or only that list, which may lack its end.
Source: "Trace Event Format" (Google), and torch.profiler's additions.
"""

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from json import JSONDecoder
from typing import Any, BinaryIO

from hackathon.text.errors import RequestError

BLOCK = 1 << 20
"""Bytes per read."""
LONGEST = 8 << 20
"""Longest event, or value beside the events, in characters."""
LARGEST = 16 << 30
"""Bytes of a trace that are read at most, uncompressed."""
EVENTS = "traceEvents"
KEPT_VALUES = frozenset(
    {"baseTimeNanoseconds", "host_name", "distributedInfo", "deviceProperties", "framework", "computes_on", EVENTS}
)
"""Values beside the events that are kept."""
TORN, CUT = "torn", "cut"
"""Why a trace was not read to its end: it is incomplete or broken; it is too large."""
_BETWEEN = re.compile(r"[\s,]*")
_SPACE = re.compile(r"\s*")
_VALUE = JSONDecoder(parse_int=float)
"""Numbers become floats, so that one with thousands of digits is infinite instead of an error."""
_NONE = object()


class TraceStream:
    """The events of one trace, in file order, and the values beside them.

    `values` and `remark` are complete when `events` has ended.
    """

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self.file = file
        self.values: dict[str, Any] = {}
        """Values beside the events, such as `host_name`; those of KEPT_VALUES."""
        self.remark = ""
        """Why it was not read to its end: TORN or CUT; else ""."""
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        self._stream: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        self._text = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._place = 0
        self._read = 0
        self._at_end = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield each event that is an object. Raises RequestError when the file is not the JSON of a trace."""
        begin = self._next(_SPACE)
        if begin == "[":
            self._place += 1
            yield from self._list()
        elif begin == "{":
            self._place += 1
            yield from self._object()
        else:
            raise RequestError(
                "profile.not_json",
                "{file} is not a trace: it contains no JSON",
                hint='torch.profiler writes one with `export_chrome_trace("rank-0.json.gz")`.',
                file=self.file,
            )

    def _object(self) -> Iterator[dict[str, Any]]:
        while (letter := self._next(_BETWEEN)) != "}":
            key = self._value() if letter == '"' else _NONE
            if not isinstance(key, str) or self._next(_SPACE) != ":":
                self._tear()
                return
            self._place += 1
            begin = self._next(_SPACE)
            if key == EVENTS and begin == "[":
                self._place += 1
                yield from self._list()
                if self.remark:
                    return
                continue
            value = self._value()
            if value is _NONE:
                self._tear()
                return
            if key in KEPT_VALUES:
                self.values[key] = value

    def _list(self) -> Iterator[dict[str, Any]]:
        while (letter := self._next(_BETWEEN)) != "]":
            value = self._value() if letter else _NONE
            if value is _NONE:
                self._tear()
                return
            if isinstance(value, dict):
                yield value
        self._place += 1

    def _tear(self) -> None:
        self.remark = self.remark or TORN

    def _next(self, between: re.Pattern[str]) -> str | None:
        """Skip the text between two values; return the next character, None at the end."""
        while True:
            match = between.match(self._buffer, self._place)
            assert match is not None  # both patterns also match the empty string
            self._place = match.end()
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._more():
                return None

    def _value(self) -> Any:
        """Return the value that begins here, _NONE for one that is broken, too long or incomplete."""
        while True:
            try:
                value, end = _VALUE.raw_decode(self._buffer, self._place)
            except RecursionError:
                return _NONE
            except ValueError:
                if len(self._buffer) - self._place > LONGEST or not self._more():
                    return _NONE
                continue
            # a number at the end of the buffer may continue after it
            if end == len(self._buffer) and not isinstance(value, (dict, list, str)) and self._more():
                continue
            self._place = end
            return value

    def _more(self) -> bool:
        """Read more; return False at the end."""
        if self._at_end:
            return False
        try:
            block = self._stream.read(max(BLOCK, len(self._buffer) - self._place))
        except (OSError, EOFError, zlib.error):  # a broken or incomplete compressed file
            block = b""
            self._tear()
        self._read += len(block)
        if self._read > LARGEST:
            block, self.remark = b"", CUT
        self._at_end = not block
        self._buffer = self._buffer[self._place :] + self._text.decode(block, self._at_end)
        self._place = 0
        return bool(block)
