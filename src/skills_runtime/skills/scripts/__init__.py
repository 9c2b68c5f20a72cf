"""Scripts of skills: where one begins, what it needs, and how it is started on a copy of its directory."""

from skills_runtime.skills.scripts.entries import Entry, entry_of, script_in
from skills_runtime.skills.scripts.inline_metadata import InlineMetadata, NotUsable, inline_metadata
from skills_runtime.skills.scripts.versions import allows

__all__ = ["Entry", "InlineMetadata", "NotUsable", "allows", "entry_of", "inline_metadata", "script_in"]
