"""A persistent index of skills: what was found before is not read again unless it changed."""

from skills_runtime.skills.index.source import IndexedSource
from skills_runtime.skills.index.watch import Changes, watch_skills

__all__ = ["Changes", "IndexedSource", "watch_skills"]
