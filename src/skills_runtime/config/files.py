"""Configuration files: reading YAML, and the two files with the chosen model and its keys.

Reading is bounded and accepts regular files only; every refusal is one sentence. The settings themselves are not known
here; a YAML file is just a mapping.
"""

import errno
import json
import os
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import yaml

from skills_runtime.config.secrets import hide_secrets, is_variable_name
from skills_runtime.errors import (
    AccessRefused,
    ConfigError,
    NotFound,
    SkillsRuntimeError,
    StorageFailed,
    ValidationFailed,
)
from skills_runtime.storage import PRIVATE_FILE, lock_directory, write_atomic
from skills_runtime.text import printable

MAX_FILE_BYTES = 1_048_576
MAX_DEPTH = 50
MAX_VALUES = 100_000

MODEL_FILE = "model.yaml"
KEYS_FILE = "model-keys.json"
KEY_VARIABLE = "SKILLS_RUNTIME_MODEL_KEY"
"""The default variable name of a stored key."""
MAX_KEY_CHARS = 4096
_MAX_KEYS_BYTES = 65_536
_RUNTIME_PREFIX = "SKILLS_RUNTIME_SDK_"
"""Prefix of variables that set settings; a key must not have such a name."""
_MODEL_FILE_HEADER = (
    "# The model chosen with `skills-runtime init` or in Studio.\n"
    "# It overrides your config.yaml; the files of a project override it.\n"
)

SettingPath = tuple[str | int, ...]
"""The names and indexes that lead to a value."""

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"


def resolve_path(path: str | os.PathLike[str], base: Path) -> Path:
    """Return the absolute path with links resolved; a relative one starts at `base`."""
    try:
        real_path = os.path.realpath(base / path)
        real_path.encode()
    except ValueError:
        raise ValidationFailed(
            f"`{printable(os.fspath(path))}` is not a usable path", hint="use a UTF-8 path without null bytes"
        ) from None
    return Path(real_path)


def path_exists(path: Path) -> bool:
    """Return whether a path exists; a directory that cannot be searched is an error, not an absence."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        shown_path = printable(str(path))
        raise AccessRefused(
            f"`{shown_path}` may not be looked up by this user", hint="change its permissions"
        ) from None
    except (OSError, ValueError):
        raise ValidationFailed(f"`{printable(str(path))}` is not a usable path", hint="check the path") from None
    return True


def resolve_workspace(path: str | os.PathLike[str], cwd: Path) -> Path:
    """Return the workspace directory, absolute and with links resolved."""
    root = resolve_path(path, cwd)
    shown_path = printable(str(root))
    if not path_exists(root):
        raise NotFound(f"the workspace `{shown_path}` does not exist", hint="create it or name another directory")
    if not root.is_dir():
        raise ValidationFailed(f"the workspace `{shown_path}` is not a directory", hint="name a directory")
    return root


def current_directory() -> Path:
    """Return the current directory of the process."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the current directory does not exist any more", hint="change to one that does") from None


def read_text(path: Path) -> str:
    """Read the whole text of a small regular file."""
    shown_path = printable(str(path))
    try:
        return _read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{shown_path}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"`{shown_path}` does not exist", hint="check the path and where it was given") from None
    except PermissionError:
        raise AccessRefused(f"`{shown_path}` may not be read by this user", hint="change its permissions") from None
    except IsADirectoryError:
        raise ConfigError(f"`{shown_path}` is a directory, not a file", hint="name a file in it") from None
    except OSError as error:
        raise ConfigError(f"`{shown_path}` cannot be read: {error.strerror}", hint="check the path") from None


def _read_bytes(path: Path) -> bytes:
    shown_path = printable(str(path))
    # O_NONBLOCK: opening a named pipe would block before its type can be checked.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"`{shown_path}` is not a regular file", hint="name an ordinary file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"`{shown_path}` is larger than {MAX_FILE_BYTES} bytes", hint="make it smaller")
    return data


class _Loader(yaml.CSafeLoader):
    """The safe C loader; any failure of its converters becomes a YAML error with a position."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            return super().construct_object(node, deep)  # pyright: ignore[reportUnknownMemberType]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise _yaml_error("a value does not fit its YAML type", node) from None


def _yaml_error(problem: str, node: yaml.Node | yaml.Event) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast(yaml.Mark, node.start_mark))


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Read the mapping in a YAML file."""
    return parse_mapping(read_text(path), path)


def parse_mapping(text: str, path: Path) -> dict[str, Any]:
    """Parse the mapping in a YAML text; an empty text is an empty mapping."""
    shown_path = printable(str(path))
    try:
        data = _load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise ConfigError(
            f"`{shown_path}` is not usable YAML{position}: {printable(hide_secrets(str(problem)))}",
            hint="correct the file at that place",
        ) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(
            f"`{shown_path}` must hold a mapping at its top", hint="write settings as `section:` and keys"
        )
    return cast(dict[str, Any], data)


def _load_yaml(text: str) -> Any:
    _check_depth(text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _measure_node(node, {}, set())
        return loader.construct_document(node)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    finally:
        loader.dispose()


def locate_values(text: str) -> dict[SettingPath, tuple[int, int]]:
    """Return line and column of every key and list entry of a YAML text that `parse_mapping` has accepted."""
    positions: dict[SettingPath, tuple[int, int]] = {}

    def visit(node: yaml.Node, path: SettingPath) -> None:
        entries: list[tuple[str | int, yaml.Node, yaml.Node]] = []
        if isinstance(node, yaml.MappingNode):
            entries = [(str(key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            entries = [(index, value, value) for index, value in enumerate(node.value)]
        for name, marked, value in entries:
            mark = cast(yaml.Mark, marked.start_mark)
            positions[*path, name] = (mark.line + 1, mark.column + 1)
            visit(value, (*path, name))

    root = cast("yaml.Node | None", yaml.compose(text, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
    if root is not None:
        visit(root, ())
    return positions


def _check_depth(text: str) -> None:
    """Refuse deep nesting from the event stream, before anything recurses into it."""
    depth = 0
    for event in cast(Iterator[yaml.Event], yaml.parse(text, Loader=_Loader)):  # pyright: ignore[reportUnknownMemberType]
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _yaml_error(f"more than {MAX_DEPTH} levels are nested", event)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _measure_node(node: yaml.Node, sizes: dict[int, tuple[int, int]], open_nodes: set[int]) -> tuple[int, int]:
    """Return the number of values and the depth of a node, with aliases counted each time."""
    if id(node) in open_nodes:
        raise _yaml_error("an alias refers to what contains it", node)
    if id(node) not in sizes:
        open_nodes.add(id(node))
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            children = [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            children = list(node.value)
        child_sizes = [_measure_node(child, sizes, open_nodes) for child in children]
        open_nodes.discard(id(node))
        sizes[id(node)] = (
            1 + sum(size for size, _ in child_sizes),
            1 + max((depth for _, depth in child_sizes), default=0),
        )
    size, depth = sizes[id(node)]
    if size > MAX_VALUES or depth > MAX_DEPTH + 1:
        raise _yaml_error(f"it stands for more than {MAX_VALUES} values or {MAX_DEPTH} levels", node)
    return size, depth


def _check_keys(node: yaml.MappingNode) -> None:
    first_lines: dict[str, int] = {}
    for key, _ in node.value:
        if key.tag == _MERGE_TAG:
            continue
        if key.tag != _TEXT_TAG or not isinstance(key, yaml.ScalarNode):
            raise _yaml_error("a key is not text; put it in quotes", key)
        line = key.start_mark.line + 1
        if key.value in first_lines:
            name = printable(hide_secrets(key.value[:80]))
            raise _yaml_error(f"the key `{name}` already stands on line {first_lines[key.value]}", key)
        first_lines[key.value] = line


def choose_model(
    home: Path, *, base_url: str | None, model: str | None, api_key_env: str | None, provider: str | None = None
) -> Path:
    """Change the given values and keep the others; `home` is the directory of the user's configuration."""
    path = home / MODEL_FILE
    settings = build_model_settings(base_url=base_url, model=model, api_key_env=api_key_env, provider=provider)
    with lock_home(home):
        data = cast("dict[str, Any]", json.loads(json.dumps(read_mapping(path)))) if path.is_file() else {}
        if model is not None:
            data.pop("models", None)  # they would override the new model
        if base_url is not None:
            data.get("llm", {}).pop("provider", None)  # it belongs to the old address
        for section, value in settings.items():
            data[section] = {**data.get(section, {}), **value} if isinstance(value, dict) else value
        text = yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=True)
        replace_file(path, (_MODEL_FILE_HEADER + text).encode())
    return path


def build_model_settings(
    *, base_url: str | None, model: str | None, api_key_env: str | None, provider: str | None = None
) -> dict[str, Any]:
    """Return the given values as settings."""
    given = {"provider": provider, "base_url": base_url, "api_key_env": api_key_env}
    llm = {name: value for name, value in given.items() if value is not None}
    settings: dict[str, Any] = {"llm": {**llm, "backend": "openai"}} if llm else {}
    return {**settings, "model": model} if model is not None else settings


class StoredKey(NamedTuple):
    """A key, and the origin of the address it was stored for; an older one has none and applies to all."""

    key: str
    origin: str | None


def parse_origin(url: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def find_keys(home: Path, url: str) -> Mapping[str, str]:
    """Return the stored keys that may be sent to an address, by variable name."""
    origin = parse_origin(url)
    return {name: stored.key for name, stored in read_stored_keys(home).items() if stored.origin in (None, origin)}


def read_stored_keys(home: Path) -> Mapping[str, StoredKey]:
    """Return the stored keys by variable name; a file readable by others is refused."""
    path = home / KEYS_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise AccessRefused(
            f"`{printable(str(path))}` cannot be read: {error.strerror}", hint="it must be a file of yours"
        ) from error
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise AccessRefused(
                f"`{printable(str(path))}` is not a private file of this user", hint="chmod 600 it, or remove it"
            )
        data = file.read(_MAX_KEYS_BYTES)
    try:
        entries = cast("dict[str, Any]", json.loads(data))
        return {
            str(name): StoredKey(value, None) if isinstance(value, str) else StoredKey(value["key"], value["origin"])
            for name, value in entries.items()
        }
    except (ValueError, AttributeError, LookupError, TypeError):
        hint = "remove it, and store the key again"
        raise ConfigError(f"`{printable(str(path))}` is damaged", hint=hint) from None


def store_key(home: Path, name: str, key: str, *, address: str) -> None:
    """Store a key for one address under a variable name, in a file that only this user can read."""
    if not is_variable_name(name) or name.startswith(_RUNTIME_PREFIX):
        raise ValidationFailed("this is not the name of a variable for a key", hint="such as `OPENAI_API_KEY`")
    stripped = key.strip()
    if (
        not stripped
        or len(stripped) > MAX_KEY_CHARS
        or not stripped.isascii()
        or not stripped.isprintable()
        or " " in stripped
    ):
        raise ValidationFailed("this is not a key", hint="a key has no spaces and only ASCII characters")
    with lock_home(home):
        data = _encode_keys({**read_stored_keys(home), name: StoredKey(stripped, parse_origin(address))})
        if len(data) > _MAX_KEYS_BYTES:  # a longer file would be refused when it is read
            raise ValidationFailed("too many keys are stored", hint="remove one that is not needed any more")
        replace_file(home / KEYS_FILE, data)


def delete_key(home: Path, name: str) -> bool:
    """Remove a stored key; return false if there was none."""
    with lock_home(home):
        keys = dict(read_stored_keys(home))
        if keys.pop(name, None) is None:
            return False
        replace_file(home / KEYS_FILE, _encode_keys(keys))
    return True


def _encode_keys(keys: Mapping[str, StoredKey]) -> bytes:
    return json.dumps(
        {name: stored._asdict() if stored.origin else stored.key for name, stored in keys.items()}
    ).encode()


@contextmanager
def lock_home(home: Path) -> Generator[None]:
    """Create the directory of the user's configuration and lock its files against concurrent changes."""
    with ExitStack() as stack:
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(lock_directory(home))
        except OSError as error:
            raise _write_error(home, error) from error
        yield


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace a file of the user's configuration atomically; by default only the user can read it at any time."""
    try:
        write_atomic(path, data, mode=mode)
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> SkillsRuntimeError:
    message = f"`{printable(str(path))}` cannot be written: {error.strerror}; nothing was changed"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFailed(message, hint="free some space on that disk, then try again")
    hint = "make it writable, or set `XDG_CONFIG_HOME` to a directory that you can write"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessRefused(message, hint=hint)
    return StorageFailed(message, hint=hint)
