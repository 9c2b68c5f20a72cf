"""A labelled collection of our own: skills, tasks and the skill each task is for, and the plain ranking to beat."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from skills_runtime.skills import Skill
from tests.unit.skills.samples import a_skill

Rank = Callable[[str], Sequence[str]]


class Labelled(NamedTuple):
    """A task and the name of the skill it is for."""

    task: str
    skill: str


def collection() -> tuple[list[Skill], list[Labelled]]:
    """Every skill and every labelled task of the file beside this one."""
    skills: list[Skill] = []
    tasks: list[Labelled] = []
    for line in Path(__file__).with_suffix(".md").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            name, _, description = line[2:].partition(": ")
            skills.append(a_skill(name, description=description))
        else:
            tasks.append(Labelled(line[2:], skills[-1].name))
    return skills, tasks


def hit_rates(rank: Rank, tasks: Sequence[Labelled]) -> tuple[float, float]:
    """How often the right skill is first, and how often it is among the first five, in percent."""
    ranks = [list(rank(labelled.task)[:5]) for labelled in tasks]
    first = sum(ranked[:1] == [labelled.skill] for ranked, labelled in zip(ranks, tasks, strict=True))
    five = sum(labelled.skill in ranked for ranked, labelled in zip(ranks, tasks, strict=True))
    return 100 * first / len(tasks), 100 * five / len(tasks)


def plain_bm25(skills: Sequence[Skill]) -> Rank:
    """The usual ranking by words over name and description, with nothing added."""
    texts = [Counter(_split_words(f"{skill.name} {skill.description}")) for skill in skills]
    usual = sum(text.total() for text in texts) / len(texts)

    def rank(task: str) -> list[str]:
        scores = dict.fromkeys((skill.name for skill in skills), 0.0)
        for word in _split_words(task):
            having = sum(word in text for text in texts)
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            for skill, text in zip(skills, texts, strict=True):
                length = 1.5 * (0.25 + 0.75 * text.total() / usual)
                scores[skill.name] += rarity * text[word] * 2.5 / (text[word] + length)
        return [name for name in sorted(scores, key=lambda name: -scores[name]) if scores[name] > 0]

    return rank


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
