"""Select the skills that a task calls for: by mention, declared trigger or file, or shared words.

Pure. Mentions, triggers and files are certain and come first; shared words only give a ranking from which the model
chooses.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from skills_runtime.events import RoutedSkill, SkillRouted
from skills_runtime.skills.mentions import ResolvedMentions, resolve_listed_mentions
from skills_runtime.skills.routing.ranking import (
    Declarations,
    SkillIndex,
    collect_declarations,
    find_file_match,
    find_paths,
    find_trigger,
    index_skills,
    rank_skills,
)
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.text import one_line

Rule = Literal["mention", "trigger", "path", "words"]
CERTAIN: tuple[Rule, ...] = ("mention", "trigger", "path")

MAX_TASK_CHARS = 20_000
"""How much of a task is read."""
MAX_EVENT_TASK_CHARS = 300
_MAX_REASON_WORDS = 8


class SkillChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One skill that a task calls for."""

    skill: Skill
    score: float
    """1 if it is certain, else how much of the task the skill covers."""
    rule: Rule
    reason: str
    """One sentence for users."""
    words: tuple[str, ...] = ()
    """The matching words of the task, the most significant first."""


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """The skills that a task calls for, best first."""

    task: str
    choices: tuple[SkillChoice, ...]
    considered: int
    """The number of skills to choose from."""

    @property
    def certain(self) -> tuple[SkillChoice, ...]:
        """Return the choices that need no model."""
        return tuple(choice for choice in self.choices if choice.rule in CERTAIN)

    @property
    def decided_by(self) -> Literal["mention", "trigger", "path", "model"]:
        """Return the rule of the first choice; without a certain choice the model decides."""
        first = self.choices[0].rule if self.choices else "words"
        return "model" if first == "words" else first


def route_skills(
    task: str,
    skills: Sequence[Skill],
    *,
    paths: Sequence[str] = (),
    limit: int = 5,
    index: SkillIndex | None = None,
    mentions: ResolvedMentions | None = None,
) -> Routing:
    """Select the skills that a task calls for; `paths` are the files it is about.

    Certain choices are always included; `limit` bounds the total with those suggested by words. A caller with a library
    passes `mentions`, which may include skills that are not listed. A caller that routes repeatedly passes an `index`
    of the same skills, which may include their bodies. An index of fewer skills ranks only those; the declarations of
    the others still count.
    """
    mentions = resolve_listed_mentions(task, skills) if mentions is None else mentions
    task = task[:MAX_TASK_CHARS]
    index = index or index_skills(skills)
    declarations = index.declarations if len(index.skills) == len(skills) else collect_declarations(skills)
    certain = (
        *_choose_by_mention(mentions),
        *_choose_by_trigger(task, skills, declarations),
        *_choose_by_path(task, paths, skills, declarations),
    )
    chosen: dict[Mention, SkillChoice] = {}
    for choice in certain:
        chosen.setdefault(choice.skill.mention, choice)
    count = max(limit, len(chosen))
    if len(chosen) < limit:
        for choice in _choose_by_words(task, index, paths, limit + len(chosen)):
            chosen.setdefault(choice.skill.mention, choice)
    return Routing(task=task, choices=tuple(chosen.values())[:count], considered=len(skills))


def search_index(query: str, index: SkillIndex, *, limit: int = 10) -> tuple[SkillChoice, ...]:
    """Return the skills that the model may call, ranked by the words they share with a query."""
    return tuple(_choose_by_words(query[:MAX_TASK_CHARS], index, (), limit))


def build_routing_event(routing: Routing) -> SkillRouted:
    """Build the event that records a routing and its reasons."""
    return SkillRouted(
        query=one_line(routing.task)[:MAX_EVENT_TASK_CHARS],
        decided_by=routing.decided_by,
        considered=routing.considered,
        choices=[
            RoutedSkill(mention=choice.skill.mention.text, rule=choice.rule, score=choice.score, reason=choice.reason)
            for choice in routing.choices
        ],
    )


def _choose_by_mention(mentions: ResolvedMentions) -> list[SkillChoice]:
    choices: list[SkillChoice] = []
    for skill in mentions.skills:
        text = mentions.mention_texts.get(skill.mention, skill.mention.text)
        reason = f"the task mentions it as `{one_line(text)}`"
        choices.append(SkillChoice(skill=skill, score=1.0, rule="mention", reason=reason))
    return choices


def _choose_by_trigger(task: str, skills: Sequence[Skill], declarations: Declarations) -> list[SkillChoice]:
    """Choose the skills whose declared triggers occur in the task, the longest trigger first."""
    pairs = [
        (find_trigger(task, triggers), skills[position])
        for position, triggers in declarations.triggers.items()
        if position not in declarations.hidden
    ]
    present = sorted((pair for pair in pairs if pair[0]), key=lambda pair: (-len(pair[0]), pair[1].mention))
    return [
        SkillChoice(
            skill=skill,
            score=1.0,
            rule="trigger",
            reason=f"the task says `{one_line(trigger)}`, which it declares as a trigger",
            words=(trigger,),
        )
        for trigger, skill in present
    ]


def _choose_by_path(
    task: str, paths: Sequence[str], skills: Sequence[Skill], declarations: Declarations
) -> list[SkillChoice]:
    if not declarations.globs:
        return []
    files = [*paths, *find_paths(task)]
    choices: list[SkillChoice] = []
    for position, globs in declarations.globs.items():
        match = find_file_match(files, globs) if position not in declarations.hidden else None
        if match is not None:
            reason = f"`{one_line(match.path)}` is one of the files it is for: `{one_line(match.glob)}`"
            choices.append(SkillChoice(skill=skills[position], score=1.0, rule="path", reason=reason))
    return sorted(choices, key=lambda choice: choice.skill.mention)


def _choose_by_words(task: str, index: SkillIndex, paths: Sequence[str], limit: int) -> list[SkillChoice]:
    """Choose by shared words; skills declared for other files than `paths` are left out."""
    if limit <= 0:
        return []
    globs = index.declarations.globs if paths else {}
    elsewhere = frozenset(position for position, patterns in globs.items() if find_file_match(paths, patterns) is None)
    without = index.declarations.hidden | elsewhere
    choices: list[SkillChoice] = []
    for match in rank_skills(index, task, limit=limit, without=without):
        words = ", ".join(f"`{one_line(word)}`" for word in match.words[:_MAX_REASON_WORDS])
        reason = f"it answers to {words}"
        skill = index.skills[match.position]
        choices.append(SkillChoice(skill=skill, score=match.score, rule="words", reason=reason, words=match.words))
    return choices
