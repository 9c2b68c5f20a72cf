"""The hosts in the settings: what can be written, and what is refused before anything starts."""

from typing import TYPE_CHECKING

import pytest
import yaml

from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from conftest import ConfigDirs

GOOD = [
    "example.com", "*.example.com", "**.example.com", "example.com:8443", "example.com:80,8080", "example.com:*",
    "10.0.0.1", "[2001:db8::1]", "[2001:db8::1]:443", "bücher.example", "localhost:3000",
]  # fmt: skip
BAD = [
    "*", "**", "", " ", "http://example.com", "example.com/", "example.com:http", "user@example.com", "a b",
    "example.com\n", "exa*mple.com", "2001:db8::1", "example.com:", ":443", "a\x00b",
]  # fmt: skip


@pytest.mark.parametrize("rule", GOOD)
def test_a_host_is_taken_as_it_is_written(config_dirs: "ConfigDirs", rule: str) -> None:
    egress = config_dirs.resolve(session={"sandbox": {"egress": {"allow": [rule]}}}).settings.sandbox.egress
    assert egress.allow == (rule,)


@pytest.mark.parametrize("field", ["allow", "allow_private", "deny"])
@pytest.mark.parametrize("rule", BAD)
def test_what_is_no_host_is_refused_with_its_place(config_dirs: "ConfigDirs", field: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=rf"sandbox\.egress\.{field}"):
        config_dirs.resolve(session={"sandbox": {"egress": {field: [rule]}}})


@pytest.mark.parametrize(
    ("user", "project", "result"),
    [
        ({"allow": ["a.test", "b.test"]}, {"allow": ["b.test", "c.test"]}, ("b.test",)),
        ({"allow": ["a.test"]}, {"allow": []}, ()),
        ({"allow": []}, {"allow": ["c.test"]}, ()),
        ({"allow_private": ["a.test"]}, {"allow_private": ["c.test"]}, ()),
        ({"deny": ["a.test"]}, {"deny": ["c.test"]}, ("a.test", "c.test")),
        ({"deny": ["a.test"]}, {"deny": []}, ("a.test",)),
        ({"unknown": "deny"}, {"unknown": "ask"}, "deny"),
        ({"unknown": "ask"}, {"unknown": "deny"}, "deny"),
    ],
)
def test_a_project_may_only_tighten_the_network(
    config_dirs: "ConfigDirs", user: dict[str, object], project: dict[str, object], result: object
) -> None:
    config_dirs.write_user_file(yaml.safe_dump({"sandbox": {"egress": user}}))
    config_dirs.write("kgent.yaml", yaml.safe_dump({"sandbox": {"egress": project}}))
    (field,) = user
    assert getattr(config_dirs.resolve().settings.sandbox.egress, field) == result
