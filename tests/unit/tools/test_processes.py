"""What a command has to claim before it starts."""

from pathlib import Path

import pytest

from skills_runtime.ports import FileAccess, Grant, SandboxPlan
from skills_runtime.tools.processes import CommandSpec, claim_kind

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
        (CommandSpec(argv=("true",)), FENCED, None),
        (CommandSpec(argv=("true",)), UNFENCED, None),
        (CommandSpec(argv=("true",), permissions="require_escalated"), UNFENCED, "outside"),
        (CommandSpec(argv=("true",), grant=Grant(hosts=("example.com:443",))), FENCED, "widened"),
        (CommandSpec(argv=("true",), code=(ROOT / "skills" / "one",)), FENCED, "widened"),
        (CommandSpec(argv=("true",), code=(ROOT / ".agents" / "skills" / "one",)), FENCED, None),
        (CommandSpec(argv=("true",), code=(Path("/home/me/skills/one"),)), FENCED, None),
    ],
)
def test_a_command_runs_alone_if_sandboxed_ones_could_change_what_was_approved(
    work: CommandSpec, plan: SandboxPlan, kind: str | None
) -> None:
    assert claim_kind(work, plan) == kind
