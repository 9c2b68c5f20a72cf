"""What is said on a command line about a fence is taken as it stands, or refused in words."""

import pytest

from skills_runtime.cli.sandbox import MAX_VARIABLES, parse_variables
from skills_runtime.errors import ValidationFailed


def test_the_last_value_of_a_variable_counts() -> None:
    assert parse_variables(["A=1", "B==", "A=2"]) == {"A": "2", "B": "="}


def test_more_variables_than_a_fence_takes_are_refused() -> None:
    assert len(parse_variables([f"V{number}=x" for number in range(MAX_VARIABLES)])) == MAX_VARIABLES
    with pytest.raises(ValidationFailed, match="at most 2,000 variables"):
        parse_variables([f"V{number}=x" for number in range(MAX_VARIABLES + 1)])
