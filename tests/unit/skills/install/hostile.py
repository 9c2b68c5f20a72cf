"""Archives that nobody should unpack: inert, but made the way attacks are made."""

import gzip
import io
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

SKILL = b"---\nname: writer\ndescription: Writes.\n---\nDo it.\n"

Make = Callable[[Path], None]


def zip_of(*names: str, content: bytes = b"x", **attributes: int) -> Make:
    """A zip with a skill and files of these names; attributes are set on each of them."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the library warns of what these tests are about
            archive.writestr("writer/SKILL.md", SKILL)
            for name in names:
                info = zipfile.ZipInfo("placeholder")
                info.filename = name
                info.create_system = 3
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                for key, value in attributes.items():
                    setattr(info, key, value)
                archive.writestr(info, content)

    return make


def tar_of(name: str, kind: bytes = tarfile.REGTYPE, *, target: str = "", content: bytes = b"x") -> Make:
    """A tar with a skill and one entry of a kind."""

    def make(path: Path) -> None:
        with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, "writer/SKILL.md", tarfile.REGTYPE, SKILL)
            _add(archive, name, kind, content if kind == tarfile.REGTYPE else b"", target)

    return make


def patched(make: Make, before: bytes, after: bytes, *, every: bool = True) -> Make:
    """The same archive with bytes exchanged, as no honest program would write it."""

    def changed(path: Path) -> None:
        make(path)
        data = path.read_bytes()
        assert before in data
        path.write_bytes(data.replace(before, after) if every else data.replace(before, after, 1))

    return changed


def bomb_zip(path: Path) -> None:
    """Small outside, large inside."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("SKILL.md", SKILL)
        archive.writestr("zeros", bytes(8 << 20))


def bomb_tar(path: Path) -> None:
    """The same as a tar."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        _add(archive, "zeros", tarfile.REGTYPE, bytes(8 << 20))
    path.write_bytes(gzip.compress(plain.getvalue(), 9))


def many_entries(path: Path) -> None:
    """More files than any skill has."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(60):
            archive.writestr(f"f{number}", b"")


def large_total(path: Path) -> None:
    """No file is large, all together are."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(5):
            archive.writestr(f"f{number}", bytes(700_000))


def overlapping(path: Path) -> None:
    """Two entries of the list that share the bytes of one file."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"x" * 100)
        archive.writestr("b", b"x" * 100)
        archive.infolist()[1].header_offset = 0
        archive.infolist()[1].filename = "b"


def lying_about_size(path: Path) -> None:
    """The list says 3 bytes, the file has 3000."""
    make = zip_of("data", content=b"y" * 3000)
    make(path)
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, place + 24, 3)
    path.write_bytes(bytes(data))


def zip64_end(path: Path) -> None:
    """A zip whose end says that the true end is elsewhere."""
    zip_of("data")(path)
    data = path.read_bytes()
    place = data.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, 0, 1)
    path.write_bytes(data[:place] + locator + data[place:])


def zip64_extra(path: Path) -> None:
    """An entry whose large size hides in an extra field."""
    zip_of("data")(path)
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    name_length = struct.unpack_from("<H", data, place + 28)[0]
    extra = struct.pack("<HHQ", 1, 8, 1 << 40)
    struct.pack_into("<I", data, place + 24, 0xFFFFFFFF)
    struct.pack_into("<H", data, place + 30, len(extra))
    data[place + 46 + name_length : place + 46 + name_length] = extra
    end = data.rindex(b"PK\x05\x06")
    size = struct.unpack_from("<I", data, end + 12)[0]
    struct.pack_into("<I", data, end + 12, size + len(extra))
    path.write_bytes(bytes(data))


def divided(path: Path) -> None:
    """The last disk of a zip that has several."""
    zip_of("data")(path)
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, data.rindex(b"PK\x05\x06") + 4, 3)
    path.write_bytes(bytes(data))


def cut_off(path: Path) -> None:
    """A zip that ends in the middle."""
    zip_of("data", content=bytes(range(256)) * 20)(path)
    path.write_bytes(path.read_bytes()[:-40])


def wrong_checksum(path: Path) -> None:
    """A file that is not what its checksum says."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", b"truth" * 10)
    path.write_bytes(path.read_bytes().replace(b"truth" * 10, b"lying" * 10))


def two_names(path: Path) -> None:
    """An entry with one name in the list and another one before its bytes."""
    zip_of("harmless")(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"harmless", b"../../et", 1))


def sparse_tar(path: Path) -> None:
    """A tar with a file of holes, which is small here and large there."""
    tar_of("holes", tarfile.GNUTYPE_SPARSE)(path)


def plain_text(path: Path) -> None:
    """No archive at all."""
    path.write_bytes(b"#!/bin/sh\necho no archive\n")


def empty(path: Path) -> None:
    """Nothing."""
    path.write_bytes(b"")


def _add(archive: tarfile.TarFile, name: str, kind: bytes, content: bytes, target: str = "") -> None:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname, info.mode = kind, len(content), target, 0o6755
    archive.addfile(info, io.BytesIO(content))
