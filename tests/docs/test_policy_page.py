"""The rule files shown on the policy page load."""

from skills_runtime.safety.policy import load_rules
from tests.support import ROOT
from tests.support.checkouts import fences_of

PAGE = ROOT / "docs" / "how-to" / "policy.md"


def test_rule_files_on_the_page_load() -> None:
    rule_files = [fence for fence in fences_of(PAGE) if fence.info == "yaml" and fence.code.startswith("rules:")]
    assert rule_files
    assert all(load_rules(fence.code, origin=fence.location) for fence in rule_files)
