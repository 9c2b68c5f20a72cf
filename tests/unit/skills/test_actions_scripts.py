"""The block at the top of a script that says which packages it needs."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.skills.actions import InlineMetadata, UnusableMetadata, is_python_allowed, parse_inline_metadata

BLOCK = """\
#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "requests<3",
#   "rich[jupyter]>=13, !=13.1 ; python_version < '4'",
# ]
#
# [tool.uv]
# exclude-newer = "2026-01-01T00:00:00Z"
# ///
import requests
"""


def block(line: str) -> bytes:
    return f"# /// script\n# {line}\n# ///\n".encode()


def test_the_block_says_what_a_script_needs() -> None:
    assert parse_inline_metadata(BLOCK.encode()) == InlineMetadata(
        requires_python=">=3.11",
        dependencies=("requests<3", "rich[jupyter]>=13, !=13.1 ; python_version < '4'"),
        exclude_newer="2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    "text",
    ["print(1)\n", "# /// script\n# dependencies = []\n", "# /// other\n# x = 1\n# ///\n", "#/// script\n# ///\n"],
)
def test_a_script_without_a_whole_block_says_nothing(text: str) -> None:
    assert parse_inline_metadata(text.encode()) is None


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    data = b"\xef\xbb\xbf" + BLOCK.replace("\n", "\r\n").encode()

    assert parse_inline_metadata(data) == parse_inline_metadata(BLOCK.encode())


def test_two_blocks_are_refused() -> None:
    with pytest.raises(UnusableMetadata, match="more than one"):
        parse_inline_metadata(block("dependencies = []") + b"x = 1\n" + block("dependencies = []"))


@pytest.mark.parametrize(
    "dependency",
    [
        "-r /etc/passwd",
        "--index-url=http://evil.example",
        "evil @ https://evil.example/evil.whl",
        "evil @ file:///etc",
        "git+https://evil.example/evil",
        "./local",
        "a\\nb",
        "",
    ],
)
def test_only_packages_with_versions_are_dependencies(dependency: str) -> None:
    with pytest.raises(UnusableMetadata, match="is not a package"):
        parse_inline_metadata(block(f'dependencies = ["{dependency}"]'))


@pytest.mark.parametrize("line", ["dependencies = 3", "dependencies = [3]", "requires-python = 3", "x = = 1"])
def test_what_is_no_such_block_is_refused(line: str) -> None:
    with pytest.raises(UnusableMetadata):
        parse_inline_metadata(block(line))


@settings(max_examples=200)
@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_crash_it(data: bytes, inside: bool) -> None:
    whole = b"# /// script\n# " + data + b"\n# ///\n" if inside else data
    with suppress(UnusableMetadata):
        parse_inline_metadata(whole)


@pytest.mark.parametrize(
    ("requires", "fits"),
    [
        ("", True),
        (">=3.11", True),
        (">=3.11.2", True),
        ("<3.11", False),
        (">=3.8,<4", True),
        ("==3.11.*", True),
        ("!=3.11.*", False),
        ("~=3.10", True),
        ("~=3.10.1", False),
        (">3.11.4", False),
        ("==3.11", False),
        ("newest", None),
        (">=3.11, <3.*", None),
    ],
)
def test_a_version_of_python_fits_or_not(requires: str, fits: bool | None) -> None:
    assert is_python_allowed(requires, (3, 11, 4)) is fits
