"""The tools every agent has, one file each."""

from skills_runtime.tools.builtin.apply_patch import ApplyPatch
from skills_runtime.tools.builtin.ask_human import AskHuman
from skills_runtime.tools.builtin.close_agent import CloseAgent
from skills_runtime.tools.builtin.exec_command import ExecCommand
from skills_runtime.tools.builtin.file_delete import FileDelete
from skills_runtime.tools.builtin.file_read import FileRead
from skills_runtime.tools.builtin.file_write import FileWrite
from skills_runtime.tools.builtin.grep_files import GrepFiles
from skills_runtime.tools.builtin.list_dir import ListDir
from skills_runtime.tools.builtin.read_file import ReadFile
from skills_runtime.tools.builtin.request_user_input import RequestUserInput
from skills_runtime.tools.builtin.resume_agent import ResumeAgent
from skills_runtime.tools.builtin.send_input import SendInput
from skills_runtime.tools.builtin.shell import Shell
from skills_runtime.tools.builtin.shell_command import ShellCommand
from skills_runtime.tools.builtin.shell_exec import ShellExec
from skills_runtime.tools.builtin.spawn_agent import SpawnAgent
from skills_runtime.tools.builtin.update_plan import UpdatePlan
from skills_runtime.tools.builtin.view_image import ViewImage
from skills_runtime.tools.builtin.wait import Wait
from skills_runtime.tools.builtin.web_search import SearchProvider, WebSearch
from skills_runtime.tools.builtin.write_stdin import WriteStdin

__all__ = [
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
    "RequestUserInput",
    "ResumeAgent",
    "SearchProvider",
    "SendInput",
    "Shell",
    "ShellCommand",
    "ShellExec",
    "SpawnAgent",
    "UpdatePlan",
    "ViewImage",
    "Wait",
    "WebSearch",
    "WriteStdin",
]
