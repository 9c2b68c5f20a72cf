"""How many examples property tests try: few by default, all of them with `TEST_PROFILE=thorough`."""

import os

THOROUGH = os.environ.get("TEST_PROFILE") == "thorough"
_QUICK_SHARE = 4
_LEAST = 5


def examples(count: int) -> int:
    """The number of examples of a test that tries `count` of them when it is thorough."""
    return count if THOROUGH else min(count, max(_LEAST, count // _QUICK_SHARE))
