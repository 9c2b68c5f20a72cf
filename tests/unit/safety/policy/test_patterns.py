"""Which files a pattern means: no spelling leads out of what is allowed, or around what is denied."""

from typing import Any

import pytest

from skills_runtime.safety.policy import Rule
from tests.unit.safety.policy.calls import kind, touching

BASE: dict[str, Any] = {"root": "/home/user/ws", "home": "/home/user"}


def allowed(pattern: str, path: str) -> bool:
    return kind(touching(path), Rule(name="r", effect="allow", path=(pattern,)), **BASE) == "Allow"


def denied(pattern: str, path: str, **base: str) -> bool:
    return (
        kind(touching(path), Rule(name="r", effect="deny", path=(pattern,)), mode="allow", **(base or BASE)) == "Deny"
    )


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "src/a/b.py"),
        ("src/**", "./src//a.py"),
        ("src/", "src/a"),
        ("src", "src/a/b"),
        ("src", "x/src/a"),
        ("./src", "src/a"),
        ("*.py", "a/b/c.py"),
        ("src/*.py", "src/a.py"),
        ("src/**/test_*.py", "src/test_a.py"),
        ("src/**/test_*.py", "src/x/y/test_a.py"),
        ("**/build/**", "a/build/b"),
        ("**", "a"),
        ("a[0-9]", "a7"),
        ("src/**", "/home/user/ws/src/a"),
        ("/home/user/ws/src/**", "src/a"),
        ("/home/*/ws/src/**", "src/a"),
        ("~/notes/**", "/home/user/notes/a"),
        ("~/notes/**", "~/notes/a"),
        ("/tmp/**", "/tmp/x/y"),
        ("~/ws/src/**", "src/a"),
    ],
)
def test_what_a_pattern_means_is_allowed(pattern: str, path: str) -> None:
    assert allowed(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src"),
        ("src/**", "srcs/a"),
        ("src/**", "x/src/a"),
        ("./src", "x/src/a"),
        ("src/**", "src/../../x"),
        ("src/**", "src/a/../b"),
        ("**", "../x"),
        ("**", "a/../../x"),
        ("**", "/etc/passwd"),
        ("**", "~/x"),
        ("src/**", "/etc/src/a"),
        ("src/**", "/home/user/ws2/src/a"),
        ("src/**", "SRC/a"),
        ("src/*.py", "src/a/b.py"),
        ("/tmp/**", "tmp/x"),
        ("/tmp/**", "/tmp/../etc/x"),
        ("~/notes/**", "~other/notes/a"),
        ("**", "a\0b"),
        ("src/**", "."),
        ("src/**", ""),
    ],
)
def test_what_a_pattern_does_not_mean_is_not_allowed(pattern: str, path: str) -> None:
    assert not allowed(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("secrets/**", "secrets"),
        ("secrets/**", "secrets/a"),
        ("secrets/**", "x/../secrets/a"),
        ("secrets/**", "./secrets//a"),
        ("secrets/**", "/home/user/ws/secrets/a"),
        ("secrets/**", "../ws/secrets/a"),
        ("secrets/**", "/elsewhere/ws/secrets/a"),
        ("secrets/**", "~/ws/secrets/a"),
        ("secrets/**", "Secrets/A"),
        ("secrets/**", "se\u200bcrets/a"),
        ("secrets/**", "s*/a"),
        ("secrets/**", "secret[s]/a"),
        ("*.pem", "deep/down/key.PEM"),
        ("/etc/**", "/etc/passwd"),
        ("/etc/**", "../../../etc/passwd"),
        ("/home/**", "a"),
        ("~/.ssh/**", "/home/user/.ssh/id"),
        ("~/.ssh/**", "../.ssh/id"),
    ],
)
def test_no_spelling_leads_around_a_deny_rule(pattern: str, path: str) -> None:
    assert denied(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("secrets/**", "public/a"), ("secrets/**", "secrets2"), ("secrets/**", "/etc/secrets/a"), ("/etc/**", "etc/a")],
)
def test_a_deny_rule_is_not_about_other_files(pattern: str, path: str) -> None:
    assert not denied(pattern, path)


@pytest.mark.parametrize("path", ["/any/where/secrets/a", "~/secrets/a", "../secrets/a", "secrets/a"])
def test_without_a_known_workspace_everything_that_could_be_meant_is_denied(path: str) -> None:
    assert denied("secrets/**", path, root="")
    assert denied("~/secrets/**", path, root="")


def test_a_pattern_made_to_be_slow_is_not() -> None:
    assert not denied("/".join(["**", "a*"] * 30) + "/z", "/".join(["aaaa"] * 500))
