"""Rule files: load the rules of a run, render rules, and add a rule to a user's file.

A project's rules may deny and ask; allow rules are ignored with a notice, because the project is not vetted. Adding
a rule preserves the rest of the file byte for byte.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.errors import ConfigError, StorageFailed
from skills_runtime.safety.policy.commands import unescape_end
from skills_runtime.safety.policy.loading import find_rule_items, load_rules, parse_document
from skills_runtime.safety.policy.rule import ANY_WORDS, END, ONE_WORD, Example, Rule, Rules
from skills_runtime.storage import lock_file, write_atomic
from skills_runtime.text import printable

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

USER_FILE = "rules.yaml"
"""In the directory of the user's own configuration."""
PROJECT_FILE = "config/rules.yaml"
"""In the workspace."""
LOCK_SECONDS = 10.0
_DIRECTORY_MODE = 0o700


class LoadedRules(msgspec.Struct, frozen=True):
    """All active rules, and notices about ignored rules of the project."""

    rules: Rules
    notices: tuple[str, ...] = ()


def user_rule_file(resolved: "Resolved") -> Path:
    """Return the file with rules for every run of this user."""
    from skills_runtime.config import config_home

    return config_home(resolved.environment.process) / USER_FILE


def load_active_rules(resolved: "Resolved") -> LoadedRules:
    """Load the rules of all files; a file that cannot be parsed is an error, never an empty list."""
    safety = resolved.settings.safety
    # The user's rule files, each once; the one in the user's own configuration need not be there.
    from skills_runtime.config import path_exists, resolve_path

    default = user_rule_file(resolved)
    defaults = [default] if path_exists(default) else []
    files = list(
        dict.fromkeys(resolve_path(path, path.parent) for path in (*defaults, *resolved.settings.safety.rule_files))
    )
    user_rules = [rule for file in files for rule in _load_rule_file(file, resolved)]
    workspace = os.path.realpath(resolved.workspace_root)
    project = resolved.workspace_root / PROJECT_FILE
    project_rules: tuple[Rule, ...] = ()
    # A project's file that the user has named is one of their own.
    if path_exists(project) and (real := resolve_path(project, project.parent)) not in files:
        project_rules = _load_rule_file(real, resolved)
    return LoadedRules(
        Rules(
            mode=safety.mode,
            allowlist=safety.allowlist,
            denylist=safety.denylist,
            tool_allowlist=safety.tool_allowlist,
            tool_denylist=safety.tool_denylist,
            rules=tuple(
                rule
                for rule in (*user_rules, *(rule for rule in project_rules if rule.effect != "allow"))
                if rule.applies_in(workspace)
            ),
            root=str(resolved.workspace_root),
            home=_home(resolved),
            control=tuple(dict.fromkeys(map(str, _control_paths(resolved, files)))),
            consent=tuple(map(str, (*resolved.overlay_paths, *([resolved.env_file] if resolved.env_file else [])))),
        ),
        tuple(
            f"rule `{rule.name}` in `{rule.origin}` was ignored: the rules of a project may deny and ask, not allow"
            for rule in project_rules
            if rule.effect == "allow"
        ),
    )


def _load_rule_file(path: Path, resolved: "Resolved") -> tuple[Rule, ...]:
    from skills_runtime.config import read_text

    home = _home(resolved)
    if path.is_relative_to(resolved.workspace_root):
        text = str(path.relative_to(resolved.workspace_root))
    elif home != "/" and path.is_relative_to(home):
        text = f"~/{path.relative_to(home)}"
    else:
        text = str(path)
    rules = load_rules(read_text(path), origin=printable(text))
    return tuple(
        msgspec.structs.replace(rule, folder=f"{home}{rule.folder[1:]}") if rule.folder.startswith("~/") else rule
        for rule in rules
    )


def _home(resolved: "Resolved") -> str:
    from skills_runtime.config import home

    return str(home(resolved.environment.process))


def _control_paths(resolved: "Resolved", files: list[Path]) -> Iterator[Path]:
    """Return the protected paths of the runtime, as named and as resolved."""
    from skills_runtime.config import config_home, keys_home, state_home

    process = resolved.environment.process
    for path in (config_home(process), state_home(process), keys_home(process), *files):
        yield path
        yield path.resolve()


def render_rule(rule: Rule) -> str:
    """Render a rule as an item of the list in a rule file."""
    import yaml  # slow to load, and most runs write no rule

    fields: dict[str, Any] = {
        "name": rule.name,
        "effect": rule.effect,
        "tool": _unwrap_single(rule.tool),
        "command": _unwrap_single([_render_command(words) for words in rule.command]),
        "path": _unwrap_single(rule.path),
        "host": _unwrap_single(rule.host),
        "skill": _unwrap_single(rule.skill),
        "digest": _unwrap_single(rule.digest),
        "risk": rule.risk,
        "folder": rule.folder,
        "justification": rule.justification,
        "match": [_render_example(example) for example in rule.match],
        "not_match": [_render_example(example) for example in rule.not_match],
    }
    present = {name: value for name, value in fields.items() if value}
    lines = yaml.safe_dump(present, sort_keys=False, allow_unicode=True, width=2**31 - 1).rstrip("\n").split("\n")
    return "".join(f"{'  ' if number else '- '}{line}\n" for number, line in enumerate(lines))


def _unwrap_single(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


def _render_command(words: Sequence[str]) -> str:
    plain = unescape_end(words)
    end = len(words) - 1 if plain is words else -1
    return " ".join(
        word if word in (ONE_WORD, ANY_WORDS) or (word == END and index == end) else shlex.quote(word)
        for index, word in enumerate(plain)
    )


def _render_example(example: Example) -> str | dict[str, Any]:
    if example == Example(line=example.line):
        return example.line
    fields = {
        "tool": example.tool,
        "command": example.line or list(example.argv),
        "path": _unwrap_single(example.path),
        "host": _unwrap_single(example.host),
        "skill": example.skill,
    }
    return {name: value for name, value in fields.items() if value}


def add_rule(path: Path, rule: Rule) -> None:
    """Append a rule to a file, which is created if needed; an existing rule is not added again.

    Readers see the file before or after the change, and concurrent additions are both preserved.
    """
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        target.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        # The lock is beside the file, which the file itself cannot be: it is replaced.
        with lock_file(target.with_name(f".{target.name}.lock"), timeout=LOCK_SECONDS):
            before = b""
            with suppress(FileNotFoundError):
                before = target.read_bytes()
            after = _append_rule(before, rule, str(path))
            if after != before:
                write_atomic(target, after)
    except OSError as error:
        raise StorageFailed(
            f"the rule `{rule.name}` could not be added to `{path}`: {error.strerror}",
            hint="check its permissions",
        ) from error


def _append_rule(before: bytes, rule: Rule, origin: str) -> bytes:
    """Return the file with the rule added, unchanged if it exists; verified by parsing the result."""
    try:
        text = before.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{origin}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None
    present = load_rules(text, origin=origin)
    new_rule = msgspec.structs.replace(rule, origin=origin)
    if new_rule in present:
        return before
    end = "\r\n" if "\r\n" in text else "\n"
    separator = end if text and not text.endswith(end[-1]) else ""
    result = f"{text}{separator}{_render_item(text, rule, origin).replace(chr(10), end)}"
    if load_rules(result, origin=origin) != (*present, new_rule):
        raise ConfigError(
            f"the rule `{rule.name}` cannot be added to `{origin}` without changing the rest of it",
            hint="write the rules as one block list at the end of the file",
        )
    return result.encode()


def _render_item(text: str, rule: Rule, origin: str) -> str:
    """Render a rule so that it continues the text."""
    document = parse_document(text, origin)
    items = find_rule_items(document, origin)
    if items is not None and items.flow:
        raise ConfigError(
            f"`{origin}` has its rules in a flow list `[…]`, which cannot be extended",
            hint="write them as a block list, one `- name:` for each",
        )
    head = "rules:\n" if document is None else ""
    indent = " " * (2 if items is None else items.column)
    return head + "".join(f"{indent}{line}\n" for line in render_rule(rule).rstrip("\n").split("\n"))
