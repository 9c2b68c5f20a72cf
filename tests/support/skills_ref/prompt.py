"""The list of skills for a prompt, as the reference library writes it."""

from html import escape
from pathlib import Path

from .parser import find_skill_md, read_properties


def to_prompt(skill_dirs: list[Path]) -> str:
    """Render each skill with its name, its description and the path of its file."""
    lines = ["<available_skills>"]
    for directory in map(Path, skill_dirs):
        skill, file = read_properties(directory), find_skill_md(directory)
        facts = {"name": skill.name, "description": skill.description, "location": str(file and file.resolve())}
        lines += ["<skill>", *(f"<{tag}>\n{escape(text)}\n</{tag}>" for tag, text in facts.items()), "</skill>"]
    return "\n".join([*lines, "</available_skills>"])
