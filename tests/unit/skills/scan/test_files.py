"""Files that are not what they seem."""

import struct
from pathlib import Path

import pytest

from skills_runtime.skills.scan import scan_directory
from skills_runtime.skills.scan.files import Collected, ScannedFile, ScannedLink, find_file_issues

ELF = b"\x7fELF" + bytes(200)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40) + b"IEND\xaeB`\x82"


def found(*files: tuple[str, bytes]) -> list[tuple[str, str]]:
    members = tuple(ScannedFile(name=name, data=data, size=len(data)) for name, data in files)
    return [(one.code, one.file) for one in find_file_issues(Collected(members=members))]


def entry(flags: int) -> bytes:
    return b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, flags, 0, 0, 0, 0, 0, 0, 1, 0) + b"a"


def test_compiled_code_without_source_is_found() -> None:
    assert found(("scripts/a.pyc", b"\xa7\r\r\n")) == [("F001", "scripts/a.pyc")]


def test_the_cache_of_a_source_that_is_there_is_not() -> None:
    assert found(("a.py", b""), ("__pycache__/a.cpython-311.pyc", b"\xa7\r\r\n")) == []


def test_a_program_under_its_own_name_is_fair_and_under_another_grave(tmp_path: Path) -> None:
    assert found(("bin/tool", ELF)) == [("F002", "bin/tool")]
    assert found(("logo.png", ELF)) == [("F003", "logo.png")]
    (tmp_path / "logo.png").write_bytes(ELF)
    assert scan_directory(tmp_path).verdict == "malicious"


def test_words_that_begin_like_a_program_are_none() -> None:
    assert found(("notes.txt", b"MZ is the mark of a program " * 4)) == []


@pytest.mark.parametrize(("flags", "codes"), [(0, []), (1, [("F004", "a.zip")])])
def test_only_a_locked_archive_is_found(flags: int, codes: list[tuple[str, str]]) -> None:
    assert found(("a.zip", entry(flags))) == codes


def test_a_script_behind_an_image_is_found() -> None:
    assert found(("a.png", PNG + b"#!/bin/sh\necho hidden\n")) == [("F005", "a.png")]
    assert found(("a.png", PNG)) == []


def test_a_hidden_script_is_reported() -> None:
    assert found((".run.sh", b"#!/bin/sh\n")) == [("F007", ".run.sh")]


def test_a_link_to_secrets_is_graver_than_another_one() -> None:
    links = (
        ScannedLink(name="a", target="/opt/x", leads_out=True),
        ScannedLink(name="b", target="/srv/x/.ssh", leads_out=True),
    )

    assert [one.severity for one in find_file_issues(Collected(members=(), links=links))] == ["medium", "high"]
