"""The tools an agent starts with; they are imported when the first agent is made."""

from typing import TYPE_CHECKING

from skills_runtime.tools.registry import Registry

if TYPE_CHECKING:
    from skills_runtime.tools.builtin import SearchProvider


def builtin_tools(search: "SearchProvider | None" = None) -> Registry:
    """A new registry with every built-in tool; `search` is what web_search asks."""
    from skills_runtime.tools import builtin

    return Registry(
        builtin.ShellExec(),
        builtin.Shell(),
        builtin.ShellCommand(),
        builtin.ExecCommand(),
        builtin.WriteStdin(),
        builtin.FileRead(),
        builtin.FileWrite(),
        builtin.ReadFile(),
        builtin.ListDir(),
        builtin.GrepFiles(),
        builtin.ApplyPatch(),
        builtin.FileDelete(),
        builtin.ViewImage(),
        builtin.UpdatePlan(),
        builtin.AskHuman(),
        builtin.RequestUserInput(),
        builtin.WebSearch(search),
        builtin.SpawnAgent(),
        builtin.Wait(),
        builtin.SendInput(),
        builtin.CloseAgent(),
        builtin.ResumeAgent(),
    )
