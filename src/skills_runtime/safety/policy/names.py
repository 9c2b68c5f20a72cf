"""Whether names of tools, skills and hosts fit their patterns."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

SAME_TOOL = (
    frozenset({"shell_command", "shell", "shell_exec"}),
    frozenset({"read_file", "file_read"}),
    frozenset({"ask_human", "request_user_input"}),
    frozenset({"read_skill_file", "skill_ref_read"}),
)
"""Names of one tool: a rule that names one of them is about all of them."""


def names_of_tool(tool: str) -> frozenset[str]:
    """Every name of the tool that has this name."""
    return next((names for names in SAME_TOOL if tool in names), frozenset({tool}))


def is_tool(patterns: Iterable[str], tool: str) -> bool:
    """Whether a tool, by any of its names, fits one of the patterns."""
    names = names_of_tool(tool)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def named(patterns: Iterable[str], name: str) -> bool:
    """Whether a name fits one of the patterns; `*` stands for any characters."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_host(patterns: Iterable[str], host: str) -> bool:
    """Whether a host is one of those meant; `*.example.com` means what is below it, not itself."""
    plain = plain_host(host)
    return bool(plain) and any(_is_one(plain, plain_host(pattern)) for pattern in patterns)


def _is_one(host: str, pattern: str) -> bool:
    return pattern in ("*", host) or (pattern.startswith("*.") and host.endswith(pattern[1:]) and host != pattern[1:])


def plain_host(host: str) -> str:
    """The host without user, port and final dot, in lower case."""
    name = host.strip().rpartition("@")[2].casefold()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    if name.count(":") == 1:
        name = name.partition(":")[0]
    return name.rstrip(".")
