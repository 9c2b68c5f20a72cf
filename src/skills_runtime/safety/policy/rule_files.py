"""The rules of a run: from its settings, the user's rule files, and what the project tightens.

A project's own rules may deny and ask. What they would allow is left out and told, for nobody vetted the project.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.policy import Rule, Rules, load_rules
from skills_runtime.text import printable

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

USER_FILE = "rules.yaml"
"""In the directory of the user's own configuration."""
PROJECT_FILE = "config/rules.yaml"
"""In the workspace."""


class RulesRead(msgspec.Struct, frozen=True):
    """All rules that hold, and what was left out of the project's."""

    rules: Rules
    notices: tuple[str, ...] = ()


def rules_for(resolved: "Resolved") -> Rules:
    """Everything that decides on the calls of a run in this workspace."""
    return read_rules(resolved).rules


def user_rule_file(resolved: "Resolved") -> Path:
    """Where rules are added that shall hold for every run of this user."""
    from skills_runtime.config import config_home

    return config_home(resolved.environment.process) / USER_FILE


def read_rules(resolved: "Resolved") -> RulesRead:
    """The rules as the files have them now; a file that cannot be understood is an error, never an empty one."""
    safety = resolved.settings.safety
    # The user's rule files, each once; the one in the user's own configuration need not be there.
    from skills_runtime.config.files import canonical, is_there

    default = user_rule_file(resolved)
    found = [default] if is_there(default) else []
    files = list(dict.fromkeys(canonical(path, path.parent) for path in (*found, *resolved.settings.safety.rule_files)))
    own = [rule for file in files for rule in _rules_in(file, resolved)]
    project = resolved.workspace_root / PROJECT_FILE
    theirs: tuple[Rule, ...] = ()
    # A project's file that the user has named is one of their own.
    if is_there(project) and (real := canonical(project, project.parent)) not in files:
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
    from skills_runtime.config.files import read_text

    home = _home(resolved)
    if path.is_relative_to(resolved.workspace_root):
        text = str(path.relative_to(resolved.workspace_root))
    elif home != "/" and path.is_relative_to(home):
        text = f"~/{path.relative_to(home)}"
    else:
        text = str(path)
    return load_rules(read_text(path), origin=printable(text))


def _home(resolved: "Resolved") -> str:
    from skills_runtime.config.environment import home

    return str(home(resolved.environment.process))


def _control(resolved: "Resolved", files: list[Path]) -> Iterator[Path]:
    """Where the runtime keeps what no tool may touch, as it is named and as it is behind links."""
    from skills_runtime.config import config_home, state_home
    from skills_runtime.config.environment import keys_home

    process = resolved.environment.process
    for place in (config_home(process), state_home(process), keys_home(process), *files):
        yield place
        yield place.resolve()
