"""What the trials of queries amount to, with the skill and without it."""

from pathlib import Path

from skills_runtime.skills.evals import Query, Suite, Trial
from skills_runtime.skills.evals.report import TriggerReport, build_trigger_report
from skills_runtime.skills.evals.trials import TrialRun, Variant

SUITE = Suite(
    skill=Path("/skills/writer"),
    files=Path("/skills/writer"),
    queries=(
        Query(id="yes", query="Poem?", should_trigger=True),
        Query(id="no", query="2+2?", should_trigger=False),
    ),
)


def trial(name: str, variant: Variant, *chosen: str, error: str = "", tokens: int = 10) -> Trial:
    result = TrialRun(
        run="/r",
        status="completed",
        answer="",
        seconds=1,
        input_tokens=tokens,
        output_tokens=0,
        cost_usd=0,
        error=error,
    )
    called = "writer" in chosen
    return Trial(kind="query", id=name, variant=variant, number=1, result=result, triggered=called, chosen=chosen)


def report(*trials: Trial) -> TriggerReport:
    return build_trigger_report(SUITE, "writer", trials)


def test_trials_without_the_skill_do_not_lower_its_rate() -> None:
    summary = report(trial("yes", "with_skill", "writer"), trial("yes", "without_skill"))

    assert (summary.recall.hits, summary.recall.trials) == (1, 1)
    assert summary.queries[0].passed is True


def test_a_query_that_was_only_tried_without_the_skill_is_undecided() -> None:
    summary = report(trial("yes", "without_skill", "reader"))

    assert summary.queries[0].passed is None
    assert summary.recall.rate is None


def test_skills_are_counted_by_name_and_the_most_called_comes_first() -> None:
    summary = report(
        trial("yes", "without_skill", "reader"),
        trial("yes", "without_skill", "singer", "reader"),
        trial("yes", "without_skill"),
    )

    without_skill = summary.should_trigger.without_skill
    assert without_skill is not None
    assert [(name, rate.hits, rate.trials) for name, rate in without_skill.skills.items()] == [
        ("reader", 2, 3),
        ("singer", 1, 3),
    ]
    assert (without_skill.any_skill.hits, without_skill.others.hits, without_skill.none.hits) == (2, 2, 1)


def test_another_skill_beside_the_evaluated_one_counts_as_both() -> None:
    summary = report(trial("yes", "with_skill", "writer", "reader"), trial("yes", "without_skill", "reader"))

    with_skill = summary.should_trigger.with_skill
    assert (with_skill.any_skill.hits, with_skill.others.hits, summary.recall.hits) == (1, 1, 1)
    assert summary.should_trigger.others is not None
    assert summary.should_trigger.others.value == 0


def test_a_difference_has_an_interval_around_it() -> None:
    with_skill = [trial("yes", "with_skill", "writer") for _ in range(10)]
    without = [trial("yes", "without_skill", *(("reader",) if number < 2 else ())) for number in range(10)]

    difference = report(*with_skill, *without).should_trigger.any_skill

    assert difference is not None
    assert round(difference.value, 3) == 0.8
    assert 0 < difference.low < 0.8 < difference.high <= 1
    assert difference.clear


def test_trials_that_do_not_count_are_in_no_rate() -> None:
    summary = report(trial("yes", "with_skill", error="no answer"), trial("no", "without_skill", error="no answer"))

    assert summary.errors == 2
    assert summary.should_trigger.with_skill.any_skill.trials == 0
    assert summary.should_not_trigger.without_skill is None


def test_tokens_are_those_of_one_side() -> None:
    summary = report(trial("yes", "with_skill", "writer", tokens=30), trial("yes", "without_skill", tokens=10))

    without_skill = summary.should_trigger.without_skill
    assert summary.should_trigger.with_skill.tokens is not None
    assert without_skill is not None
    assert without_skill.tokens is not None
    assert (summary.should_trigger.with_skill.tokens.mean, without_skill.tokens.mean) == (30, 10)
