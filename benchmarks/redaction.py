"""Measure the CPU time of redaction with 20 secrets: lines with and without a secret, a stream, and 10 MB."""

import json
import random
import string
import time
from collections.abc import Callable

from benchmarks.measure import Number, report
from skills_runtime.safety.redaction import Redactor

SECRETS = 20
LINES = 200
# The best round counts: other work on the machine only makes rounds slower.
ROUNDS = 40
TEXT = """the quick brown fox jumps over the lazy dog; error 127: src/main.py:12 def test(): return None
\tsee http://localhost:8080/x (sha256:9f86d081884c7d65) 中文文字, "token" and 'password' at 100% of C:\\new\\"""


def line_of(chance: random.Random, secret: str = "") -> bytes:
    """Build one payload of 1 KB, like a tool result."""
    words = TEXT.split(" ") * 8
    chance.shuffle(words)
    document = {
        "call_id": "call_01",
        "tool": "exec",
        "result": {"ok": True, "stdout": f"{secret} {' '.join(words)}"[:850]},
    }
    return json.dumps(document, ensure_ascii=False).encode()


def best(times: int, work: Callable[[], object]) -> float:
    """Return the CPU seconds per piece of work in the best round."""
    work()
    rounds: list[float] = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        rounds.append(time.process_time() - begun)
    return min(rounds) / times


def main() -> None:
    chance = random.Random(1)
    secrets = ["".join(chance.choices(string.ascii_letters + string.digits, k=40)) for _ in range(SECRETS)]
    begun = time.process_time()
    redactor = Redactor(secrets)
    made = time.process_time() - begun
    clean = [line_of(chance) for _ in range(LINES)]
    dirty = [line_of(chance, secret=chance.choice(secrets)) for _ in range(LINES)]
    large = b"".join(clean).decode(errors="replace") * (10_000_000 // (1024 * LINES))
    pieces = [large[offset : offset + 6] for offset in range(0, 6000, 6)]
    stream = redactor.stream()

    assert all(redactor.line(line) is line for line in clean)
    assert not any(secret.encode() in redactor.line(line) for line in dirty for secret in secrets)
    numbers = [
        ("a line of 1 KB with nothing secret", best(LINES, lambda: [*map(redactor.line, clean)]) * 1e6, "us", 3),
        ("a line of 1 KB with a secret", best(LINES, lambda: [*map(redactor.line, dirty)]) * 1e6, "us", 200),
        ("one piece of a stream", best(len(pieces), lambda: [*map(stream.feed, pieces)]) * 1e6, "us", 100),
        ("10 MB of text", best(1, lambda: redactor.text(large)) * 1e3, "ms", 100),
        ("making a redactor", made * 1e3, "ms", 100),
    ]
    report(*(Number(f"redaction: {what}", value, unit, bound, "at most") for what, value, unit, bound in numbers))


if __name__ == "__main__":
    main()
