"""The fence where there is none yet: it lets nothing start."""

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, SandboxPlan


class NoFence:
    """Refuses every command, so that a missing fence never means a missing check."""

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Raise: what cannot be fenced in is not started."""
        raise SandboxError(
            "no sandbox is available yet for processes",
            hint="set `sandbox.default_policy: none` in your own configuration to run without one",
        )
