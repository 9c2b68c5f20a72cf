"""Numbers of examples for property tests: few by default, all with `TEST_PROFILE=thorough`."""

import os

THOROUGH = os.environ.get("TEST_PROFILE") == "thorough"
_QUICK_SHARE = 4
_LEAST = 5


def examples(count: int) -> int:
    """Return how many of the `count` thorough examples a test tries."""
    return count if THOROUGH else min(count, max(_LEAST, count // _QUICK_SHARE))
