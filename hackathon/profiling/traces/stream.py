"""Read a trace's JSON event by event: bounded memory, whatever its size and whoever wrote it.

The formats are Chrome's: an object whose `traceEvents` is a list of events, or that list alone, which may lack its end.
Source: "Trace Event Format" (Google), and what torch.profiler writes around it.
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
"""Bytes that are read at once."""
LONGEST = 8 << 20
"""Letters of one event, or of one value beside the events, at most."""
LARGEST = 16 << 30
"""Bytes of a trace that are read at most, unpacked."""
EVENTS = "traceEvents"
KEPT_VALUES = frozenset(
    {"baseTimeNanoseconds", "host_name", "distributedInfo", "deviceProperties", "framework", "computes_on", EVENTS}
)
"""What is wanted of the values beside the events."""
TORN, CUT = "torn", "cut"
"""Why a trace was not read to its end: it ends or is broken in the middle; it is larger than is read."""
_BETWEEN = re.compile(r"[\s,]*")
_SPACE = re.compile(r"\s*")
_VALUE = JSONDecoder(parse_int=float)
"""Numbers become floats, so that one of thousands of digits is infinite and no error."""
_NONE = object()


class TraceStream:
    """The events of one trace, in the order of the file, and the values beside them.

    `values` and `remark` are complete when `events` has ended.
    """

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self.file = file
        self.values: dict[str, Any] = {}
        """What stands beside the events, such as `host_name`; of KEPT_VALUES."""
        self.remark = ""
        """Why it was not read to its end: TORN or CUT; empty when it was."""
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        self._stream: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        self._text = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._place = 0
        self._read = 0
        self._at_end = False

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield each event that is an object. Raises RequestError for what is no JSON of a trace at all."""
        begin = self._next(_SPACE)
        if begin == "[":
            self._place += 1
            yield from self._list()
        elif begin == "{":
            self._place += 1
            yield from self._object()
        else:
            raise RequestError("profile.not_json", file=self.file)

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
        """Pass over what stands between two values; return the letter that comes then, None at the end."""
        while True:
            match = between.match(self._buffer, self._place)
            assert match is not None  # both patterns match nothing, too
            self._place = match.end()
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._more():
                return None

    def _value(self) -> Any:
        """Return the value that begins here, _NONE for one that is broken, too long or has no end."""
        while True:
            try:
                value, end = _VALUE.raw_decode(self._buffer, self._place)
            except RecursionError:
                return _NONE
            except ValueError:
                if len(self._buffer) - self._place > LONGEST or not self._more():
                    return _NONE
                continue
            # a number at the end of what was read may go on behind it
            if end == len(self._buffer) and not isinstance(value, (dict, list, str)) and self._more():
                continue
            self._place = end
            return value

    def _more(self) -> bool:
        """Read on; return False at the end."""
        if self._at_end:
            return False
        try:
            block = self._stream.read(max(BLOCK, len(self._buffer) - self._place))
        except (OSError, EOFError, zlib.error):  # a packed file that is broken or has no end
            block = b""
            self._tear()
        self._read += len(block)
        if self._read > LARGEST:
            block, self.remark = b"", CUT
        self._at_end = not block
        self._buffer = self._buffer[self._place :] + self._text.decode(block, self._at_end)
        self._place = 0
        return bool(block)
