"""Other people's text, made fit to be written down."""

from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.llm.failures import MAX_MESSAGE_CHARS, shorten
from skills_runtime.text import well_formed


@given(st.text(st.characters()))
def test_every_text_can_be_written_and_text_that_could_is_unchanged(text: str) -> None:
    written = well_formed(text)
    written.encode()
    assert written == text or any("\ud800" <= character <= "\udfff" for character in text)


def test_halves_of_a_character_are_joined() -> None:
    assert well_formed("\ud83c\udf89") == "🎉"
    assert well_formed("a\ud83cb") == "a\ufffdb"


def test_an_explanation_is_one_line() -> None:
    assert shorten(" <h1>Bad\n\n gateway</h1>\t ") == "<h1>Bad gateway</h1>"


def test_an_explanation_is_bounded() -> None:
    assert len(shorten("x" * 1_000_000)) == MAX_MESSAGE_CHARS
    assert shorten("x" * MAX_MESSAGE_CHARS) == "x" * MAX_MESSAGE_CHARS


def test_a_secret_is_not_repeated() -> None:
    assert shorten("bad key sk-very-secret!", secret="sk-very-secret") == "bad key ***!"


def test_a_secret_at_the_edge_is_not_repeated_in_part() -> None:
    assert "sk-ver" not in shorten("x" * (MAX_MESSAGE_CHARS - 7) + "sk-very-secret", secret="sk-very-secret")


def test_a_secret_too_short_to_be_one_does_not_eat_ordinary_words() -> None:
    assert shorten("a key", secret="k") == "a key"
