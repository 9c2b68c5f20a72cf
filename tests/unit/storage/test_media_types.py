"""Media types come from the names of files, the same on every machine."""

import pytest

from skills_runtime.storage import media_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.MD", "text/markdown"),
        ("x.tar.gz", "application/gzip"),
        (".md", "application/octet-stream"),
        ("a.md/x", "application/octet-stream"),
        ("x.", "application/octet-stream"),
        ("x.unknown", "application/octet-stream"),
    ],
)
def test_a_media_type_comes_from_the_end_of_the_name(name: str, expected: str) -> None:
    assert media_type(name) == expected
