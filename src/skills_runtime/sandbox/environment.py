"""The environment of a command behind the fence: the little every program needs, and what was asked for."""

from collections.abc import Mapping

from skills_runtime.sandbox.machine import Machine

INHERITED = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TERM", "COLORTERM", "NO_COLOR")
"""What says how to write for a person; it names no place and holds no secret."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
HOME = "/tmp/home"
USER = "sandbox"


def fenced_environment(variables: Mapping[str, str], asked_for: Mapping[str, str], machine: Machine) -> dict[str, str]:
    """Every variable of the command; what was asked for comes last."""
    path = SYSTEM_PATH if machine.interpreter is None else f"{SYSTEM_PATH}:{machine.interpreter}/bin"
    ours = {"PATH": path, "HOME": HOME, "USER": USER, "LOGNAME": USER, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
    chosen = {name: variables[name] for name in INHERITED if name in variables}
    return {**ours, "TERM": "dumb", **chosen, **asked_for}
