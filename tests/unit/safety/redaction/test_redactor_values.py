"""Which values of an environment are secrets."""

import pytest

from skills_runtime.safety.redaction import find_secrets


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SMTP_PASS",
     "AZURE_PAT", "token", "clientSecret"],
)  # fmt: skip
def test_a_variable_whose_name_says_so_holds_a_secret(name: str) -> None:
    assert find_secrets({name: "abc123def", "HOME": "/home/user"}) == {"abc123def"}


def test_a_variable_that_is_named_holds_a_secret() -> None:
    environment = {"MY_MODEL_ACCESS": "abc123def", "OTHER": "xyz789uvw"}
    assert find_secrets(environment, ["MY_MODEL_ACCESS", "NOT_SET"]) == {"abc123def"}


@pytest.mark.parametrize(
    "value",
    ["", "  ", "abc", "true", "False", "8080", "none", "/run/secrets/token", "~/.config/key.json", "./token",
     "C:\\keys\\a.pem", "/data/key.json", "password"],
)  # fmt: skip
def test_what_is_obviously_no_secret_is_left_alone(value: str) -> None:
    assert find_secrets({"API_TOKEN": value}, ["API_TOKEN"]) == frozenset()


@pytest.mark.parametrize("value", ["/abcDEF123+/ghi", "a/b/c/d1", "12345678", "correct horse battery staple"])
def test_a_secret_may_look_a_little_like_something_else(value: str) -> None:
    assert find_secrets({"API_TOKEN": value}) == {value}


def test_the_password_of_a_url_is_a_secret_in_any_variable() -> None:
    environment = {"DATABASE_URL": "postgres://app:hunter%212@db/app", "PROXY": "http://proxy:3128"}
    assert find_secrets(environment) == {"hunter%212", "hunter!2"}


def test_a_url_that_is_named_is_a_secret_itself_too() -> None:
    assert find_secrets({"DSN": "redis://:hunter22@h"}, ["DSN"]) == {"redis://:hunter22@h", "hunter22"}


def test_a_value_that_is_no_url_after_all_is_no_problem() -> None:
    assert find_secrets({"X": "http://[a:b@c"}) == frozenset()


def test_a_harmless_environment_has_no_secrets() -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "MAX_TOKENS": "4096abcd",
        "KEYBOARD": "us-intl",
        "PWD": "/tmp/x",
    }
    assert find_secrets(environment) == frozenset()
