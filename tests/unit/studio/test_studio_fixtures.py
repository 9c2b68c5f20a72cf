"""The logs that the web app folds in its own tests say what the projections say."""

import pytest

from tests.unit.studio.make_fixtures import FIXTURES, fixture_text, logs

LOGS = logs()


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_fixture_has_what_the_projections_say(name: str) -> None:
    message = "run `python -m tests.unit.studio.make_fixtures`, and then the tests of studio/"
    assert (FIXTURES / f"{name}.json").read_text(encoding="utf-8") == fixture_text(LOGS[name]), message


def test_there_is_no_fixture_without_a_log() -> None:
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(LOGS)
