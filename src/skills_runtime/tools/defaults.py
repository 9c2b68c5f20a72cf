"""The tools an agent starts with."""

from skills_runtime.tools.builtin import FileRead, FileWrite
from skills_runtime.tools.registry import Registry


def builtin_tools() -> Registry:
    """A new registry with every built-in tool."""
    return Registry(FileRead(), FileWrite())
