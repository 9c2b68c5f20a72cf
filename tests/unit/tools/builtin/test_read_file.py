"""read_file: pages, blocks, and what a file may hold."""

import pytest

from skills_runtime.errors import NotFound, PathEscape, ToolError
from skills_runtime.ports import ToolResult
from skills_runtime.testing import FrozenClock
from skills_runtime.tools.builtin import ReadFile, read_file
from skills_runtime.tools.invoke import invoke
from tests.support.tools import Workshop, data_of


async def _read(workshop: Workshop, data: bytes | str, **arguments: object) -> ToolResult:
    workshop.write("f", data)
    return await workshop.call(ReadFile(), file_path="f", **arguments)


async def test_lines_are_numbered_from_one(workshop: Workshop) -> None:
    result = await _read(workshop, "one\ntwo\n")
    assert result.stdout == "L1: one\nL2: two"
    assert (result.ok, result.truncated) == (True, False)
    assert data_of(result)["total_lines"] == 2


async def test_a_page_begins_at_the_offset_and_tells_how_to_go_on(workshop: Workshop) -> None:
    result = await _read(workshop, "a\nb\nc\nd\n", offset=2, limit=2)
    assert result.stdout == "L2: b\nL3: c\n[continue with offset=4; the file has 4 lines]"
    assert result.truncated
    assert (data_of(result)["first_line"], data_of(result)["last_line"]) == (2, 3)


async def test_the_last_line_needs_no_newline(workshop: Workshop) -> None:
    assert (await _read(workshop, "a\nb")).stdout == "L1: a\nL2: b"


async def test_carriage_returns_at_line_ends_are_not_shown(workshop: Workshop) -> None:
    assert (await _read(workshop, "a\r\nb\r\n")).stdout == "L1: a\nL2: b"


async def test_only_a_line_feed_ends_a_line(workshop: Workshop) -> None:
    result = await _read(workshop, "a\rb\fc\u2028d\n")
    assert result.stdout == "L1: a\rb\fc\u2028d"
    assert data_of(result)["total_lines"] == 1


async def test_a_byte_order_mark_is_not_shown(workshop: Workshop) -> None:
    assert (await _read(workshop, b"\xef\xbb\xbfa\n")).stdout == "L1: a"


async def test_an_empty_file_has_no_lines(workshop: Workshop) -> None:
    result = await _read(workshop, "")
    assert (result.stdout, data_of(result)["total_lines"], result.truncated) == ("", 0, False)


async def test_bytes_that_are_not_utf8_are_replaced_with_a_note(workshop: Workshop) -> None:
    result = await _read(workshop, b"caf\xe9\n")
    assert result.stdout == "L1: caf\ufffd\n[bytes that are not UTF-8 are shown as \ufffd]"
    assert data_of(result)["replaced_bytes"] is True


async def test_a_replacement_character_in_the_file_itself_is_not_reported(workshop: Workshop) -> None:
    assert data_of(await _read(workshop, "\ufffd\n"))["replaced_bytes"] is False


async def test_a_binary_file_is_refused(workshop: Workshop) -> None:
    with pytest.raises(ToolError, match="NUL bytes") as caught:
        await _read(workshop, b"a\0b\n")
    assert caught.value.kind == "validation"


async def test_a_long_line_is_cut_with_a_mark(workshop: Workshop) -> None:
    result = await _read(workshop, "x" * 507 + "\nshort\n")
    first, second, note = result.stdout.split("\n")
    assert first == "L1: " + "x" * 500 + "… [7 more characters]"
    assert (second, note) == ("L2: short", "[1 lines are longer than 500 characters and cut]")
    assert result.truncated


async def test_a_page_has_a_size_and_says_where_it_ended(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "MAX_PAGE_BYTES", 20)
    result = await _read(workshop, "12345\n" * 5)
    assert result.stdout == "L1: 12345\nL2: 12345\n[continue with offset=3; the file has 5 lines]"


async def test_a_huge_file_is_read_only_so_far_with_a_note(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_file, "MAX_BYTES", 6)
    result = await _read(workshop, "ab\ncd\nef\n")
    assert "only the first 6 bytes" in result.stdout
    assert (data_of(result)["complete"], data_of(result)["total_lines"], result.truncated) == (False, 2, True)
    assert workshop.records[-1].size == 7


async def test_an_offset_behind_the_end_is_refused(workshop: Workshop) -> None:
    with pytest.raises(ToolError, match="which has 2 lines"):
        await _read(workshop, "a\nb\n", offset=3)


async def test_a_missing_file_is_not_found(workshop: Workshop) -> None:
    with pytest.raises(NotFound):
        await workshop.call(ReadFile(), file_path="nothing")


async def test_a_path_that_leads_out_is_refused(workshop: Workshop) -> None:
    with pytest.raises(PathEscape):
        await workshop.call(ReadFile(), file_path="../run/run.json")


CODE = """\
import os

# greets
@cached
class Greeter:
    name = "x"

    def greet(self):
        if self.name:
            print(self.name)

    def other(self):
        pass

x = 1
"""


async def _block(workshop: Workshop, anchor: int, **rules: object) -> list[int]:
    result = await _read(workshop, CODE, mode="indentation", indentation={"anchor_line": anchor, **rules})
    return [int(line[1:].partition(":")[0]) for line in result.stdout.split("\n") if line.startswith("L")]


async def test_a_block_is_what_encloses_the_anchor_with_its_header(workshop: Workshop) -> None:
    assert await _block(workshop, 10) == list(range(3, 14))


async def test_a_block_goes_up_as_many_levels_as_asked(workshop: Workshop) -> None:
    assert await _block(workshop, 10, max_levels=1) == [9, 10]
    assert await _block(workshop, 10, max_levels=2) == [8, 9, 10]


async def test_siblings_of_a_block_are_shown_when_asked(workshop: Workshop) -> None:
    assert await _block(workshop, 10, max_levels=2, include_siblings=True) == list(range(6, 14))


async def test_the_header_of_a_block_can_be_left_out(workshop: Workshop) -> None:
    assert await _block(workshop, 10, include_header=False) == list(range(5, 14))


async def test_a_block_that_is_too_long_is_shown_around_the_anchor(workshop: Workshop) -> None:
    assert await _block(workshop, 10, max_lines=3) == [9, 10, 11]
    result = await _read(workshop, CODE, mode="indentation", offset=10, indentation={"max_lines": 3})
    assert result.stdout.endswith("[these are lines 9 to 11 of a block from line 3 to 13]")
    assert result.truncated


async def test_a_whole_block_is_not_truncated(workshop: Workshop) -> None:
    result = await _read(workshop, CODE, mode="indentation", offset=10)
    assert not result.truncated
    assert "[" not in result.stdout


async def test_pages_of_a_long_file_fit_into_their_results_and_together_are_the_file(workshop: Workshop) -> None:
    lines = [f"line {number} " + "漢" * 30 for number in range(3000)]
    workshop.write("long", "\n".join(lines))
    found: list[str] = []
    while len(found) < len(lines):
        arguments = {"file_path": "long", "offset": len(found) + 1, "limit": 10_000}
        result = await invoke(ReadFile(), arguments, workshop, clock=FrozenClock())
        assert "spilled" not in data_of(result)
        page = [line for line in result.stdout.split("\n") if line.startswith("L")]
        found += [line.partition(": ")[2] for line in page]
    assert found == lines
