"""Finds real secrets that somebody left in a skill; placeholders and samples of documentation are not meant."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from skills_runtime.skills.security.marks import Mark, mark
from skills_runtime.skills.security.text import Text

_KEYS = re.compile(
    r"\b(?:AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}"
    r"|gho_[A-Za-z0-9]{36}|sk-ant-api\d\d-[\w-]{60,}|sk-proj-[\w-]{40,}"
    r"|sk_live_[A-Za-z0-9]{20,}|xox[bp]-\d{9,}-\d{9,}-[A-Za-z0-9]{20,}"
    r"|AIza[\w-]{35}|glpat-[\w-]{20}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z]{34}"
    r"|SG\.[\w-]{22}\.[\w-]{43}|\d{8,10}:AA[\w-]{33})"
)
_SAMPLE = re.compile(
    (
        r"EXAMPLE|XXXX|xxxx|1234|abcd|your|placeholder|dummy|fake|test|sample"
        r"|0000|redact|\.\.\.|\*\*\*"
    ),
    re.I,
)
_PRIVATE = re.compile(r"-----BEGIN (?:RSA |EC |OPENSSH |DSA )?PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]{200,})")


def leaked_marks(text: Text) -> Iterator[Mark]:
    """What looks like a secret that works."""
    for match in _KEYS.finditer(text.body):
        if not _SAMPLE.search(match[0]) and _entropy(match[0]) > 3.3:
            yield mark("D008", match.start(), match.end(), shown=f"{match[0][:8]}… ({len(match[0])} characters)")
    for match in _PRIVATE.finditer(text.body):
        if _entropy(match[1][:200]) > 4.5:
            yield mark("D008", match.start(), match.start() + 30, shown="a private key")


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
