"""view_image: which pictures are shown, and what is said about them."""

import hashlib
import struct
import zlib

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.tools.builtin import ViewImage, view_image
from tests.support.tools import Workshop, data_of


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def jpeg(width: int = 3, height: int = 2) -> bytes:
    start = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9)
    frame = b"\xff\xc2\x00\x0b\x08" + struct.pack(">HH", height, width) + bytes(4)
    return start + b"\xff" + frame + b"\xff\xd9"


def webp(kind: bytes, payload: bytes) -> bytes:
    body = b"WEBP" + kind + struct.pack("<I", len(payload)) + payload
    return b"RIFF" + struct.pack("<I", len(body)) + body


PICTURES = {
    "png": ("image/png", png()),
    "jpeg": ("image/jpeg", jpeg()),
    "gif": ("image/gif", b"GIF89a" + struct.pack("<HH", 3, 2) + b"\0\0\0;"),
    "lossy webp": ("image/webp", webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 3, 2) + b"\0")),
    "lossless webp": ("image/webp", webp(b"VP8L", b"\x2f" + struct.pack("<I", 2 | 1 << 14))),
    "extended webp": ("image/webp", webp(b"VP8X", bytes(4) + b"\2\0\0\1\0\0")),
}


@pytest.mark.parametrize("name", PICTURES)
async def test_a_picture_is_shown_with_its_facts(name: str, workshop: Workshop) -> None:
    mime, content = PICTURES[name]
    workshop.write("misleading.txt", content)
    result = await workshop.call(ViewImage(), path="misleading.txt")
    digest = hashlib.sha256(content).hexdigest()
    assert data_of(result) == {
        "path": "misleading.txt",
        "image": {"media_type": mime, "blob": digest, "bytes": len(content), "width": 3, "height": 2},
    }
    assert workshop.blobs == {digest: content}
    assert result.stdout == f"misleading.txt: {mime}, 3 x 2 pixels, {len(content)} bytes"


@pytest.mark.parametrize("name", PICTURES)
async def test_a_picture_cut_short_is_refused_and_raises_nothing_else(name: str, workshop: Workshop) -> None:
    _, content = PICTURES[name]
    for length in range(len(content)):
        workshop.write("p", content[:length])
        try:
            shown = data_of(await workshop.call(ViewImage(), path="p"))["image"]
        except ToolError:
            continue
        assert (shown["width"], shown["height"]) == (3, 2)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"%PDF-1.7",
        b"<svg/>",
        b"\x89PNG\r\n\x1a\nnothing else here, really",
        b"RIFF\0\0\0\0WAVEfmt and so on and on",
        b"\xff\xd8\xff\xe0\x00\x00" + bytes(20),
        b"\xff\xd8\xff" + b"\xff" * 50,
        png(0, 5),
        png(40_000, 1),
        png(30_000, 30_000),
    ],
)
async def test_what_is_not_a_picture_of_a_usual_size_is_refused(content: bytes, workshop: Workshop) -> None:
    workshop.write("p.png", content)
    with pytest.raises(ToolError) as caught:
        await workshop.call(ViewImage(), path="p.png")
    assert caught.value.kind == "validation"
    assert workshop.blobs == {}


async def test_a_picture_of_the_largest_size_is_shown_and_one_byte_more_is_not(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_image, "MAX_BYTES", len(png()))
    workshop.write("p", png())
    assert (await workshop.call(ViewImage(), path="p")).ok
    workshop.write("p", png() + b"x")
    with pytest.raises(ToolError, match="larger than"):
        await workshop.call(ViewImage(), path="p")
    assert workshop.records[-1].size == len(png()) + 1
