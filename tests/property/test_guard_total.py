"""Any text at all is read: never an error, and never a harmless answer for what was not understood."""

from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import Reading, assess, read_argv, read_line
from tests.support.examples import examples

SYNTAX = r"""
rm -rf / echo cat git env timeout bash sh -c eval xargs find -exec sed awk python ssh sudo docker export alias trap
declare $( ) ` ' " \ ( { } ; && || | & << <<- <<< E > < >& 2>&1 $ ${ $(( )) (( [[ ]] [ ] # = X= $' $" * ? ~ ! if then
fi for in do done while case esac f() function <( >( coproc time { -S -o --- -I{} {} :: @ % + ../ .env 'x' "y" é 文
"""
PIECES = st.sampled_from([*SYNTAX.split(), " ", "\n", "\t", "\\\n", "\r", "\0"])
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(PIECES, max_size=24).map("".join),
    st.lists(PIECES, max_size=24).map(" ".join),
    st.lists(st.characters(codec=None), max_size=20).map("".join),
)
SPEC = ToolSpec(name="shell_command", description="", parameters={})


def assert_sound(reading: Reading, text: str) -> None:
    if reading.unclear:
        assert reading.risk.level != "low"
    if reading.risk.level != "low":
        assert reading.risk.reason
    if reading.risk.span is not None:
        start, end = reading.risk.span
        assert 0 <= start <= end <= len(text)


@settings(max_examples=examples(600), deadline=None)
@given(TEXTS)
def test_any_line_is_read(text: str) -> None:
    assert_sound(read_line(text), text)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_any_program_is_read(argv: list[str]) -> None:
    assert_sound(read_argv(argv), " ".join(argv))


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS, TEXTS)
def test_any_call_is_assessed(line: str, typed: str) -> None:
    facts = assess(SPEC, Intent(line=line, typed=typed, environment={"A": typed}))
    assert not facts.unclear or facts.risk.level != "low"


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_the_same_text_is_always_read_the_same(text: str) -> None:
    assert read_line(text) == read_line(text)
