"""Type and size of an image from its first bytes.

Pure, and no pixels are decoded.
"""

import struct
from collections.abc import Callable

import msgspec

MAX_SIDE = 32_768
MAX_PIXELS = 100_000_000


class ImageInfo(msgspec.Struct, frozen=True):
    """Media type of an image and its size in pixels."""

    mime: str
    width: int
    height: int

    @property
    def is_plausible(self) -> bool:
        """Whether the dimensions are within the limits."""
        fits_sides = 0 < self.width <= MAX_SIDE and 0 < self.height <= MAX_SIDE
        return fits_sides and self.width * self.height <= MAX_PIXELS


def recognize_image(data: bytes) -> ImageInfo | None:
    """Return type and size of an image, or None for other or damaged data."""
    for magic, mime, measure in _KINDS:
        if data.startswith(magic):
            try:
                size = measure(data)
            except (struct.error, IndexError):
                return None
            return ImageInfo(mime, *size) if size else None
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from(">II", data, 16)
    return (width, height) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if data[20] == 0x2F:
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the start of a frame."""
    offset = 2
    while data[offset] == 0xFF:
        marker = data[offset + 1]
        if marker == 0xFF:  # a fill byte
            offset += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, offset + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, offset + 2)
        if length < 2:
            return None
        offset += 2 + length
    return None


_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_KINDS: tuple[tuple[bytes, str, Callable[[bytes], tuple[int, int] | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png", _png),
    (b"\xff\xd8\xff", "image/jpeg", _jpeg),
    (b"GIF87a", "image/gif", _gif),
    (b"GIF89a", "image/gif", _gif),
    (b"RIFF", "image/webp", _webp),
)
