"""Evaluations of skills: what a skill changes, and when it is used, by trials with it and without it."""

from skills_runtime.skills.evals.evaluation import Evaluation, OnTrial, Plan, Trial
from skills_runtime.skills.evals.report import Report, report_of
from skills_runtime.skills.evals.suite import Case, Query, Suite, suite_at
from skills_runtime.skills.evals.trials import Ended, TrialRunner, TrialSkills, Variant
from skills_runtime.skills.evals.workspace import BENCHMARK, Place, keep_report, place_for

__all__ = [
    "BENCHMARK",
    "Case",
    "Ended",
    "Evaluation",
    "OnTrial",
    "Place",
    "Plan",
    "Query",
    "Report",
    "Suite",
    "Trial",
    "TrialRunner",
    "TrialSkills",
    "Variant",
    "keep_report",
    "place_for",
    "report_of",
    "suite_at",
]
