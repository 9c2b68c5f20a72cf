"""Render runs for people: the transcript, the HTML page, and notes about skills.

Pure: from events and state to text. Knows no files and no terminal. The page is in `render.html_page`.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.render.skill_notes import is_skill_notice, skill_note
from skills_runtime.render.transcript import render_transcript

if TYPE_CHECKING:
    from skills_runtime.render.html_page import POLICY, Language, PageFile, render_page

__getattr__ = lazy_names(
    __name__,
    {
        "html_page": "Language POLICY PageFile render_page",
    },
)

__all__ = [
    "POLICY",
    "Language",
    "PageFile",
    "is_skill_notice",
    "render_page",
    "render_transcript",
    "skill_note",
]
