"""The rule files shown on the policy page load."""

from skills_runtime.safety.policy import load_rules
from tests.support import ROOT
from tests.support.checkouts import fences_of

PAGE = ROOT / "docs" / "how-to" / "policy.md"


def test_the_rule_files_of_the_page_can_be_loaded() -> None:
    shown = [fence for fence in fences_of(PAGE) if fence.info == "yaml" and fence.code.startswith("rules:")]
    assert shown
    assert all(load_rules(fence.code, origin=fence.location) for fence in shown)
