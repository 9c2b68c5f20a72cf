"""Every known way out is tried, with the host as the witness: as whoever runs the tests, and as an ordinary user."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sandbox import attempts_files, attempts_kernel, attempts_secrets
from tests.e2e.sandbox.arena import Arena, Outcome, new_arena
from tests.e2e.sandbox.attempt import Attempt
from tests.support.users import Unprivileged

ATTEMPTS = [*attempts_files.ATTEMPTS, *attempts_secrets.ATTEMPTS, *attempts_kernel.ATTEMPTS]


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def _tried(arena: Arena, attempt: Attempt) -> tuple[bool, bool, str]:
    """Whether it was really tried, whether it escaped, and what it said."""
    try:
        if attempt.prepare is not None:
            attempt.prepare(arena)
        outcome = arena.run(attempt.code)
        return _began(attempt, outcome), attempt.escaped(arena, outcome), outcome.stdout + outcome.stderr
    finally:
        arena.close()


def _began(attempt: Attempt, outcome: Outcome) -> bool:
    return "STARTED" in outcome.stdout or (attempt.signal_is_an_answer and outcome.finished.exit_code not in (0, 1))


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_nothing_gets_out(attempt: Attempt, arena: Arena) -> None:
    began, escaped, said = _tried(arena, attempt)
    assert began, f"it was not even tried: {said}"
    assert not escaped, said


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the tests are run by an ordinary user already")
@pytest.mark.parametrize("category", sorted({attempt.category for attempt in ATTEMPTS}))
def test_nothing_gets_out_for_an_ordinary_user(category: str, unprivileged: Unprivileged) -> None:
    def run() -> list[tuple[str, str]]:
        chosen = [attempt for attempt in ATTEMPTS if attempt.category == category]
        tried = [(attempt.name, _tried(new_arena(unprivileged.path), attempt)) for attempt in chosen]
        return [(name, said) for name, (began, escaped, said) in tried if escaped or not began]

    assert unprivileged(run) == []


def test_the_battery_is_large() -> None:
    assert len({attempt.name for attempt in ATTEMPTS}) == len(ATTEMPTS) > 100
    categories = {attempt.category for attempt in ATTEMPTS}
    assert categories == {"files", "protected", "secrets", "network", "processes", "terminal", "privileges", "devices"}
