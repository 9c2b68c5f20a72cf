"""The demonstration of the web app: a scripted model, a real skill and sandbox, an approval and a deliverable."""

from pathlib import Path

from skills_runtime.config import Resolved
from skills_runtime.config.merge import deep_merge
from skills_runtime.engine import RunRequest
from skills_runtime.engine.demos import read_demo
from skills_runtime.errors import AccessRefused, SandboxError
from skills_runtime.sandbox import Fence, fence_for
from skills_runtime.skills.configured import BUNDLED_NAMESPACE, bundled_skills

FILES = Path(__file__).parent / "demo"
PROFILE = "scripted-demo"
"""What tells such a run from all others, in its log and in lists."""


def demo_order() -> RunRequest:
    """The run to begin; its settings count above those of the workspace, so that it never leaves this machine."""
    demo = read_demo(FILES)
    skills = {
        "spaces": [{"id": "bundled", "namespace": BUNDLED_NAMESPACE, "sources": ["bundled"]}],
        "sources": [{"id": "bundled", "type": "filesystem", "options": {"root": str(bundled_skills())}}],
    }
    return RunRequest(prompt=demo.prompt, settings=deep_merge(demo.settings, {"skills": skills}))


def refuse_without_fence(resolved: Resolved) -> None:
    """Refuse where the policy forbids everything, or where nothing would fence in what the demonstration executes."""
    if resolved.settings.safety.mode == "deny":
        raise AccessRefused(
            "the policy here is `deny`, and the demonstration would have to loosen it",
            hint="begin it in a workspace of its own, or let the operator change `safety.mode`",
        )
    settings = resolved.settings.sandbox.model_copy(update={"default_policy": "restricted"})
    fence = fence_for(settings, workspace=resolved.workspace_root, variables=resolved.environment.process)
    if not isinstance(fence, Fence) or not fence.state()[2]:
        raise SandboxError(
            "no sandbox works on this machine, and the demonstration runs nothing without one",
            hint="install bubblewrap; `sandbox doctor` says what is missing",
        )


def is_scripted(profile_id: str) -> bool:
    """Whether a run is a demonstration, whose model only says what was written beforehand."""
    return profile_id == PROFILE
