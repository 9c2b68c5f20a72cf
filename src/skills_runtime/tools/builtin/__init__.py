"""The tools every agent has, one file each."""

from skills_runtime.tools.builtin.file_read import FileRead
from skills_runtime.tools.builtin.file_write import FileWrite

__all__ = ["FileRead", "FileWrite"]
