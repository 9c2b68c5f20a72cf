"""Rule files: which rules hold for a run, rules as text, and rules added to a file that somebody wrote.

A project's own rules may deny and ask. What they would allow is left out and told, for nobody vetted the project.
A file that a rule is added to stays as it is otherwise, to the letter.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.errors import ConfigError, StorageFailed
from skills_runtime.safety.policy.commands import plain_pattern
from skills_runtime.safety.policy.loading import load_rules, parse_document, rule_items
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


class RulesRead(msgspec.Struct, frozen=True):
    """All rules that hold, and what was left out of the project's."""

    rules: Rules
    notices: tuple[str, ...] = ()


def user_rule_file(resolved: "Resolved") -> Path:
    """Where rules are added that shall hold for every run of this user."""
    from skills_runtime.config import config_home

    return config_home(resolved.environment.process) / USER_FILE


def read_rules(resolved: "Resolved") -> RulesRead:
    """The rules as the files have them now; a file that cannot be understood is an error, never an empty one."""
    safety = resolved.settings.safety
    # The user's rule files, each once; the one in the user's own configuration need not be there.
    from skills_runtime.config import path_exists, resolve_path

    default = user_rule_file(resolved)
    found = [default] if path_exists(default) else []
    files = list(
        dict.fromkeys(resolve_path(path, path.parent) for path in (*found, *resolved.settings.safety.rule_files))
    )
    own = [rule for file in files for rule in _rules_in(file, resolved)]
    project = resolved.workspace_root / PROJECT_FILE
    theirs: tuple[Rule, ...] = ()
    # A project's file that the user has named is one of their own.
    if path_exists(project) and (real := resolve_path(project, project.parent)) not in files:
        theirs = _rules_in(real, resolved)
    return RulesRead(
        Rules(
            mode=safety.mode,
            allowlist=safety.allowlist,
            denylist=safety.denylist,
            tool_allowlist=safety.tool_allowlist,
            tool_denylist=safety.tool_denylist,
            rules=(*own, *(rule for rule in theirs if rule.effect != "allow")),
            root=str(resolved.workspace_root),
            home=_home(resolved),
            control=tuple(dict.fromkeys(map(str, _control(resolved, files)))),
            consent=tuple(map(str, (*resolved.overlay_paths, *([resolved.env_file] if resolved.env_file else [])))),
        ),
        tuple(
            f"rule `{rule.name}` in `{rule.origin}` was ignored: the rules of a project may deny and ask, not allow"
            for rule in theirs
            if rule.effect == "allow"
        ),
    )


def _rules_in(path: Path, resolved: "Resolved") -> tuple[Rule, ...]:
    from skills_runtime.config import read_text

    home = _home(resolved)
    if path.is_relative_to(resolved.workspace_root):
        text = str(path.relative_to(resolved.workspace_root))
    elif home != "/" and path.is_relative_to(home):
        text = f"~/{path.relative_to(home)}"
    else:
        text = str(path)
    return load_rules(read_text(path), origin=printable(text))


def _home(resolved: "Resolved") -> str:
    from skills_runtime.config import home

    return str(home(resolved.environment.process))


def _control(resolved: "Resolved", files: list[Path]) -> Iterator[Path]:
    """Where the runtime keeps what no tool may touch, as it is named and as it is behind links."""
    from skills_runtime.config import config_home, keys_home, state_home

    process = resolved.environment.process
    for place in (config_home(process), state_home(process), keys_home(process), *files):
        yield place
        yield place.resolve()


def rule_text(rule: Rule) -> str:
    """The rule as it stands in a rule file: one item of its list."""
    import yaml  # slow to load, and most runs write no rule

    fields: dict[str, Any] = {
        "name": rule.name,
        "effect": rule.effect,
        "tool": _one_or_all(rule.tool),
        "command": _one_or_all([_joined(words) for words in rule.command]),
        "path": _one_or_all(rule.path),
        "host": _one_or_all(rule.host),
        "skill": _one_or_all(rule.skill),
        "risk": rule.risk,
        "justification": rule.justification,
        "match": [_example(one) for one in rule.match],
        "not_match": [_example(one) for one in rule.not_match],
    }
    filled = {name: value for name, value in fields.items() if value}
    lines = yaml.safe_dump(filled, sort_keys=False, allow_unicode=True, width=2**31 - 1).rstrip("\n").split("\n")
    return "".join(f"{'  ' if number else '- '}{line}\n" for number, line in enumerate(lines))


def _one_or_all(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


def _joined(words: Sequence[str]) -> str:
    plain = plain_pattern(words)
    end = len(words) - 1 if plain is words else -1
    return " ".join(
        word if word in (ONE_WORD, ANY_WORDS) or (word == END and index == end) else shlex.quote(word)
        for index, word in enumerate(plain)
    )


def _example(example: Example) -> str | dict[str, Any]:
    if example == Example(line=example.line):
        return example.line
    fields = {
        "tool": example.tool,
        "command": example.line or list(example.argv),
        "path": _one_or_all(example.path),
        "host": _one_or_all(example.host),
        "skill": example.skill,
    }
    return {name: value for name, value in fields.items() if value}


def add_rule(path: Path, rule: Rule) -> None:
    """Add a rule to the end of a file, which is made if need be; a rule that is there already is not added again.

    Whoever reads meanwhile sees the file before or after, and two additions at the same time are both kept.
    """
    try:
        place = Path(os.path.realpath(path))  # a link stays a link
        place.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        # The lock is beside the file, which the file itself cannot be: it is replaced.
        with lock_file(place.with_name(f".{place.name}.lock"), timeout=LOCK_SECONDS):
            before = b""
            with suppress(FileNotFoundError):
                before = place.read_bytes()
            after = _added(before, rule, str(path))
            if after != before:
                write_atomic(place, after)
    except OSError as error:
        raise StorageFailed(
            f"the rule `{rule.name}` could not be added to `{path}`: {error.strerror}",
            hint="check who may write there",
        ) from error


def _added(before: bytes, rule: Rule, origin: str) -> bytes:
    """The file with the rule in it, or the same bytes when it is there; proved by reading the result."""
    try:
        text = before.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{origin}` is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None
    present = load_rules(text, origin=origin)
    wanted = msgspec.structs.replace(rule, origin=origin)
    if wanted in present:
        return before
    end = "\r\n" if "\r\n" in text else "\n"
    result = (
        f"{text}{end if text and not text.endswith(end[-1]) else ''}{_item(text, rule, origin).replace(chr(10), end)}"
    )
    if load_rules(result, origin=origin) != (*present, wanted):
        raise ConfigError(
            f"the rule `{rule.name}` cannot be added to `{origin}` without changing the rest of it",
            hint="write the rules as one block list with nothing behind it",
        )
    return result.encode()


def _item(text: str, rule: Rule, origin: str) -> str:
    """The rule as it continues the text."""
    document = parse_document(text, origin)
    items = rule_items(document, origin)
    if items is not None and items.flow:
        raise ConfigError(
            f"`{origin}` has its rules in brackets, to which none can be added",
            hint="write them as a block list, one `- name:` for each",
        )
    head = "rules:\n" if document is None else ""
    indent = " " * (2 if items is None else items.column)
    return head + "".join(f"{indent}{line}\n" for line in rule_text(rule).rstrip("\n").split("\n"))
