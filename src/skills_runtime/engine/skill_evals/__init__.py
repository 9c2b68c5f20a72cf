"""Evaluations of skills: what a skill changes, and when it is used, by trials with it and without it."""

from skills_runtime.engine.skill_evals.evaluation import Evaluation, OnTrial, Plan, Trial
from skills_runtime.engine.skill_evals.places import BENCHMARK, Place, place_for
from skills_runtime.engine.skill_evals.report import Report, report_of
from skills_runtime.engine.skill_evals.suite import Case, Query, Suite, suite_at
from skills_runtime.engine.skill_evals.trials import Bench

__all__ = [
    "BENCHMARK",
    "Bench",
    "Case",
    "Evaluation",
    "OnTrial",
    "Place",
    "Plan",
    "Query",
    "Report",
    "Suite",
    "Trial",
    "place_for",
    "report_of",
    "suite_at",
]
