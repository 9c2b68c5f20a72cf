"""Marks what is known to be open: the test runs, must fail for now, and says so as soon as it no longer does."""

import pytest


def known_gap(reason: str) -> pytest.MarkDecorator:
    """A defect that is reported and not repaired yet; who repairs it takes the mark away."""
    return pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)
