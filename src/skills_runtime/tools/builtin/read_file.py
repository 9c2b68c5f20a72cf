"""read_file: read numbered lines of a text file, by page or by the block around a line."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse
from skills_runtime.tools.files import build_file_intent
from skills_runtime.tools.invoke import LIMIT

TAB_WIDTH = 4

_CLOSERS = (b"}", b")", b"]", b"end", b"fi", b"done", b"esac")
_HEADERS = (b"#", b"//", b"/*", b"*", b"@", b"--")


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """How much around a line belongs to its block."""

    levels: int = 4
    """Number of enclosing blocks; 0 means all."""
    siblings: bool = False
    """Whether blocks beside the outermost one are included."""
    header: bool = True
    """Whether comments and decorators directly above are included."""


def indentation(line: bytes) -> int | None:
    """Return the indentation of a line, or None if it is blank."""
    if not line.strip():
        return None
    leading = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(leading.expandtabs(TAB_WIDTH))


def block_around(lines: Sequence[bytes], anchor: int, extent: Extent) -> range:
    """Return the line indexes of the block around line `anchor`."""
    top, level = _outermost(lines, anchor, extent.levels)
    first, last = top, max(anchor, _last_of_block(lines, top, level))
    if extent.siblings:
        first = _last_within(lines, range(top - 1, -1, -1), level, top)
        last = _last_within(lines, range(last + 1, len(lines)), level, last)
    if extent.header:
        while first > 0 and indentation(lines[first - 1]) == level and lines[first - 1].strip().startswith(_HEADERS):
            first -= 1
    return range(first, last + 1)


def window(block: range, anchor: int, count: int) -> range:
    """Return at most `count` lines of the block, around the anchor."""
    first = max(block.start, min(anchor - count // 2, block.stop - count))
    return range(first, min(first + count, block.stop))


def _outermost(lines: Sequence[bytes], anchor: int, levels: int) -> tuple[int, int]:
    """Return the first line of the block that encloses the anchor `levels` up, and its indentation."""
    top = anchor
    level = indentation(lines[top])
    while level is None and top > 0:
        top -= 1
        level = indentation(lines[top])
    level, climbed = level or 0, 0
    for number in range(top - 1, -1, -1):
        if level == 0 or (levels and climbed == levels):
            break
        indent = indentation(lines[number])
        if indent is not None and indent < level:
            top, level, climbed = number, indent, climbed + 1
    return top, level


def _last_of_block(lines: Sequence[bytes], top: int, level: int) -> int:
    last = top
    for number in range(top + 1, len(lines)):
        indent = indentation(lines[number])
        if indent is None:
            continue
        closes = indent == level and lines[number].strip().startswith(_CLOSERS)
        if indent <= level and not closes:
            break
        last = number
        if closes and not lines[number].rstrip().endswith((b"{", b":", b"(", b"[")):
            break
    return last


def _last_within(lines: Sequence[bytes], numbers: Iterable[int], level: int, start: int) -> int:
    """Return the last of consecutive lines that are not indented less."""
    last = start
    for number in numbers:
        indent = indentation(lines[number])
        if indent is not None and indent < level:
            break
        last = number if indent is not None else last
    return last


MAX_BYTES = 16 << 20
MAX_LINE_CHARS = 500
MAX_PAGE_BYTES = LIMIT - 4096
"""A page and its notes fit into one result, so no line in the middle is spilled."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Indentation(Arguments, frozen=True):
    """Options of the mode `indentation`."""

    anchor_line: Annotated[int, Meta(ge=1, description="The line to start from; default: `offset`.")] | None = None
    max_levels: Annotated[int, Meta(ge=0, description="Number of enclosing blocks; 0 means all.")] = 4
    include_siblings: Annotated[bool, Meta(description="Show the blocks beside it too.")] = False
    include_header: Annotated[bool, Meta(description="Show comments and decorators above it too.")] = True
    max_lines: Annotated[int, Meta(ge=1, description="Maximum number of lines; default: `limit`.")] | None = None


class ReadFileArguments(Arguments, frozen=True):
    """Arguments of read_file."""

    file_path: Annotated[str, Meta(description="The file, relative to the working directory.")]
    offset: Annotated[int, Meta(ge=1, description="The first line, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Maximum number of lines.")] = 2000
    mode: Annotated[
        Literal["slice", "indentation"], Meta(description="`slice` is a page, `indentation` the block around a line.")
    ] = "slice"
    indentation: Indentation | None = None


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a page as shown, the number of the first, and what was changed for display."""

    first: int
    texts: Sequence[str]
    shortened: int = 0
    replaced: bool = False


class ReadFile:
    """Reads lines of a text file."""

    spec = ToolSpec(
        name="read_file",
        description="Read lines of a text file, numbered like `L12: text`.",
        parameters=build_schema(ReadFileArguments),
        effect="read",
        hidden_results=("stdout",),
        example={"file_path": "a.txt"},
    )

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the file that the call reads."""
        return build_file_intent(context.files, "read", parse(arguments, ReadFileArguments).file_path)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Read the lines."""
        args = parse(arguments, ReadFileArguments)
        data = context.files.read(args.file_path, limit=MAX_BYTES + 1)
        if b"\0" in data[:MAX_BYTES]:
            raise ToolError(
                "validation",
                f"`{args.file_path}` is not a text file: it has NUL bytes",
                hint="use another tool for it",
            )
        lines = data[:MAX_BYTES].removeprefix(_BYTE_ORDER_MARK).split(b"\n")
        if not lines[-1]:
            lines.pop()
        requested, selected = _select_lines(lines, args)
        page = _page(lines, selected)
        return _result(args, page, requested=requested, total=len(lines), complete=len(data) <= MAX_BYTES)


def _select_lines(lines: Sequence[bytes], args: ReadFileArguments) -> tuple[range, range]:
    """Return the line indexes of the request, and of those within its limits."""
    rules = args.indentation or Indentation()
    by_block = args.mode == "indentation"
    first = (rules.anchor_line or args.offset) if by_block else args.offset
    if first > max(len(lines), 1):
        raise ToolError(
            "validation",
            f"line {first} is past the end of `{args.file_path}`, which has {len(lines)} lines",
            hint="use a smaller `offset`",
        )
    if not by_block or not lines:
        requested = range(first - 1, len(lines))
        return requested, requested[: args.limit]
    extent = Extent(levels=rules.max_levels, siblings=rules.include_siblings, header=rules.include_header)
    block = block_around(lines, first - 1, extent)
    return block, window(block, first - 1, min(rules.max_lines or args.limit, args.limit))


def _page(lines: Sequence[bytes], selected: range) -> _Page:
    """Render the selected lines, as many as fit on a page."""
    texts: list[str] = []
    size, shortened, replaced = 0, 0, False
    for number in selected:
        line = lines[number].removesuffix(b"\r")
        text = decoded = line.decode(errors="replace")
        is_long = len(text) > MAX_LINE_CHARS
        if is_long:
            text = f"{text[:MAX_LINE_CHARS]}… [{len(text) - MAX_LINE_CHARS} more characters]"
        size += len(f"L{number + 1}: {text}\n".encode())
        if texts and size > MAX_PAGE_BYTES:
            break
        replaced = replaced or ("\ufffd" in text and decoded.encode() != line)
        shortened += is_long
        texts.append(text)
    return _Page(first=selected.start + 1, texts=texts, shortened=shortened, replaced=replaced)


def _result(args: ReadFileArguments, page: _Page, *, requested: range, total: int, complete: bool) -> ToolResult:
    last = page.first + len(page.texts) - 1
    is_partial = len(page.texts) < len(requested)
    rest_note = (
        f"continue with offset={last + 1}; the file has {total} lines"
        if args.mode == "slice"
        else f"these are lines {page.first} to {last} of a block from line {requested.start + 1} to {requested.stop}"
    )
    notes = [
        (page.replaced, "bytes that are not UTF-8 are shown as \ufffd"),
        (page.shortened, f"{page.shortened} lines are longer than {MAX_LINE_CHARS} characters and cut"),
        (
            not complete,
            f"only the first {MAX_BYTES} bytes of the file were read, so it has more lines than are counted",
        ),
        (is_partial, rest_note),
    ]
    output_lines = [f"L{number}: {text}" for number, text in enumerate(page.texts, start=page.first)]
    output_lines += [f"[{note}]" for applies, note in notes if applies]
    data = {
        "path": args.file_path,
        "total_lines": total,
        "first_line": page.first,
        "last_line": last,
        "complete": complete,
        "replaced_bytes": page.replaced,
        "shortened_lines": page.shortened,
    }
    truncated = is_partial or bool(page.shortened) or not complete
    return ToolResult(ok=True, stdout="\n".join(output_lines), truncated=truncated, data=data)
