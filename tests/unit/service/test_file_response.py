"""Files that are sent: found without following links, and never more than was asked for."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.service.file_response import open_inside, parse_inner_path, send_file


@pytest.mark.parametrize(
    "text", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", "a\nb", "x" * 5000]
)
def test_a_path_that_leads_out_is_refused(text: str) -> None:
    with pytest.raises(ValidationFailed):
        parse_inner_path(text)


@pytest.mark.parametrize("name", ["link", "linked/file", "pipe", "directory", "missing", "file/below"])
def test_only_a_regular_file_is_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to("/etc")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotFound):
        open_inside(tmp_path.resolve(), name.split("/"))


@given(st.text(alphabet="bytes=0123456789-, x", max_size=12))
def test_every_range_header_gets_a_valid_response(range_header: str) -> None:
    descriptor = os.memfd_create("file")
    os.write(descriptor, b"0123456789")
    answer = send_file(descriptor, range_header=range_header, media_type="text/plain", name="n")
    if answer.status_code != 416:
        os.close(descriptor)
        assert 0 <= int(answer.headers["content-length"]) <= 10
        assert (answer.status_code == 206) == ("content-range" in answer.headers)
    assert answer.status_code in (200, 206, 416)
