"""Set or remove one value in the text of a YAML file; comments and the order of all other lines stay.

Pure. The edited text is parsed again and compared with what it must mean, so that a layout this module does not
understand is refused and never damaged.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from skills_runtime.config.files import parse_mapping
from skills_runtime.config.merge import deep_merge, nest_value
from skills_runtime.errors import ConfigError
from skills_runtime.text import printable

_INDENT = 2
_EMPTY = "tag:yaml.org,2002:null"

Names = Sequence[str]
"""The names that lead to a setting, such as `("llm", "base_url")`."""


def set_value(text: str, key: str, value: Any, path: Path) -> str:
    """Return the text with a setting changed or added; `path` names the file in errors."""
    names = key.split(".")
    expected = deep_merge(_without(parse_mapping(text, path), names), nest_value(key, value))
    return _edited(lambda: _set(text, names, value), expected, path)


def unset_value(text: str, key: str, path: Path) -> str:
    """Return the text without a setting, and without the sections that are empty then."""
    names = key.split(".")
    data = parse_mapping(text, path)
    return text if not has_value(data, key) else _edited(lambda: _unset(text, names), _without(data, names), path)


def has_value(data: Mapping[str, Any], key: str) -> bool:
    """Return whether a file sets this key."""
    current: Any = data
    for name in key.split("."):
        if not isinstance(current, Mapping) or name not in current:
            return False
        current = cast("Mapping[str, Any]", current)[name]
    return True


def _edited(edit: Callable[[], str], expected: Mapping[str, Any], path: Path) -> str:
    """Return the edited text if it means what it must."""
    try:
        text = edit()
        if parse_mapping(text, path) == expected:
            return text
    except (ConfigError, yaml.YAMLError):
        pass
    raise ConfigError(
        f"`{printable(str(path))}` has a layout that this command cannot edit without loss",
        hint="edit the file in a text editor, then look at `skills-runtime config show`",
    )


def _without(data: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """Return the data without one setting and without the sections that are empty then."""
    rest = dict(data)
    if len(names) == 1 or not isinstance(rest.get(names[0]), Mapping):
        rest.pop(names[0], None)
    elif inner := _without(rest[names[0]], names[1:]):
        rest[names[0]] = inner
    else:
        del rest[names[0]]
    return rest


def _set(text: str, names: Names, value: Any) -> str:
    root = _compose(text)
    if root is None:
        return _with_newline(text) + _block(names, value, 0)
    if not root.value:  # `{}`
        return (
            text[: _index(root)] + _block(names, value, 0) + text[cast(yaml.Mark, root.end_mark).index :].lstrip("\n")
        )
    node, depth = root, 0
    while (entry := _find(node, names[depth])) and isinstance(entry[1], yaml.MappingNode) and depth < len(names) - 1:
        if not entry[1].value:
            break
        node, depth = entry[1], depth + 1
    if entry is None:
        return _add(text, node, names[depth:], value)
    if depth == len(names) - 1:
        return _replace(text, entry, f" {_inline(value, in_flow=bool(node.flow_style))}")
    # A section without settings, such as `llm:` or `llm: {}`, or a value where a section must be.
    if node.flow_style:
        return _replace(text, entry, f" {_inline(_nested(names[depth + 1 :], value), in_flow=True)}")
    return _replace(text, entry, "\n" + _block(names[depth + 1 :], value, _column(entry[0]) + _INDENT).rstrip("\n"))


def _unset(text: str, names: Names) -> str:
    root = _compose(text)
    assert root is not None  # the caller has seen the setting in it
    node, depth, target = root, 0, (root, names[0])
    while entry := _find(node, names[depth]):
        if len(node.value) > 1 or node is root:
            target = (node, names[depth])
        if depth == len(names) - 1 or not isinstance(entry[1], yaml.MappingNode):
            break
        node, depth = entry[1], depth + 1
    parent, name = target
    entry = _find(parent, name)
    assert entry is not None
    start, end = _index(entry[0]), _end(text, entry)
    if parent.flow_style:
        position = next(index for index, (key, _) in enumerate(parent.value) if key.value == name)
        if position + 1 < len(parent.value):
            return text[:start] + text[_index(parent.value[position + 1][0]) :]
        start = _end(text, parent.value[position - 1]) if position else start
        return text[:start] + text[end:]
    line_end = text.find("\n", end)
    return text[: text.rfind("\n", 0, start) + 1] + (text[line_end + 1 :] if line_end >= 0 else "")


def _compose(text: str) -> yaml.MappingNode | None:
    node = cast("yaml.Node | None", yaml.compose(text, Loader=yaml.CSafeLoader))  # pyright: ignore[reportUnknownMemberType]
    return node if isinstance(node, yaml.MappingNode) else None


_Entry = tuple[yaml.ScalarNode, yaml.Node]


def _find(node: yaml.MappingNode, name: str) -> _Entry | None:
    return next((cast("_Entry", entry) for entry in node.value if entry[0].value == name), None)


def _add(text: str, node: yaml.MappingNode, names: Names, value: Any) -> str:
    """Add a setting behind the last one of a mapping that is not empty."""
    last = cast("_Entry", node.value[-1])
    end = _end(text, last)
    if node.flow_style:
        return f"{text[:end]}, {names[0]}: {_inline(_nested(names[1:], value), in_flow=True)}{text[end:]}"
    line_end = text.find("\n", end)
    head, tail = (text, "") if line_end < 0 else (text[: line_end + 1], text[line_end + 1 :])
    return _with_newline(head) + _block(names, value, _column(last[0])) + tail


def _replace(text: str, entry: _Entry, new: str) -> str:
    """Replace a value behind its key and colon; a comment on the same line stays."""
    key_end = cast(yaml.Mark, entry[0].end_mark).index
    colon = text.index(":", key_end) + 1
    return text[:colon] + new + text[max(_end(text, entry), colon) :]


def _end(text: str, entry: _Entry) -> int:
    """Return where a value ends, without the blank lines and comments before the next key."""
    key, value = entry
    end = cast(yaml.Mark, value.end_mark).index
    if isinstance(value, yaml.CollectionNode) and not value.flow_style and value.value:
        last = value.value[-1]
        return _end(text, cast("_Entry", last)) if isinstance(value, yaml.MappingNode) else _end(text, (key, last))
    if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
        return len(text[:end].rstrip())
    if value.tag == _EMPTY and end == _index(value) and isinstance(value, yaml.ScalarNode):
        return text.index(":", cast(yaml.Mark, key.end_mark).index) + 1
    return end


def _block(names: Names, value: Any, column: int) -> str:
    """Return lines that set a value, starting at a column."""
    *sections, name = names
    lines = [f"{' ' * (column + _INDENT * depth)}{section}:" for depth, section in enumerate(sections)]
    lines.append(f"{' ' * (column + _INDENT * len(sections))}{name}: {_inline(value, in_flow=False)}")
    return "\n".join(lines) + "\n"


def _nested(names: Names, value: Any) -> Any:
    return nest_value(".".join(names), value) if names else value


def _inline(value: Any, *, in_flow: bool) -> str:
    """Return a value on one line; inside brackets more texts need quotes."""
    if isinstance(value, str) and len(value.splitlines()) > 1:
        return json.dumps(value, ensure_ascii=False)
    needs_brackets = in_flow or type(value) in (list, dict)
    data: object = [value] if needs_brackets else value
    text = yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=True, width=2**31 - 1)
    return text.strip()[1:-1] if needs_brackets else text.removesuffix("...\n").strip()


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _index(node: yaml.Node) -> int:
    return cast(yaml.Mark, node.start_mark).index


def _column(node: yaml.Node) -> int:
    return cast(yaml.Mark, node.start_mark).column
