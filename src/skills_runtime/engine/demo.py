"""Demonstrations: a folder with a task, settings and a scripted model, for a real run without a network."""

from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.config import Resolved, deep_merge, nest_value, read_mapping
from skills_runtime.engine.run_requests import RunRequest
from skills_runtime.errors import AccessRefused, SandboxError
from skills_runtime.sandbox import OsSandbox, build_sandbox
from skills_runtime.skills import BUNDLED_NAMESPACE, find_bundled_skills

STUDIO_DEMO = Path(__file__).parent / "demo_run"
"""The demonstration of the web app: a scripted model, a real skill and sandbox, an approval and a deliverable."""
PROFILE = "scripted-demo"
"""Marks demonstration runs in logs and lists."""


class Demo(msgspec.Struct, frozen=True):
    """A task, with settings of the highest precedence that make it run without a network."""

    prompt: str
    settings: dict[str, Any]


def read_demo(folder: Path) -> Demo:
    """Read the demonstration in a folder: `prompt.md`, `kgent.yaml` and `script.yaml`."""
    script = nest_value("llm.fake.script", str(folder / "script.yaml"))
    return Demo(
        prompt=(folder / "prompt.md").read_text(encoding="utf-8"),
        settings=deep_merge(read_mapping(folder / "kgent.yaml"), script),
    )


def build_demo_request() -> RunRequest:
    """Build the request for the web app's demonstration; its settings take precedence and use no network."""
    demo = read_demo(STUDIO_DEMO)
    skills = {
        "spaces": [{"id": "bundled", "namespace": BUNDLED_NAMESPACE, "sources": ["bundled"]}],
        "sources": [{"id": "bundled", "type": "filesystem", "options": {"root": str(find_bundled_skills())}}],
    }
    return RunRequest(prompt=demo.prompt, settings=deep_merge(demo.settings, {"skills": skills}))


def check_demo_sandbox(resolved: Resolved) -> None:
    """Refuse if the policy denies everything, or if the demonstration would run without a sandbox."""
    if resolved.settings.safety.mode == "deny":
        raise AccessRefused(
            "the policy here is `deny`, and the demonstration would have to loosen it",
            hint="begin it in a workspace of its own, or let the operator change `safety.mode`",
        )
    settings = resolved.settings.sandbox.model_copy(update={"default_policy": "restricted"})
    sandbox = build_sandbox(settings, workspace=resolved.workspace_root, variables=resolved.environment.process)
    if not isinstance(sandbox, OsSandbox) or not sandbox.state()[2]:
        raise SandboxError(
            "no sandbox works on this machine, and the demonstration runs nothing without one",
            hint="install bubblewrap; `sandbox doctor` says what is missing",
        )


def is_scripted(profile_id: str) -> bool:
    """Return whether a run is a demonstration with a scripted model."""
    return profile_id == PROFILE
