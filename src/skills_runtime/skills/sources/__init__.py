"""Sources of skills, one module each."""

from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.filesystem_index import IndexedSource
from skills_runtime.skills.sources.memory import MemorySource, Row
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions, Source

__all__ = ["FilesystemSource", "IndexedSource", "MemorySource", "Origin", "Report", "Row", "ScanOptions", "Source"]
