"""Templates: every variable is filled once, and what is filled in is never filled again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.prompt_prefix import VARIABLES, fill_template, uses_variable

pieces = st.one_of(
    st.sampled_from([f"{{{{{name}}}}}" for name in VARIABLES]), st.text(alphabet="{}taskcwd \\1", max_size=8)
)
texts = st.lists(pieces, max_size=6).map("".join)


def test_every_variable_is_filled_wherever_it_stands() -> None:
    values = {name: name.upper() for name in VARIABLES}
    assert fill_template("{{task}}-{{cwd}}-{{tools}}-{{skills}}-{{constraints}}-{{task}}", values) == (
        "TASK-CWD-TOOLS-SKILLS-CONSTRAINTS-TASK"
    )


@given(st.fixed_dictionaries(dict.fromkeys(VARIABLES, texts)))
def test_what_is_filled_in_is_not_filled_again(values: dict[str, str]) -> None:
    template = "|".join(f"{{{{{name}}}}}" for name in VARIABLES)
    assert fill_template(template, values) == "|".join(values[name] for name in VARIABLES)


@pytest.mark.parametrize("text", ["{{other}}", "{task}", "{{ task }}", "{{TASK}}", "{{task}", "{{}}", "${task}"])
def test_what_is_no_variable_stays(text: str) -> None:
    assert fill_template(text, dict.fromkeys(VARIABLES, "filled")) == text


@given(texts)
def test_a_text_without_variables_is_not_changed(text: str) -> None:
    assert (fill_template(text, dict.fromkeys(VARIABLES, "")) == text) == (
        not any(uses_variable(text, name) for name in VARIABLES)
    )
