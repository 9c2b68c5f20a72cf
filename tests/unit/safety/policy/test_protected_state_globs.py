"""Patterns for names of files are compared with the runtime's own places, name by name."""

from typing import Any

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Rules, decide

SHELL = ToolSpec(name="shell_command", description="", parameters={})
PLACE: dict[str, Any] = {"root": "/home/user/ws", "home": "/home/user", "control": ("/srv/keys",), "mode": "allow"}


def kind(line: str) -> str:
    return type(decide(assess(SHELL, Intent(line=line)), Rules(**PLACE))).__name__


@pytest.mark.parametrize(
    "line",
    [
        "cat .s*/runs/r/events.jsonl",
        "cp -r .s* elsewhere",
        "cat .skills_runtime_sd[k]/x",
        "cat ~/.config/sk*/rules.yaml",
        "cat $HOME/.config/skills*/*",
        'cat ~/.config/"sk"*/rules.yaml',
        "cat ~/.local/*/skills_runtim?/keys",
        "cat /s*/k*/x",
        "cd /s* && cat ke*/x",
        "cd ~/.conf* && cat sk*/x",
        "cat < /srv/k*/x",
    ],
)
def test_a_pattern_that_may_name_our_own_state_is_denied(line: str) -> None:
    assert kind(line) == "Deny"


@pytest.mark.parametrize("line", ["cat ~/.config/*/rules.yaml", "cat .*/runs/r/events.jsonl", "cat /srv/*/x"])
def test_a_name_that_is_nothing_but_a_pattern_is_asked_about_when_more_follows(line: str) -> None:
    assert kind(line) == "Ask"


@pytest.mark.parametrize(
    "line",
    ["ls *", "ls .*", "ls ~/.config/*", "cat */x.py", "sed 's/.*/x/' a", "ls .git*", "cat src/*/a.py", "ls /srv/*"],
)
def test_other_patterns_are_left(line: str) -> None:
    assert kind(line) == "Allow"
