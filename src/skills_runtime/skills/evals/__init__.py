"""Evaluations of skills: what a skill changes, and when it is used, by trials with it and without it."""

from skills_runtime.skills.evals.evaluation import EvalPlan, Evaluation, OnTrial, Trial
from skills_runtime.skills.evals.report import EvalReport, build_report
from skills_runtime.skills.evals.suite import Case, Query, Suite, load_suite
from skills_runtime.skills.evals.trials import TrialRun, TrialRunner, TrialSkills, Variant
from skills_runtime.skills.evals.workspace import BENCHMARK, EvalDirectory, open_eval_directory, save_report

__all__ = [
    "BENCHMARK",
    "Case",
    "EvalDirectory",
    "EvalPlan",
    "EvalReport",
    "Evaluation",
    "OnTrial",
    "Query",
    "Suite",
    "Trial",
    "TrialRun",
    "TrialRunner",
    "TrialSkills",
    "Variant",
    "build_report",
    "load_suite",
    "open_eval_directory",
    "save_report",
]
