"""The tools every agent has, one file each."""

from skills_runtime.tools.builtin.apply_patch import ApplyPatch
from skills_runtime.tools.builtin.file_delete import FileDelete
from skills_runtime.tools.builtin.file_read import FileRead
from skills_runtime.tools.builtin.file_write import FileWrite
from skills_runtime.tools.builtin.grep_files import GrepFiles
from skills_runtime.tools.builtin.list_dir import ListDir
from skills_runtime.tools.builtin.read_file import ReadFile
from skills_runtime.tools.builtin.update_plan import UpdatePlan
from skills_runtime.tools.builtin.view_image import ViewImage

__all__ = [
    "ApplyPatch",
    "FileDelete",
    "FileRead",
    "FileWrite",
    "GrepFiles",
    "ListDir",
    "ReadFile",
    "UpdatePlan",
    "ViewImage",
]
