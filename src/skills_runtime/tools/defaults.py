"""The tools an agent starts with; they are imported when the first agent is made."""

from skills_runtime.tools.registry import Registry


def builtin_tools() -> Registry:
    """A new registry with every built-in tool."""
    from skills_runtime.tools import builtin

    return Registry(
        builtin.FileRead(),
        builtin.FileWrite(),
        builtin.ReadFile(),
        builtin.ListDir(),
        builtin.GrepFiles(),
        builtin.ApplyPatch(),
        builtin.FileDelete(),
        builtin.ViewImage(),
        builtin.UpdatePlan(),
    )
