"""What a new run is started with besides its task: the skills somebody chose for it."""

from collections.abc import Iterable

from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.config import Resolved
from skills_runtime.skills import Library, Skill, mentions_in, parse_mention


def with_skills(prompt: str, chosen: Iterable[str], resolved: Resolved) -> str:
    """The task with the mentions of the chosen skills behind it; one it mentions already is not added again."""
    library = library_of(resolved)
    there = set(mentions_in(prompt))
    wanted = [skill.mention for skill in (found_skill(library, text) for text in chosen)]
    added = [mention.text for mention in dict.fromkeys(wanted) if mention not in there]
    return f"{prompt.rstrip()}\n\n{' '.join(added)}\n" if added else prompt


def found_skill(library: Library, text: str) -> Skill:
    """The skill that a mention or a name means; raises where it means none, or several."""
    return library.find(parse_mention(text)) if text.startswith("$[") else library.find_by_name(text)
