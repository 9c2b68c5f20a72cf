"""Archives: the honest ones are unpacked, the hostile ones leave nothing outside and nothing that counts."""

import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.install import ArchiveLimits, unpack
from tests.unit.skills.install import hostile
from tests.unit.skills.install.hostile import Make, patched, tar_of, zip_of

LIMITS = ArchiveLimits(members=50, total_bytes=3 << 20, file_bytes=16 << 20)
LINK = (stat.S_IFLNK | 0o777) << 16
DEVICE = (stat.S_IFCHR | 0o666) << 16
PIPE = (stat.S_IFIFO | 0o666) << 16

HOSTILE: dict[str, Make] = {
    "parent": zip_of("../evil"),
    "parent inside": zip_of("writer/../../evil"),
    "parent at the end": zip_of("writer/.."),
    "absolute": zip_of("/evil"),
    "double slash": zip_of("//evil"),
    "empty part": zip_of("writer//evil"),
    "dot part": zip_of("writer/./evil"),
    "backslashes": zip_of("..\\evil"),
    "drive letter": zip_of("C:/evil"),
    "drive letter and backslash": zip_of("C:\\evil"),
    "alternate stream": zip_of("writer/SKILL.md:evil"),
    "NUL byte": patched(zip_of("writer/aXb"), b"aXb", b"a\0b"),
    "line break": zip_of("writer/a\nb"),
    "escape sequence": zip_of("writer/a\x1b[31mb"),
    "hidden direction": zip_of("writer/a\u202egnp.exe"),
    "zero width": zip_of("writer/SKILL\u200b.md"),
    "reserved name": zip_of("writer/NUL"),
    "reserved name with suffix": zip_of("writer/com1.txt"),
    "dot at the end": zip_of("writer/evil."),
    "space at the end": zip_of("writer/evil "),
    "name too long": zip_of("writer/" + "n" * 300),
    "path too long": zip_of("/".join(["n" * 90] * 12)),
    "too deep": zip_of("/".join(["d"] * 60)),
    "git directory": zip_of("writer/.git/hooks/post-checkout"),
    "git directory in capitals": zip_of("writer/.GIT/config"),
    "git short name": zip_of("writer/git~1/config"),
    "case clash": zip_of("writer/skill.md"),
    "case clash of directories": zip_of("Writer/other"),
    "accents in two ways": zip_of("writer/\u00e9", "writer/e\u0301"),
    "compatible letters": zip_of("writer/\ufb01le", "writer/file"),
    "twice": zip_of("writer/twice", "writer/twice"),
    "file and directory": zip_of("writer/a", "writer/a/b"),
    "directory and file": zip_of("writer/a/b", "writer/a"),
    "link": zip_of("writer/link", content=b"/etc/passwd", external_attr=LINK),
    "link called directory": zip_of("writer/link/", content=b"/etc", external_attr=LINK),
    "device": zip_of("writer/device", external_attr=DEVICE),
    "pipe": zip_of("writer/pipe", external_attr=PIPE),
    "encrypted": patched(
        zip_of("writer/secret"), b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"
    ),
    "other packing": zip_of("writer/a", compress_type=zipfile.ZIP_LZMA),
    "bomb": hostile.bomb_zip,
    "many entries": hostile.many_entries,
    "large in total": hostile.large_total,
    "overlapping": hostile.overlapping,
    "lies about a size": hostile.lying_about_size,
    "zip64 end": hostile.zip64_end,
    "zip64 size": hostile.zip64_extra,
    "divided": hostile.divided,
    "cut off": hostile.cut_off,
    "wrong checksum": hostile.wrong_checksum,
    "two names": hostile.two_names,
    "no archive": hostile.plain_text,
    "nothing": hostile.empty,
    "tar: parent": tar_of("../evil"),
    "tar: absolute": tar_of("/evil"),
    "tar: link": tar_of("writer/link", tarfile.SYMTYPE, target="/etc/passwd"),
    "tar: link inside": tar_of("writer/link", tarfile.SYMTYPE, target="SKILL.md"),
    "tar: hard link": tar_of("writer/hard", tarfile.LNKTYPE, target="/etc/passwd"),
    "tar: character device": tar_of("writer/device", tarfile.CHRTYPE),
    "tar: block device": tar_of("writer/device", tarfile.BLKTYPE),
    "tar: pipe": tar_of("writer/pipe", tarfile.FIFOTYPE),
    "tar: unknown kind": tar_of("writer/odd", b"Z"),
    "tar: sparse": hostile.sparse_tar,
    "tar: case clash": tar_of("writer/Skill.MD"),
    "tar: twice": tar_of("writer/SKILL.md"),
    "tar: bomb": hostile.bomb_tar,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_archive_is_refused_and_nothing_of_it_is_left(make: Make, tmp_path: Path) -> None:
    archive = tmp_path / "in.zip"
    make(archive)
    place = tmp_path / "deep" / "place"
    place.mkdir(parents=True)
    with pytest.raises(ValidationFailed) as error:
        unpack(archive, place / "out", LIMITS)
    assert error.value.hint
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "deep", place, archive]


def test_there_are_many_hostile_archives() -> None:
    assert len(HOSTILE) >= 40


@pytest.mark.parametrize("packed", ["zip", "tar"])
def test_an_honest_archive_is_unpacked_with_only_the_right_to_run_kept(packed: str, tmp_path: Path) -> None:
    archive = tmp_path / "writer.skill"
    if packed == "zip":
        zip_of("writer/scripts/run.sh", external_attr=(stat.S_IFREG | 0o6777) << 16)(archive)
    else:
        tar_of("writer/scripts/run.sh")(archive)
    unpack(archive, tmp_path / "out")
    script = tmp_path / "out/writer/scripts/run.sh"
    assert script.read_bytes() == b"x"
    assert stat.S_IMODE(script.stat().st_mode) & 0o7100 == 0o100
    assert not script.stat().st_mode & 0o022
    assert (tmp_path / "out/writer/SKILL.md").read_bytes() == hostile.SKILL


def test_what_a_finder_leaves_in_archives_is_left_out(tmp_path: Path) -> None:
    zip_of("__MACOSX/writer/._SKILL.md", "writer/.DS_Store")(tmp_path / "a.zip")
    unpack(tmp_path / "a.zip", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["SKILL.md"]


def test_an_archive_that_is_too_long_is_not_even_opened(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with archive.open("wb") as file:
        os.truncate(file.fileno(), 100)
    with pytest.raises(ValidationFailed, match="100 bytes"):
        unpack(archive, tmp_path / "out", ArchiveLimits(archive_bytes=99))


def test_an_archive_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        unpack(tmp_path / "no.zip", tmp_path / "out")
