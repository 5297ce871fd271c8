"""Pictures as cameras and drawing programs write them, with what they tell beside the picture."""

import struct
import zlib


def png(width: int = 40, height: int = 20, *more: tuple[bytes, bytes]) -> bytes:
    """Return a whole PNG of one colour; `more`: further chunks (kind, data)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\x40\x80\xc0" * width) * height)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), *more, (b"IDAT", rows), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def jpeg(orientation: int = 1, secret: bytes = b"35.90 N, 139.94 E by Taro") -> bytes:
    """Return the segments of a JPEG as a telephone writes them, with a scan that no decoder of these tests reads."""

    def segment(marker: int, data: bytes) -> bytes:
        return bytes((0xFF, marker)) + struct.pack(">H", len(data) + 2) + data

    tiff = b"II*\0" + struct.pack("<IH", 8, 2) + struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    tiff += struct.pack("<HHII", 0x8825, 4, 1, 26) + struct.pack("<I", 0) + secret
    frame = b"\x08" + struct.pack(">HHB", 30, 40, 1) + b"\x01\x11\x00"
    return b"".join((
        b"\xff\xd8", segment(0xE0, b"JFIF\0\x01\x02\0\0\x01\0\x01\x01\x01" + secret[:3]),
        segment(0xE1, b"Exif\0\0" + tiff), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + secret),
        segment(0xED, secret), segment(0xFE, secret), segment(0xE2, b"ICC_PROFILE\0\x01\x01colours"),
        segment(0xDB, bytes(65)), segment(0xC0, frame), segment(0xC4, bytes(20)), segment(0xDA, b"\x01\x01\0\0\x3f\0"),
        b"\x12\xff\0\x34\xff\xd0\x56", b"\xff\xd9", b"ftypmp42" + secret,
    ))  # fmt: skip
