"""Runs as text for people: the transcript, the single HTML page, and sentences about skills that both share.

Pure: from events and state to text. Knows no files and no terminal. The page is in `render.page`.
"""

from skills_runtime.render.skill_notes import is_skill_notice, skill_note
from skills_runtime.render.transcript import render_transcript

__all__ = ["is_skill_notice", "render_transcript", "skill_note"]
