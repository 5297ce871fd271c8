"""Strip an organiser's PNG and JPEG pictures of all metadata: place, time, author and camera.

Only the picture itself is published: of a PNG the chunks that a decoder needs (PNG, third edition, section 11), of a
JPEG the coding segments with colour profile and orientation (ITU-T T.81, annex B; Exif 2.3, tag 0x0112). Data after the
picture's end, such as a phone's short films, are removed too.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hackathon.access.guarded_folder import GuardedFolder
from hackathon.text.errors import RequestError

LARGEST = 4 << 20
"""Bytes of a picture; a page with larger ones loads slowly."""
SIDE = 20_000
"""The most pixels of a side."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"pHYs"})
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_SCAN, _END, _COMMENT = 0xDA, 0xD9, 0xFE
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Picture:
    """A picture that may be published."""

    suffix: str
    """`.png` or `.jpg`."""
    raw: bytes
    width: int
    """Pixels, after the rotation by its orientation."""
    height: int

    @property
    def media_type(self) -> str:
        return "image/png" if self.suffix == ".png" else "image/jpeg"


def read_picture(folder: Path, name: str, largest: int = LARGEST) -> Picture:
    """Return a picture that hackathon.yaml names, without invisible data.

    Raises RequestError for a file that is missing, too large, outside of the folder, or neither PNG nor JPEG.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise RequestError(
            "site.picture_outside",
            "{file} is not a path below the event's folder",
            hint="copy the picture into the event's folder and write its name relative to hackathon.yaml",
            file=name,
        )
    raw = GuardedFolder(str(folder)).read("/".join(parts), largest + 1)
    if raw is None:
        raise RequestError(
            "site.picture_unreadable",
            "picture {file} does not exist in the event's folder, is a link, or cannot be read",
            file=name,
        )
    if len(raw) > largest:
        raise RequestError(
            "site.picture_large",
            "picture {file} is too large (limit {limit})",
            hint="scale it down",
            file=name,
            limit=f"{largest / 1e6:.1f} MB",
        )
    try:
        return cleaned(raw)
    except (ValueError, struct.error, IndexError):
        raise RequestError(
            "site.picture_kind",
            "{file} is neither a whole PNG nor a whole JPEG",
            hint="convert it to PNG or JPEG",
            file=name,
        ) from None


def cleaned(raw: bytes) -> Picture:
    """Return a picture without invisible data. Raises ValueError, IndexError or struct.error for other files."""
    picture = _png(raw) if raw.startswith(_PNG) else _jpeg(raw)
    if not (0 < picture.width <= SIDE and 0 < picture.height <= SIDE):
        raise ValueError("size")
    return picture


def _png(raw: bytes) -> Picture:
    chunks = [_PNG]
    size = (0, 0)
    kinds = set()
    for kind, data in _chunks(raw):
        if kind == b"IHDR":
            size = struct.unpack(">II", data[:8])
        if kind in _PNG_KEPT:
            kinds.add(kind)
            chunks.append(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
    if not {b"IHDR", b"IDAT", b"IEND"} <= kinds:
        raise ValueError("not whole")
    return Picture(".png", b"".join(chunks), *size)


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, data) up to the end of the picture."""
    offset = len(_PNG)
    while True:
        length, kind = struct.unpack(">I4s", raw[offset : offset + 8])
        data = raw[offset + 8 : offset + 8 + length]
        if len(data) < length:
            raise ValueError("cut off")
        yield kind, data
        if kind == b"IEND":
            return
        offset += length + 12


def _jpeg(raw: bytes) -> Picture:
    if raw[:2] != b"\xff\xd8":
        raise ValueError("no JPEG")
    segments, size, orientation, offset, scans = [b"\xff\xd8"], (0, 0), 1, 2, 0
    while True:
        if raw[offset] != 0xFF:
            raise ValueError("no marker")
        while raw[offset + 1] == 0xFF:  # fill bytes
            offset += 1
        marker = raw[offset + 1]
        offset += 2
        if marker == _END:
            segments.append(b"\xff\xd9")
            break
        if marker in _STANDALONE:
            segments.append(bytes((0xFF, marker)))
            continue
        (length,) = struct.unpack(">H", raw[offset : offset + 2])
        data = raw[offset + 2 : offset + length]
        if length < 2 or len(data) != length - 2:
            raise ValueError("cut off")
        offset += length
        if marker in _FRAMES:
            size = struct.unpack(">HH", data[1:5])
        if marker == 0xE1 and data.startswith(b"Exif\0\0"):
            orientation = _turned(data[6:])
        if _is_needed(marker, data):
            data = _without_thumbnail(data) if marker == 0xE0 else data
            segments.append(bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data)
        if marker == _SCAN:
            scans += 1
            end = _scan_end(raw, offset)
            segments.append(raw[offset:end])
            offset = end
    if not scans:
        raise ValueError("no picture")
    if orientation != 1:
        segments.insert(1, _exif(orientation))
    height, width = size
    return Picture(".jpg", b"".join(segments), *((height, width) if orientation >= 5 else (width, height)))


def _is_needed(marker: int, data: bytes) -> bool:
    """Return whether a decoder needs a segment.

    Of application segments JFIF, Adobe's colours and the colour profile.
    """
    if marker == _COMMENT:
        return False
    if 0xE0 <= marker <= 0xEF:
        signatures = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
        return marker in signatures and data.startswith(signatures[marker])
    return True


def _without_thumbnail(jfif: bytes) -> bytes:
    return jfif[:12] + b"\0\0"


def _scan_end(raw: bytes, offset: int) -> int:
    """Return where the coded data of a scan ends: at the next marker other than a restart."""
    while True:
        offset = raw.index(b"\xff", offset)
        following = raw[offset + 1]
        if following not in (0x00, 0xFF) and following not in _STANDALONE:
            return offset
        offset += 1 if following == 0xFF else 2


def _turned(tiff: bytes) -> int:
    """Return an Exif record's orientation 1…8; 1 by default."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 10:
        return 1
    try:
        (first,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, first)
        for number in range(count):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, first + 2 + 12 * number)
            if tag == _ORIENTATION and kind == 3 and 1 <= value <= 8:
                return int(value)
    except struct.error:
        return 1
    return 1


def _exif(orientation: int) -> bytes:
    """Return an Exif segment with only the orientation."""
    entry = struct.pack(">HHIHH", _ORIENTATION, 3, 1, orientation, 0)
    tiff = b"MM\0*" + struct.pack(">IH", 8, 1) + entry + struct.pack(">I", 0)
    data = b"Exif\0\0" + tiff
    return b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data
