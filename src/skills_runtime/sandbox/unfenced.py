"""No fence, by the user's own choice: the command as it is, with a clean environment.

Pure: where the variables come from is the caller's business.
"""

from collections.abc import Mapping
from typing import Any

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan

INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM",
    "TMPDIR", "TMP", "TEMP",
)  # fmt: skip
"""The little every process needs; anything else the runtime was started with, such as a key, stays with it."""

DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}

GAPS = (
    "a process may read and write every file that the user may",
    "a process may use the network",
    "a process may see and signal the user's other processes",
    "nothing limits memory, processor time or the number of processes",
)


class Unfenced:
    """Starts commands without isolation; every result says so."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        chosen = {name: variables[name] for name in INHERITED if name in variables}
        self._environment = DEFAULTS | chosen

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """The command as it is; one that asks for isolation is refused."""
        if request.permissions == "restricted":
            raise SandboxError(
                "the call asks for a sandbox, and `sandbox.default_policy: none` means that there is none",
                hint="leave out `sandbox`, or ask the user for another policy",
            )
        return SandboxPlan(
            argv=request.argv,
            cwd=request.cwd,
            environment={**self._environment, **request.environment},
            evidence=_evidence(request),
        )


def _evidence(request: ProcessRequest) -> Mapping[str, Any]:
    return {
        "requested": request.permissions,
        "effective": "none",
        "adapter": "none",
        "active": False,
        "profile": "none",
        "promises": [],
        "gaps": list(GAPS),
    }
