"""The built-in tools, one module each; register a new one here."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.ports import Tool
from skills_runtime.tools.builtin.apply_patch import ApplyPatch
from skills_runtime.tools.builtin.ask_human import AskHuman
from skills_runtime.tools.builtin.exec_command import ExecCommand
from skills_runtime.tools.builtin.file_delete import FileDelete
from skills_runtime.tools.builtin.file_write import FileWrite
from skills_runtime.tools.builtin.grep_files import GrepFiles
from skills_runtime.tools.builtin.list_dir import ListDir
from skills_runtime.tools.builtin.read_file import ReadFile
from skills_runtime.tools.builtin.seed_names import FileRead, RequestUserInput, Shell, ShellExec
from skills_runtime.tools.builtin.shell_command import ShellCommand
from skills_runtime.tools.builtin.subagents import CloseAgent, ResumeAgent, SendInput, SpawnAgent, Wait
from skills_runtime.tools.builtin.update_plan import UpdatePlan
from skills_runtime.tools.builtin.view_image import ViewImage
from skills_runtime.tools.builtin.web_search import SearchProvider, WebSearch
from skills_runtime.tools.builtin.write_stdin import WriteStdin

if TYPE_CHECKING:
    from skills_runtime.tools.builtin.activate_skill import ActivateSkill
    from skills_runtime.tools.builtin.read_skill_file import ReadSkillFile
    from skills_runtime.tools.builtin.search_skills import SearchSkills
    from skills_runtime.tools.builtin.skill_exec import SkillExec
    from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead
    from skills_runtime.tools.builtin.unload_skill import UnloadSkill

__getattr__ = lazy_names(
    __name__,
    {
        "activate_skill": "ActivateSkill",
        "read_skill_file": "ReadSkillFile",
        "search_skills": "SearchSkills",
        "skill_exec": "SkillExec",
        "skill_ref_read": "SkillRefRead",
        "unload_skill": "UnloadSkill",
    },
)

__all__ = [
    "ActivateSkill",
    "ApplyPatch",
    "AskHuman",
    "CloseAgent",
    "ExecCommand",
    "FileDelete",
    "FileRead",
    "FileWrite",
    "GrepFiles",
    "ListDir",
    "ReadFile",
    "ReadSkillFile",
    "RequestUserInput",
    "ResumeAgent",
    "SearchProvider",
    "SearchSkills",
    "SendInput",
    "Shell",
    "ShellCommand",
    "ShellExec",
    "SkillExec",
    "SkillRefRead",
    "SpawnAgent",
    "Tool",
    "UnloadSkill",
    "UpdatePlan",
    "ViewImage",
    "Wait",
    "WebSearch",
    "WriteStdin",
]


def all_tools(search: SearchProvider | None = None) -> tuple[Tool, ...]:
    """Create every built-in tool, in the order in which the model sees them."""
    return (
        ShellCommand(),
        ExecCommand(),
        WriteStdin(),
        ReadFile(),
        FileWrite(),
        ApplyPatch(),
        FileDelete(),
        ListDir(),
        GrepFiles(),
        ViewImage(),
        UpdatePlan(),
        AskHuman(),
        WebSearch(search),
        SpawnAgent(),
        Wait(),
        SendInput(),
        CloseAgent(),
        ResumeAgent(),
        Shell(),
        ShellExec(),
        FileRead(),
        RequestUserInput(),
    )
