"""Measure the CPU time of routing among ten thousand skills: building the index, and one task."""

import random
import time
from itertools import accumulate, cycle, islice

from benchmarks.measure import Number, report
from skills_runtime.skills import Skill
from skills_runtime.skills.routing import index_skills, route_skills
from skills_runtime.skills.routing.vocabulary import RELATED_LINES

SKILLS = 10_000
WORDS_OF_A_DESCRIPTION = 45
TASKS = (
    "the totals in budget.xlsx are wrong, find the broken formula and repair the sheet",
    "deploy the api to the cluster and tell me why the pod crashes",
    "summarize this article and translate the summary into French",
    "write tests for the login form, it has a bug when the password is empty",
    "帮我把这份报告翻译成英文并做成幻灯片",
)


def main() -> None:
    skills = _skills()
    started = time.process_time()
    index = index_skills(skills)
    built = time.process_time() - started
    route_skills("an unknwon wrod", skills, index=index)
    rounds = list(islice(cycle(TASKS), 50))
    started = time.process_time()
    for task in rounds:
        route_skills(task, skills, index=index)
    each = (time.process_time() - started) / len(rounds)
    report(
        Number("index 10,000 skills for routing, CPU", built, "s", 1.5, "at most"),
        Number("route one task among 10,000 skills, CPU", each * 1000, "ms", 10, "at most"),
    )


def _skills() -> list[Skill]:
    """Build skills like real ones: common words of the field, and a few of their own."""
    choose = random.Random(1)
    common = [word for line in RELATED_LINES for word in line.split()]
    words = [*common, *(f"{word}{other}" for word in common[::8] for other in common[::9])]
    choose.shuffle(words)
    odds = list(
        accumulate(1 / place for place in range(1, len(words) + 1))
    )  # as in any language: a few words are everywhere
    return [
        Skill(
            namespace="web",
            name=f"{choose.choice(words)}-{choose.choice(words)}-{number}",
            description=" ".join(choose.choices(words, cum_weights=odds, k=WORDS_OF_A_DESCRIPTION)),
            locator="",
            space_id="space",
            source_id="source",
        )
        for number in range(SKILLS)
    ]


if __name__ == "__main__":
    main()
