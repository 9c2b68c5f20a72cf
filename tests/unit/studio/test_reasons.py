"""What the gate says of a call is known in Chinese too, so that a person decides on words they understand."""

import re

from tests.support import ROOT

GATE = ROOT / "src/skills_runtime/safety"
RISK = re.compile(r'"(?:high|medium|low)", "([^"]{8,})"')
NO_RULE = re.compile(r'_no_rule\("([^"]+)"\)')


def test_every_reason_of_the_gate_is_translated() -> None:
    said = "\n".join(path.read_text() for path in GATE.rglob("*.py"))
    sentences = {*RISK.findall(said), *NO_RULE.findall(said)}
    assert len(sentences) > 70
    chinese = (ROOT / "studio/src/i18n/zh/reasons.ts").read_text()
    assert [sentence for sentence in sorted(sentences) if f'"{sentence}":' not in chinese] == []
