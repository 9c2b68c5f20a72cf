"""Run every trial of a suite, a few in parallel, and resume after an interruption."""

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
    find_called_skills,
    prepare_outputs,
)
from skills_runtime.skills.evals.workspace import EvalDirectory
from skills_runtime.skills.skill import Skill
from skills_runtime.storage import remove_tree, wrap_write_errors, write_atomic

RECORD = "trial.json"
VARIANTS: tuple[Variant, Variant] = ("with_skill", "without_skill")


class EvalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Number of trials, parallelism and optional parts of an evaluation."""

    runs: int = 1
    """Number of trials of each case and each query."""
    parallel: int = 4
    judge: bool = True
    """Whether the model grades checks of the type `judged`."""
    baseline: bool = True
    """Whether each trial is also run without the skill."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Result and grades of one trial, as written to `trial.json`."""

    kind: str
    """`case` or `query`."""
    id: str
    variant: Variant
    number: int
    result: TrialRun = msgspec.field(name="ended")
    graded: tuple[Graded, ...] = ()
    judge: TrialRun | None = None
    triggered: bool | None = None
    """Whether the model called the skill; only set for queries."""
    chosen: tuple[str, ...] = ()
    """Names of the skills that the model called; only set for queries."""

    @property
    def counts(self) -> bool:
        """Whether the run ended without an error, so that the trial counts."""
        return not self.result.error

    @property
    def passed(self) -> bool | None:
        """Whether every check passed; None if a check is undecided and none failed."""
        verdicts = [item.passed for item in self.graded]
        return False if False in verdicts else None if None in verdicts or not verdicts else True


OnTrial = Callable[[Trial, int, int], None]
"""Called with each finished trial, the number of finished trials and the total."""


class Evaluation:
    """The evaluation of one suite in one directory."""

    def __init__(
        self, suite: Suite, directory: EvalDirectory, runner: TrialRunner, skills: TrialSkills, plan: EvalPlan
    ) -> None:
        self._suite = suite
        self._directory = directory
        self._runner = runner
        self._skills = skills
        self._plan = plan
        self._skill = self._find_skill()

    @property
    def skill(self) -> Skill:
        """The skill that is evaluated."""
        return self._skill

    async def run(self, on_trial: OnTrial) -> list[Trial]:
        """Run every trial and return them in suite order; the first exception cancels the others."""
        pending = self._build_trials()
        finished: list[Trial] = []
        slots = asyncio.Semaphore(self._plan.parallel)

        async def run_trial(trial: Coroutine[Any, Any, Trial]) -> Trial:
            try:
                async with slots:
                    result = await trial
            finally:
                trial.close()  # a cancelled task may never have awaited its coroutine
            finished.append(result)
            on_trial(result, len(finished), len(pending))
            return result

        tasks = [asyncio.create_task(run_trial(trial)) for trial in pending]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _find_skill(self) -> Skill:
        library = self._skills.library("with_skill")
        skills = library.list()
        if len(skills) != 1:
            problem = next((issue.message for issue in library.problems()), "there is no skill in it")
            raise ValidationFailed(
                f"`{self._suite.skill}` cannot be evaluated: {problem}", hint="see `skills validate`"
            )
        return skills[0]

    def _build_trials(self) -> Sequence[Coroutine[Any, Any, Trial]]:
        variants = VARIANTS if self._plan.baseline else VARIANTS[:1]
        numbers = range(1, self._plan.runs + 1)
        cases = [
            self._run_case(case, variant, number)
            for case in self._suite.cases
            for variant in variants
            for number in numbers
        ]
        return cases + [
            self._run_query(query, variant, number)
            for query in self._suite.queries
            for variant in variants
            for number in numbers
        ]

    async def _run_case(self, case: Case, variant: Variant, number: int) -> Trial:
        path = self._directory.trial(f"eval-{case.id}", variant, f"run-{number}")
        earlier = await asyncio.to_thread(_load_trial, path)
        if earlier is not None and (earlier.judge is not None or not self._plan.judge or not _find_judged_checks(case)):
            return earlier
        files = await asyncio.to_thread(self._prepare_files, path, case)
        file_list = f"\n\nFiles in the working directory: {', '.join(files)}" if files else ""
        mention = f"{self._skill.mention.text}\n\n" if variant == "with_skill" else ""
        library = self._skills.library(variant)
        result = await self._runner.run(f"{mention}{case.prompt}{file_list}", path, library, settings={})
        trial = Trial(kind="case", id=case.id, variant=variant, number=number, result=result)
        if trial.counts:
            trial = await self._grade_case(trial, case, path)
        return _save_trial(path, trial)

    async def _run_query(self, query: Query, variant: Variant, number: int) -> Trial:
        path = self._directory.trial("triggers", query.id, variant, f"run-{number}")
        earlier = await asyncio.to_thread(_load_trial, path)
        if earlier is not None:
            return earlier
        await asyncio.to_thread(self._prepare_files, path, None)
        library = self._skills.catalog(variant)
        settings = {"max_steps": MAX_STEPS, "on_limit": "fail"}
        result = await self._runner.run(query.query, path, library, settings=settings)
        chosen = find_called_skills(await asyncio.to_thread(self._runner.events, path), library.list())
        # The query is answered by the call; a step limit reached afterwards is no error.
        if chosen:
            result = msgspec.structs.replace(result, error="")
        trial = Trial(
            kind="query",
            id=query.id,
            variant=variant,
            number=number,
            result=result,
            triggered=self._skill.name in chosen,
            chosen=chosen,
        )
        return _save_trial(path, trial)

    def _prepare_files(self, path: Path, case: Case | None) -> list[str]:
        """Create the working directory, unless a run has already started in it."""
        names = case.files if case is not None else ()
        if (path / "run").exists():
            return [name.rpartition("/")[2] for name in names]
        return prepare_outputs(path / "outputs", self._suite.files, names)

    async def _grade_case(self, trial: Trial, case: Case, path: Path) -> Trial:
        answer, outputs = trial.result.answer, path / "outputs"
        judged_checks = _find_judged_checks(case)
        judged_by_text: dict[str, Graded] = {}
        judge_run: TrialRun | None = None
        if judged_checks and self._plan.judge:
            answers, judge_run = await judge(self._runner, case, judged_checks, trial.result, path)
            judged_by_text = {item.text: item for item in answers}
        graded = [
            judged_by_text.get(check.text, Graded(text=check.text, passed=None, evidence="not judged"))
            if check.type == "judged"
            else await asyncio.to_thread(grade, check, answer, outputs)
            for check in case.checks
        ]
        return msgspec.structs.replace(trial, graded=tuple(graded), judge=judge_run)


def _find_judged_checks(case: Case) -> list[Check]:
    return [check for check in case.checks if check.type == "judged"]


def _load_trial(path: Path) -> Trial | None:
    """Load the trial of an earlier evaluation; delete failed runs so that they are repeated."""
    try:
        trial = msgspec.json.decode((path / RECORD).read_bytes(), type=Trial)
    except (OSError, msgspec.MsgspecError):
        return None
    if not trial.counts:
        remove_tree(path, ignore_errors=True)
        return None
    if trial.judge is not None and trial.judge.error:
        remove_tree(path / "judge", ignore_errors=True)
        return msgspec.structs.replace(trial, judge=None)
    return trial


def _save_trial(path: Path, trial: Trial) -> Trial:
    """Write the trial's files; `timing.json` and `grading.json` have the format of the public guide."""
    result = trial.result
    timing = {"total_tokens": result.tokens, "duration_ms": round(result.seconds * 1000), "cost_usd": result.cost_usd}
    verdicts = [item.passed for item in trial.graded]
    summary = {"passed": verdicts.count(True), "failed": verdicts.count(False), "total": len(verdicts)}
    results = [msgspec.to_builtins(item) for item in trial.graded]
    _write(path / "timing.json", timing)
    if trial.kind == "case":
        _write(path / "grading.json", {"assertion_results": results, "summary": summary})
    # Last: this file marks the trial as finished.
    _write(path / RECORD, trial)
    return trial


def _write(path: Path, value: Any) -> None:
    with wrap_write_errors(path):
        write_atomic(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n", durable=False)
