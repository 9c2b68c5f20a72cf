"""Evaluate skills: run trials with and without a skill and report what it changes and when it is called."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names
from skills_runtime.skills.evals.evaluation import EvalPlan, Evaluation, OnTrial, Trial
from skills_runtime.skills.evals.report import EvalReport, build_report
from skills_runtime.skills.evals.suite import Case, Query, Suite, load_suite
from skills_runtime.skills.evals.trials import TrialRun, TrialRunner, TrialSkills, Variant
from skills_runtime.skills.evals.workspace import BENCHMARK, EvalDirectory, open_eval_directory, save_report

if TYPE_CHECKING:
    from skills_runtime.skills.evals.report import (
        ChoiceComparison,
        Difference,
        EvalDelta,
        Rate,
        SkillChoices,
        Spread,
        TriggerReport,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "report": "ChoiceComparison Difference EvalDelta Rate SkillChoices Spread TriggerReport",
    },
)

__all__ = [
    "BENCHMARK",
    "Case",
    "ChoiceComparison",
    "Difference",
    "EvalDelta",
    "EvalDirectory",
    "EvalPlan",
    "EvalReport",
    "Evaluation",
    "OnTrial",
    "Query",
    "Rate",
    "SkillChoices",
    "Spread",
    "Suite",
    "Trial",
    "TrialRun",
    "TrialRunner",
    "TrialSkills",
    "TriggerReport",
    "Variant",
    "build_report",
    "load_suite",
    "open_eval_directory",
    "save_report",
]
