"""Runs every trial of a suite, a few at a time; what was done before an interruption is not done again."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.evals.grading import Graded, grade, judge
from skills_runtime.skills.evals.suite import Case, Check, Query, Suite
from skills_runtime.skills.evals.trials import (
    MAX_STEPS,
    TrialRun,
    TrialRunner,
    TrialSkills,
    Variant,
    prepare_outputs,
    skills_called,
)
from skills_runtime.skills.evals.workspace import EvalDirectory
from skills_runtime.skills.skill import Skill
from skills_runtime.storage import remove_tree, wrap_write_errors, write_atomic

RECORD = "trial.json"
VARIANTS: tuple[Variant, Variant] = ("with_skill", "without_skill")


class EvalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How thoroughly a suite is evaluated."""

    runs: int = 1
    """Trials of each case and of each query."""
    parallel: int = 4
    judge: bool = True
    """Whether sentences are judged by the model."""
    baseline: bool = True
    """Whether everything is tried without the skill as well."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one trial."""

    kind: str
    """`case` or `query`."""
    id: str
    variant: Variant
    number: int
    ended: TrialRun
    graded: tuple[Graded, ...] = ()
    judge: TrialRun | None = None
    triggered: bool | None = None
    """Whether the model called the skill, if that was the question."""
    chosen: tuple[str, ...] = ()
    """The names of the skills that it called, if that was the question."""

    @property
    def counts(self) -> bool:
        """Whether it says something about the skill."""
        return not self.ended.error

    @property
    def passed(self) -> bool | None:
        """Whether every check held; nothing where one could not be decided and none failed."""
        held = [one.passed for one in self.graded]
        return False if False in held else None if None in held or not held else True


OnTrial = Callable[[Trial, int, int], None]
"""Told of each trial that is done, how many are, and how many there are."""


class Evaluation:
    """One suite at one place."""

    def __init__(
        self, suite: Suite, place: EvalDirectory, runner: TrialRunner, skills: TrialSkills, plan: EvalPlan
    ) -> None:
        self._suite = suite
        self._place = place
        self._runner = runner
        self._skills = skills
        self._plan = plan
        self._skill = self._find()

    @property
    def skill(self) -> Skill:
        """The skill that is evaluated."""
        return self._skill

    async def run(self, on_trial: OnTrial) -> list[Trial]:
        """Every trial, in the order of the suite; the first thing that cannot go on ends all of them."""
        wanted = self._wanted()
        done: list[Trial] = []
        slots = asyncio.Semaphore(self._plan.parallel)

        async def one(trial: Coroutine[Any, Any, Trial]) -> Trial:
            try:
                async with slots:
                    result = await trial
            finally:
                trial.close()  # one that never had its turn
            done.append(result)
            on_trial(result, len(done), len(wanted))
            return result

        tasks = [asyncio.create_task(one(trial)) for trial in wanted]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _find(self) -> Skill:
        library = self._skills.library("with_skill")
        skills = library.list()
        if len(skills) != 1:
            problem = next((one.message for one in library.problems()), "there is no skill in it")
            raise ValidationFailed(
                f"`{self._suite.skill}` cannot be evaluated: {problem}", hint="see `skills validate`"
            )
        return skills[0]

    def _wanted(self) -> Sequence[Coroutine[Any, Any, Trial]]:
        variants = VARIANTS if self._plan.baseline else VARIANTS[:1]
        numbers = range(1, self._plan.runs + 1)
        cases = [self._case(case, one, number) for case in self._suite.cases for one in variants for number in numbers]
        return cases + [
            self._query(query, one, number) for query in self._suite.queries for one in variants for number in numbers
        ]

    async def _case(self, case: Case, variant: Variant, number: int) -> Trial:
        place = self._place.trial(f"eval-{case.id}", variant, f"run-{number}")
        known = await asyncio.to_thread(_known, place)
        if known is not None and (known.judge is not None or not self._plan.judge or not _judged(case)):
            return known
        files = await asyncio.to_thread(self._files, place, case)
        told = f"\n\nFiles in the working directory: {', '.join(files)}" if files else ""
        called = f"{self._skill.mention.text}\n\n" if variant == "with_skill" else ""
        library = self._skills.library(variant)
        ended = await self._runner.run(f"{called}{case.prompt}{told}", place, library, settings={})
        trial = Trial(kind="case", id=case.id, variant=variant, number=number, ended=ended)
        if trial.counts:
            trial = await self._graded(trial, case, place)
        return _kept(place, trial)

    async def _query(self, query: Query, variant: Variant, number: int) -> Trial:
        place = self._place.trial("triggers", query.id, variant, f"run-{number}")
        known = await asyncio.to_thread(_known, place)
        if known is not None:
            return known
        await asyncio.to_thread(self._files, place, None)
        library = self._skills.catalog(variant)
        settings = {"max_steps": MAX_STEPS, "on_limit": "fail"}
        ended = await self._runner.run(query.query, place, library, settings=settings)
        chosen = skills_called(await asyncio.to_thread(self._runner.events, place), library.list())
        if chosen:  # what became of it afterwards does not matter here
            ended = msgspec.structs.replace(ended, error="")
        trial = Trial(
            kind="query",
            id=query.id,
            variant=variant,
            number=number,
            ended=ended,
            triggered=self._skill.name in chosen,
            chosen=chosen,
        )
        return _kept(place, trial)

    def _files(self, place: Path, case: Case | None) -> list[str]:
        """The working directory as it is to begin with; one in which work has begun is left alone."""
        names = case.files if case is not None else ()
        if (place / "run").exists():
            return [name.rpartition("/")[2] for name in names]
        return prepare_outputs(place / "outputs", self._suite.files, names)

    async def _graded(self, trial: Trial, case: Case, place: Path) -> Trial:
        answer, outputs = trial.ended.answer, place / "outputs"
        sentences = _judged(case)
        judged: dict[str, Graded] = {}
        verdict: TrialRun | None = None
        if sentences and self._plan.judge:
            found, verdict = await judge(self._runner, case, sentences, trial.ended, place)
            judged = {one.text: one for one in found}
        graded = [
            judged.get(check.text, Graded(text=check.text, passed=None, evidence="nobody judged it"))
            if check.type == "judged"
            else await asyncio.to_thread(grade, check, answer, outputs)
            for check in case.checks
        ]
        return msgspec.structs.replace(trial, graded=tuple(graded), judge=verdict)


def _judged(case: Case) -> list[Check]:
    return [check for check in case.checks if check.type == "judged"]


def _known(place: Path) -> Trial | None:
    """What an earlier evaluation found here; what does not count is cleared away, to be tried again."""
    try:
        trial = msgspec.json.decode((place / RECORD).read_bytes(), type=Trial)
    except (OSError, msgspec.MsgspecError):
        return None
    if not trial.counts:
        remove_tree(place, ignore_errors=True)
        return None
    if trial.judge is not None and trial.judge.error:
        remove_tree(place / "judge", ignore_errors=True)
        return msgspec.structs.replace(trial, judge=None)
    return trial


def _kept(place: Path, trial: Trial) -> Trial:
    """Write down what came of a trial, in the form the public guide describes as well; it is done then."""
    ended = trial.ended
    timing = {"total_tokens": ended.tokens, "duration_ms": round(ended.seconds * 1000), "cost_usd": ended.cost_usd}
    held = [one.passed for one in trial.graded]
    summary = {"passed": held.count(True), "failed": held.count(False), "total": len(held)}
    results = [msgspec.to_builtins(one) for one in trial.graded]
    _write(place / "timing.json", timing)
    if trial.kind == "case":
        _write(place / "grading.json", {"assertion_results": results, "summary": summary})
    _write(place / RECORD, trial)
    return trial


def _write(path: Path, value: Any) -> None:
    with wrap_write_errors(path):
        write_atomic(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n", durable=False)
