"""RE2, which takes one pass over a text whatever the expression: loaded when the first redactor is made."""

from typing import Any, cast

_MEMORY = 32 << 20
_MEMORY_PER_CHARACTER = 256


def expression(text: str) -> Any:
    """A compiled expression for bytes that finds the leftmost, longest match."""
    import re2

    return cast("Any", re2).compile(text.encode(), _options(text))


def expressions(texts: list[str]) -> Any:
    """A set of expressions, whose `Match` tells in one pass which of them match somewhere."""
    import re2

    engine = cast("Any", re2)
    found = engine.Set.SearchSet(_options("".join(texts)))
    for text in texts:
        found.Add(text.encode())
    found.Compile()
    return found


def _options(text: str) -> Any:
    import re2

    options = cast("Any", re2).Options()
    options.encoding = options.Encoding.LATIN1
    options.longest_match = True
    options.log_errors = False
    # What is not used is not taken; what runs out makes a search slow, and a set blind.
    options.max_mem = max(_MEMORY, _MEMORY_PER_CHARACTER * len(text))
    return options
