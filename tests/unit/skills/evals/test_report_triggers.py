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
    ended = TrialRun(
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
    return Trial(kind="query", id=name, variant=variant, number=1, ended=ended, triggered=called, chosen=chosen)


def report(*trials: Trial) -> TriggerReport:
    return build_trigger_report(SUITE, "writer", trials)


def test_trials_without_the_skill_do_not_lower_its_rate() -> None:
    found = report(trial("yes", "with_skill", "writer"), trial("yes", "without_skill"))

    assert (found.recall.hits, found.recall.trials) == (1, 1)
    assert found.queries[0].passed is True


def test_a_query_that_was_only_tried_without_the_skill_is_undecided() -> None:
    found = report(trial("yes", "without_skill", "reader"))

    assert found.queries[0].passed is None
    assert found.recall.rate is None


def test_skills_are_counted_by_name_and_the_most_called_comes_first() -> None:
    found = report(
        trial("yes", "without_skill", "reader"),
        trial("yes", "without_skill", "singer", "reader"),
        trial("yes", "without_skill"),
    )

    gone = found.wanted.without_skill
    assert gone is not None
    assert [(name, rate.hits, rate.trials) for name, rate in gone.skills.items()] == [
        ("reader", 2, 3),
        ("singer", 1, 3),
    ]
    assert (gone.any_skill.hits, gone.others.hits, gone.none.hits) == (2, 2, 1)


def test_another_skill_beside_the_evaluated_one_counts_as_both() -> None:
    found = report(trial("yes", "with_skill", "writer", "reader"), trial("yes", "without_skill", "reader"))

    there = found.wanted.with_skill
    assert (there.any_skill.hits, there.others.hits, found.recall.hits) == (1, 1, 1)
    assert found.wanted.others is not None
    assert found.wanted.others.value == 0


def test_a_difference_has_an_interval_around_it() -> None:
    with_skill = [trial("yes", "with_skill", "writer") for _ in range(10)]
    without = [trial("yes", "without_skill", *(("reader",) if number < 2 else ())) for number in range(10)]

    apart = report(*with_skill, *without).wanted.any_skill

    assert apart is not None
    assert round(apart.value, 3) == 0.8
    assert 0 < apart.low < 0.8 < apart.high <= 1
    assert apart.clear


def test_trials_that_do_not_count_are_in_no_rate() -> None:
    found = report(trial("yes", "with_skill", error="no answer"), trial("no", "without_skill", error="no answer"))

    assert found.errors == 2
    assert found.wanted.with_skill.any_skill.trials == 0
    assert found.unwanted.without_skill is None


def test_tokens_are_those_of_one_side() -> None:
    found = report(trial("yes", "with_skill", "writer", tokens=30), trial("yes", "without_skill", tokens=10))

    gone = found.wanted.without_skill
    assert found.wanted.with_skill.tokens is not None
    assert gone is not None
    assert gone.tokens is not None
    assert (found.wanted.with_skill.tokens.mean, gone.tokens.mean) == (30, 10)
