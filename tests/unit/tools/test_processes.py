"""What a command has to claim before it starts."""

from pathlib import Path

import pytest

from skills_runtime.ports import FileAccess, Grant, SandboxPlan
from skills_runtime.tools.processes import Work, claim_kind

ROOT = Path("/project")
FENCED = SandboxPlan(
    argv=("true",),
    cwd=ROOT,
    environment={},
    evidence={"active": True},
    file_access=FileAccess(workspace=ROOT, writable=(ROOT,), protected=(ROOT / ".agents",)),
)
UNFENCED = SandboxPlan(argv=("true",), cwd=ROOT, environment={}, evidence={"active": False})


@pytest.mark.parametrize(
    ("work", "plan", "kind"),
    [
        (Work(argv=("true",)), FENCED, None),
        (Work(argv=("true",)), UNFENCED, None),
        (Work(argv=("true",), permissions="require_escalated"), UNFENCED, "outside"),
        (Work(argv=("true",), grant=Grant(hosts=("example.com:443",))), FENCED, "widened"),
        (Work(argv=("true",), code=(ROOT / "skills" / "one",)), FENCED, "widened"),
        (Work(argv=("true",), code=(ROOT / ".agents" / "skills" / "one",)), FENCED, None),
        (Work(argv=("true",), code=(Path("/home/me/skills/one"),)), FENCED, None),
    ],
)
def test_a_command_runs_alone_if_sandboxed_ones_could_change_what_was_approved(
    work: Work, plan: SandboxPlan, kind: str | None
) -> None:
    assert claim_kind(work, plan) == kind
