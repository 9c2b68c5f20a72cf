"""The demonstration of the web app: a scripted model, a real skill and sandbox, an approval and a deliverable."""

from pathlib import Path

from skills_runtime.config.merge import deep_merge
from skills_runtime.engine.demos import read_demo
from skills_runtime.service.work import Order
from skills_runtime.skills.bundled import NAMESPACE, bundled_skills

FILES = Path(__file__).parent / "demo"
PROFILE = "scripted-demo"
"""What tells such a run from all others, in its log and in lists."""


def demo_order() -> Order:
    """The run to begin; its settings count above those of the workspace, so that it never leaves this machine."""
    demo = read_demo(FILES)
    skills = {
        "spaces": [{"id": "bundled", "namespace": NAMESPACE, "sources": ["bundled"]}],
        "sources": [{"id": "bundled", "type": "filesystem", "options": {"root": str(bundled_skills())}}],
    }
    return Order(prompt=demo.prompt, settings=deep_merge(demo.settings, {"skills": skills}))


def is_scripted(profile_id: str) -> bool:
    """Whether a run is a demonstration, whose model only says what was written beforehand."""
    return profile_id == PROFILE
