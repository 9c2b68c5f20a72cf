"""Calls as the guard would describe them, made by hand."""

from typing import Any

from skills_runtime.ports import FileTouch
from skills_runtime.safety.guard import Facts, SimpleCommand
from skills_runtime.safety.policy import PolicyDecision, Rule, Rules, decide


def command(text: str) -> SimpleCommand:
    """A command of plain words; `$X` stands for a word that only the running shell knows."""
    return SimpleCommand(words=tuple(None if word.startswith("$") else word for word in text.split()), text=text)


def shell(*commands: str, **facts: Any) -> Facts:
    """A line of shell that runs these commands."""
    return Facts(tool="shell_command", commands=tuple(map(command, commands)), **facts)


def touching(*paths: str, tool: str = "file_write", touch: Any = "create", **facts: Any) -> Facts:
    """A call of a tool that touches these files."""
    return Facts(tool=tool, files=tuple(FileTouch(path=path, touch=touch) for path in paths), **facts)


def verdict(facts: Facts, *rules: Rule, **settings: Any) -> PolicyDecision:
    """What these rules and settings say."""
    return decide(facts, Rules(rules=rules, **settings))


def kind(facts: Facts, *rules: Rule, **settings: Any) -> str:
    """`Allow`, `Ask` or `Deny`."""
    return type(verdict(facts, *rules, **settings)).__name__
