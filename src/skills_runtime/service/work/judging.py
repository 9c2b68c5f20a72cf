"""What the rules of the workspace say about a command that nobody executes."""

from collections.abc import Sequence

from skills_runtime.agent.rules import read_rules
from skills_runtime.config import Resolved
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.gate import with_real_places
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Explanation, explain
from skills_runtime.tools import builtin_tools


def judged(
    resolved: Resolved, tool: str, line: str | None, argv: Sequence[str] | None
) -> tuple[str, Explanation, Facts]:
    """The verdict in one word, why, and how the call was understood."""
    if (line is None) == (argv is None):
        raise ValidationFailed("give the command once, as `line` or as `argv`")
    intent = Intent(line=line) if line is not None else Intent(argv=tuple(argv or ()))
    specs = {one.spec.name: one.spec for one in builtin_tools()}
    spec = specs.get(tool) or ToolSpec(name=tool, description="", parameters={})
    facts = assess(spec, with_real_places(intent))
    explanation = explain(facts, read_rules(resolved).rules)
    return type(explanation.verdict).__name__.lower(), explanation, facts
