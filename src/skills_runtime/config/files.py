"""Reading the files configuration comes from: bounded, regular files only, every refusal one sentence.

Knows nothing of settings; a YAML file is just a mapping here.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from skills_runtime.config.secrets import hide
from skills_runtime.errors import AccessRefused, ConfigError, NotFound, ValidationFailed
from skills_runtime.text import printable

MAX_FILE_BYTES = 1_048_576
MAX_DEPTH = 50
MAX_VALUES = 100_000

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"


def canonical(path: str | os.PathLike[str], base: Path) -> Path:
    """The absolute path behind all links; a relative one starts at `base`."""
    try:
        found = os.path.realpath(base / path)
        found.encode()
    except ValueError:
        raise ValidationFailed(
            f"`{printable(os.fspath(path))}` is not a usable path", hint="use a UTF-8 path without null bytes"
        ) from None
    return Path(found)


def is_there(path: Path) -> bool:
    """Whether something has this name; a place that may not be looked into is a refusal, not an absence."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        shown = printable(str(path))
        raise AccessRefused(f"`{shown}` may not be looked up by this user", hint="change its permissions") from None
    except (OSError, ValueError):
        raise ValidationFailed(f"`{printable(str(path))}` is not a usable path", hint="check the path") from None
    return True


def workspace(path: str | os.PathLike[str], cwd: Path) -> Path:
    """The workspace directory itself, absolute and behind all links."""
    root = canonical(path, cwd)
    shown = printable(str(root))
    if not is_there(root):
        raise NotFound(f"the workspace `{shown}` does not exist", hint="create it or name another directory")
    if not root.is_dir():
        raise ValidationFailed(f"the workspace `{shown}` is not a directory", hint="name a directory")
    return root


def current_directory() -> Path:
    """Where the process stands."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the current directory does not exist any more", hint="change to one that does") from None


def read_text(path: Path) -> str:
    """The whole text of a small regular file."""
    shown = printable(str(path))
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{shown}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"`{shown}` does not exist", hint="check the path and where it was given") from None
    except PermissionError:
        raise AccessRefused(f"`{shown}` may not be read by this user", hint="change its permissions") from None
    except IsADirectoryError:
        raise ConfigError(f"`{shown}` is a directory, not a file", hint="name a file in it") from None
    except OSError as error:
        raise ConfigError(f"`{shown}` cannot be read: {error.strerror}", hint="check the path") from None


def _read_bytes(path: Path) -> bytes:
    shown = printable(str(path))
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"`{shown}` is not a regular file", hint="name an ordinary file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"`{shown}` is larger than {MAX_FILE_BYTES} bytes", hint="make it smaller")
    return data


def _open_at_once(path: str, flags: int) -> int:
    # O_NONBLOCK: a named pipe in the place of a file must not hold us up before we can see what it is.
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


class _Loader(yaml.CSafeLoader):
    """The safe C loader; whatever its converters trip over becomes a YAML error with a place."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise _trouble("a value does not fit its YAML type", node) from None


def _trouble(problem: str, at: yaml.Node | yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast(yaml.Mark, at.start_mark))


def parse_mapping(text: str, path: Path) -> dict[str, Any]:
    """The mapping a YAML text holds; an empty text is an empty mapping."""
    shown = printable(str(path))
    try:
        data = _load(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"`{shown}` is not usable YAML{_place(error)}: {_reason(error)}", hint="correct the file at that place"
        ) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"`{shown}` must hold a mapping at its top", hint="write settings as `section:` and keys")
    return cast(dict[str, Any], data)


def _load(text: str) -> Any:
    _check_depth(text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, {}, set())
        return loader.construct_document(node)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    finally:
        loader.dispose()


def _check_depth(text: str) -> None:
    """Events come one by one, so that deep nesting is seen before anything recurses into it."""
    depth = 0
    for event in cast(Iterator[yaml.Event], yaml.parse(text, Loader=_Loader)):  # pyright: ignore[reportUnknownMemberType]
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _trouble(f"more than {MAX_DEPTH} levels are nested", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _measure(node: yaml.Node, known: dict[int, tuple[int, int]], open_nodes: set[int]) -> tuple[int, int]:
    """How many values the node stands for and how deep they nest, its aliases followed every time."""
    if id(node) in open_nodes:
        raise _trouble("an alias refers to what contains it", node)
    if id(node) not in known:
        open_nodes.add(id(node))
        inner = [_measure(child, known, open_nodes) for child in _children(node)]
        open_nodes.discard(id(node))
        known[id(node)] = 1 + sum(size for size, _ in inner), 1 + max((depth for _, depth in inner), default=0)
    size, depth = known[id(node)]
    if size > MAX_VALUES or depth > MAX_DEPTH + 1:
        raise _trouble(f"it stands for more than {MAX_VALUES} values or {MAX_DEPTH} levels", node)
    return size, depth


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        return [value for _, value in node.value]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _check_keys(node: yaml.MappingNode) -> None:
    first_lines: dict[str, int] = {}
    for key, _ in node.value:
        if key.tag == _MERGE_TAG:
            continue
        if key.tag != _TEXT_TAG or not isinstance(key, yaml.ScalarNode):
            raise _trouble("a key is not text; put it in quotes", key)
        line = key.start_mark.line + 1
        if key.value in first_lines:
            name = printable(hide(key.value[:80]))
            raise _trouble(f"the key `{name}` already stands on line {first_lines[key.value]}", key)
        first_lines[key.value] = line


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""


def _reason(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    return printable(hide(str(problem)))


def read_mapping(path: Path) -> Mapping[str, Any]:
    """The mapping in a YAML file."""
    return parse_mapping(read_text(path), path)
