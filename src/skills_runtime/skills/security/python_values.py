"""Works out constant text in Python code: parts put together, characters by number, decoded blobs."""

import ast
import base64
import binascii
import codecs

MAX_TEXT = 20_000

_DECODERS = frozenset(
    {
        "b64decode",
        "b32decode",
        "b16decode",
        "b85decode",
        "a85decode",
        "urlsafe_b64decode",
        "standard_b64decode",
        "unhexlify",
        "fromhex",
        "decompress",
        "decodebytes",
        "loads_marshal",
        "rot13",
    }
)


def dotted(node: ast.expr) -> str:
    """The name of what is called, with dots, as far as it is plain."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call):
        parts.append(dotted(node.func) + "()")
    return ".".join(reversed(parts))


def is_decoder(node: ast.expr) -> bool:
    """Whether an expression turns unreadable data into something else."""
    if not isinstance(node, ast.Call):
        return False
    name = dotted(node.func)
    last = name.rsplit(".", 1)[-1]
    return last in _DECODERS or name in (
        "marshal.loads",
        "codecs.decode",
        "zlib.decompress",
        "bz2.decompress",
        "lzma.decompress",
    )


def text_of(node: ast.expr, names: dict[str, str], depth: int = 0) -> str | None:
    """The text an expression amounts to, or nothing where that depends on more than the code."""
    if depth > 12:
        return None
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left, names, depth + 1), text_of(node.right, names, depth + 1)
        return (left + right)[:MAX_TEXT] if left is not None and right is not None else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(value, names, depth) for value in node.values)[:MAX_TEXT]
    if isinstance(node, ast.Subscript):
        return _reversed(node, names, depth)
    if isinstance(node, ast.Call):
        return _call(node, names, depth)
    return None


def _constant(node: ast.Constant) -> str | None:
    if isinstance(node.value, str):
        return node.value[:MAX_TEXT]
    if isinstance(node.value, bytes):
        return node.value[:MAX_TEXT].decode("latin-1")
    return None


def _piece(value: ast.expr, names: dict[str, str], depth: int) -> str:
    inner = value.value if isinstance(value, ast.FormattedValue) else value
    return text_of(inner, names, depth + 1) or "{}"


def _reversed(node: ast.Subscript, names: dict[str, str], depth: int) -> str | None:
    part = node.slice
    if isinstance(part, ast.Slice) and part.lower is None and part.upper is None and isinstance(part.step, ast.UnaryOp):
        inner = text_of(node.value, names, depth + 1)
        return inner[::-1] if inner is not None else None
    return None


def _call(node: ast.Call, names: dict[str, str], depth: int) -> str | None:
    name = dotted(node.func)
    last = name.rsplit(".", 1)[-1]
    if last == "join" and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        return _joined(node.func.value, node.args[0], names, depth)
    if last == "chr" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
        number = node.args[0].value
        return chr(number) if isinstance(number, int) and 0 <= number < 0x110000 else None
    if last in ("decode", "encode", "strip", "expanduser", "Path", "str", "bytes", "expandvars") and (
        node.args or last in ("decode", "encode", "strip")
    ):
        inner = (
            node.func.value
            if isinstance(node.func, ast.Attribute) and last in ("decode", "encode", "strip")
            else node.args[0]
        )
        return text_of(inner, names, depth + 1)
    if last == "join" and name.endswith("path.join"):
        return "/".join(text_of(each, names, depth + 1) or "{}" for each in node.args)
    return _decode(last, node, names, depth)


def _joined(separator: ast.expr, parts: ast.expr, names: dict[str, str], depth: int) -> str | None:
    if isinstance(separator, ast.Attribute) and separator.attr == "path":
        return "/".join([text_of(parts, names, depth + 1) or "{}"])
    between = text_of(separator, names, depth + 1)
    if between is None:
        return None
    if isinstance(parts, ast.List | ast.Tuple):
        pieces = [text_of(each, names, depth + 1) for each in parts.elts[:2000]]
        return (
            between.join(each for each in pieces if each is not None)
            if all(each is not None for each in pieces)
            else None
        )
    return _characters(between, parts)


def _characters(between: str, parts: ast.expr) -> str | None:
    """`chr(x) for x in [99, 117, …]` and `map(chr, […])`."""
    numbers: ast.expr | None = None
    if (
        isinstance(parts, ast.GeneratorExp | ast.ListComp)
        and isinstance(parts.elt, ast.Call)
        and dotted(parts.elt.func) == "chr"
    ):
        numbers = parts.generators[0].iter
    elif isinstance(parts, ast.Call) and dotted(parts.func) == "map" and len(parts.args) == 2:
        numbers = parts.args[1]
    if not isinstance(numbers, ast.List | ast.Tuple):
        return None
    values = [each.value for each in numbers.elts if isinstance(each, ast.Constant) and isinstance(each.value, int)]
    return between.join(chr(value) for value in values[:4000] if 0 < value < 0x110000)


def _decode(last: str, node: ast.Call, names: dict[str, str], depth: int) -> str | None:
    if not node.args:
        return None
    inner = text_of(node.args[0], names, depth + 1)
    if inner is None:
        return None
    data = inner.encode("latin-1", errors="ignore")
    try:
        if last in ("b64decode", "urlsafe_b64decode", "standard_b64decode"):
            return base64.b64decode(data + b"=" * (-len(data) % 4)).decode("latin-1")
        if last in ("fromhex", "unhexlify"):
            return bytes.fromhex(inner).decode("latin-1")
        if last in ("b85decode", "a85decode", "b32decode"):
            decoder = {"b85decode": base64.b85decode, "a85decode": base64.a85decode, "b32decode": base64.b32decode}[
                last
            ]
            return decoder(data).decode("latin-1")
    except (binascii.Error, ValueError):
        return None
    if last == "decode" and len(node.args) > 1 and text_of(node.args[1], names) in ("rot13", "rot_13"):
        return codecs.encode(inner, "rot13")
    return None
