"""read_file: numbered lines of a text file, by page or by the block around a line."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of
from skills_runtime.tools.blocks import Extent, block_around, window
from skills_runtime.tools.intents import touching
from skills_runtime.tools.spill import LIMIT

MAX_BYTES = 16 << 20
MAX_LINE_CHARS = 500
MAX_PAGE_BYTES = LIMIT - 4096
"""A page and what is said about it fit into one result, so that no line between its ends is left out."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Indentation(Arguments, frozen=True):
    """For the mode `indentation`: how much around a line is shown."""

    anchor_line: Annotated[int, Meta(ge=1, description="The line to begin from; `offset` if left out.")] | None = None
    max_levels: Annotated[int, Meta(ge=0, description="How many enclosing blocks; 0 is all of them.")] = 4
    include_siblings: Annotated[bool, Meta(description="Show the blocks beside it too.")] = False
    include_header: Annotated[bool, Meta(description="Show comments and decorators above it too.")] = True
    max_lines: Annotated[int, Meta(ge=1, description="How many lines at most; `limit` if left out.")] | None = None


class ReadFileArguments(Arguments, frozen=True):
    """What read_file takes."""

    file_path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    offset: Annotated[int, Meta(ge=1, description="The first line, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many lines at most.")] = 2000
    mode: Annotated[
        Literal["slice", "indentation"], Meta(description="`slice` is a page, `indentation` the block around a line.")
    ] = "slice"
    indentation: Indentation | None = None


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    """Lines as they are shown, the number of the first, and what was lost on the way."""

    first: int
    texts: Sequence[str]
    shortened: int = 0
    replaced: bool = False


class ReadFile:
    """Shows lines of one file of the run."""

    spec = ToolSpec(
        name="read_file",
        description="Read lines of a text file, numbered like `L12: text`.",
        parameters=schema_of(ReadFileArguments),
        effect="read",
        hidden_results=("stdout",),
        example={"file_path": "a.txt"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """The file it is about."""
        return touching(context.files, "read", parse(arguments, ReadFileArguments).file_path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read them."""
        wanted = parse(arguments, ReadFileArguments)
        data = context.files.read(wanted.file_path, limit=MAX_BYTES + 1)
        lines = _lines(wanted.file_path, data[:MAX_BYTES])
        asked, chosen = _chosen(lines, wanted)
        page = _page(lines, chosen)
        return _result(wanted, page, asked=asked, total=len(lines), whole=len(data) <= MAX_BYTES)


def _lines(path: str, data: bytes) -> list[bytes]:
    if b"\0" in data:
        raise ToolError("validation", f"`{path}` is not a text file: it has NUL bytes", hint="use another tool for it")
    *lines, last = data.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    return [*lines, last] if last else lines


def _chosen(lines: Sequence[bytes], wanted: ReadFileArguments) -> tuple[range, range]:
    """The numbers, counted from 0, of the lines that the call is about, and of those within its limits."""
    rules = wanted.indentation or Indentation()
    by_block = wanted.mode == "indentation"
    first = (rules.anchor_line or wanted.offset) if by_block else wanted.offset
    if first > max(len(lines), 1):
        raise ToolError(
            "validation",
            f"line {first} is behind the end of `{wanted.file_path}`, which has {len(lines)} lines",
            hint="use a smaller `offset`",
        )
    if not by_block or not lines:
        asked = range(first - 1, len(lines))
        return asked, asked[: wanted.limit]
    extent = Extent(levels=rules.max_levels, siblings=rules.include_siblings, header=rules.include_header)
    block = block_around(lines, first - 1, extent)
    return block, window(block, first - 1, min(rules.max_lines or wanted.limit, wanted.limit))


def _page(lines: Sequence[bytes], chosen: range) -> _Page:
    """The chosen lines, or as many of them as fit on a page."""
    texts: list[str] = []
    size, shortened, replaced = 0, 0, False
    for number in chosen:
        line = lines[number].removesuffix(b"\r")
        text = line.decode(errors="replace")
        is_long = len(text) > MAX_LINE_CHARS
        if is_long:
            text = f"{text[:MAX_LINE_CHARS]}… [{len(text) - MAX_LINE_CHARS} more characters]"
        size += len(f"L{number + 1}: {text}\n".encode())
        if texts and size > MAX_PAGE_BYTES:
            break
        replaced = replaced or ("\ufffd" in text and not _is_utf8(line))
        shortened += is_long
        texts.append(text)
    return _Page(first=chosen.start + 1, texts=texts, shortened=shortened, replaced=replaced)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _result(wanted: ReadFileArguments, page: _Page, *, asked: range, total: int, whole: bool) -> ToolResult:
    last = page.first + len(page.texts) - 1
    left_out = len(page.texts) < len(asked)
    rest = (
        f"go on with offset={last + 1}; the file has {total} lines"
        if wanted.mode == "slice"
        else f"these are lines {page.first} to {last} of a block from line {asked.start + 1} to {asked.stop}"
    )
    notes = [
        (page.replaced, "bytes that are not UTF-8 are shown as \ufffd"),
        (page.shortened, f"{page.shortened} lines are longer than {MAX_LINE_CHARS} characters and cut"),
        (not whole, f"only the first {MAX_BYTES} bytes of the file were read, so it has more lines than are counted"),
        (left_out, rest),
    ]
    shown = [f"L{number}: {text}" for number, text in enumerate(page.texts, start=page.first)]
    shown += [f"[{note}]" for applies, note in notes if applies]
    data = {
        "path": wanted.file_path,
        "total_lines": total,
        "first_line": page.first,
        "last_line": last,
        "complete": whole,
        "replaced_bytes": page.replaced,
        "shortened_lines": page.shortened,
    }
    truncated = left_out or bool(page.shortened) or not whole
    return ToolResult(ok=True, stdout="\n".join(shown), truncated=truncated, data=data)
