"""Keys and passwords have no place in a configuration, and no message repeats them."""

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from skills_runtime.config import Settings, snapshot
from skills_runtime.config.problems import Location, describe_invalid_fields
from skills_runtime.config.secrets import find_secret_problem, hide_secrets, is_key_shaped, is_secret_name
from skills_runtime.errors import ConfigError

if TYPE_CHECKING:
    from conftest import ConfigDirs

REMEDY = "put it into an environment variable and name that variable with `llm.api_key_env`"
KEYS = [
    "sk-abcdefghijklmnopqrst",
    "sk-proj-A1b2C3d4E5f6G7h8",
    "sk-12345678",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghijkl",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "-----BEGIN PRIVATE KEY-----",
    "redis://user:hunter2@localhost:6379/0",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_shaped_value_is_refused_anywhere_and_never_shown(config_dirs: "ConfigDirs", key: str) -> None:
    session: dict[str, Any] = {
        "prompt": {"system_text": key if "://" in key else f"use {key} please"},
        "skills": {"sources": [{"id": "a", "type": "redis", "options": {"deep": [{"x": key}]}}]},
        "safety": {"mode": key},
    }
    problems = config_dirs.problems(session=session)
    assert problems == [
        f"`{name}` of the session settings holds what looks like a key; {REMEDY}"
        for name in ("prompt.system_text", "skills.sources[0].options.deep[0].x", "safety.mode")
    ]


@pytest.mark.parametrize(
    "text",
    ["task-force-on-the-roof-terrace", "sk-learn", "risk-assessment-of-things", "https://example.com/a:b@c", "eyJ"],
)
def test_ordinary_text_is_not_taken_for_a_key(text: str) -> None:
    assert not is_key_shaped(text)
    assert hide_secrets(text) == text


def test_a_very_long_text_is_judged_without_delay() -> None:
    assert not is_key_shaped("eyJ" * 300_000)
    assert not is_key_shaped("eyJabcdef-" * 100_000)
    assert not is_key_shaped("sk-" * 2 + "x " * 300_000)


@pytest.mark.parametrize(
    "name",
    ["api_key", "apikey", "apiKey", "api-key", "token", "auth_token", "accessToken", "secret", "client_secret",
     "password", "authorization", "Authorization", "private_key"],
)  # fmt: skip
def test_a_name_that_promises_a_secret_is_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["api_key_env", "max_tokens", "token_budget", "key_prefix", "keyboard", "secretary"])
def test_a_name_that_only_sounds_like_a_secret_is_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("name", ["api_key", "apikey", "token", "secret", "password", "authorization"])
def test_an_inline_secret_is_refused_by_its_name(config_dirs: "ConfigDirs", name: str) -> None:
    path = config_dirs.write("kgent.yaml", f"llm:\n  {name}: correct-horse\n")
    assert config_dirs.problems() == [f"`llm.{name}` in `{path}` (line 2, column 3) holds a secret; {REMEDY}"]


def test_a_secret_in_the_options_of_a_source_is_refused(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "skills: {sources: [{id: a, type: redis, options: {password: 12345}}]}")
    assert config_dirs.problems()[0].startswith("`skills.sources[0].options.password` in ")


def test_an_empty_secret_is_only_an_unknown_key(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {api_key: ''}")
    assert config_dirs.problems()[0].endswith("is not a setting; did you mean `llm.api_key_env`?")


@pytest.mark.parametrize("value", ["sk-abcdefghijklmnopqrst", "not a name", "1ABC", "A-B", "AKIAIOSFODNN7EXAMPLE", ""])
def test_what_is_not_the_name_of_a_variable_is_refused_and_not_shown(config_dirs: "ConfigDirs", value: str) -> None:
    [problem] = config_dirs.problems(session={"llm": {"api_key_env": value}})
    assert problem == (
        "`llm.api_key_env` of the session settings is not the name of an environment variable; "
        "put the key into one and give only its name here"
    )


def test_every_option_that_names_a_variable_is_checked(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "skills: {sources: [{id: a, type: redis, options: {dsn_env: 'redis://h/0'}}]}")
    assert "options.dsn_env` in" in config_dirs.problems()[0]


def test_a_key_in_the_place_of_a_variables_name_is_refused_from_the_environment_too(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_LLM_API_KEY_ENV"] = "sk-abcdefghijklmnopqrst"
    [problem] = config_dirs.problems()
    assert problem.startswith("`llm.api_key_env` of the variable `SKILLS_RUNTIME_SDK_LLM_API_KEY_ENV` is not the name")
    assert "abcdef" not in problem


@pytest.mark.parametrize(
    "url",
    ["https://user:pass@example.com/v1", "https://user@example.com/v1", "https://example.com/v1?api_key=abc",
     "https://example.com/v1?key=abc"],
)  # fmt: skip
def test_credentials_in_the_base_url_are_refused_and_not_shown(config_dirs: "ConfigDirs", url: str) -> None:
    [problem] = config_dirs.problems(session={"llm": {"base_url": url}})
    assert problem.startswith("`llm.base_url` of the session settings ")
    assert problem.endswith(REMEDY)
    assert "example.com" not in problem


def test_an_unknown_key_that_is_itself_a_secret_is_not_shown(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "sk-abcdefghijklmnopqrst: 1")
    assert config_dirs.problems()[0].startswith("`<hidden>` in ")


def test_the_details_of_a_refusal_hold_no_secret_either(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {api_key: correct-horse}\nrun: {max_steps: sk-abcdefghijklmnopqrst}")
    with pytest.raises(ConfigError) as caught:
        config_dirs.resolve()
    everything = f"{caught.value!r}{caught.value.hint}{caught.value.details}"
    assert "correct-horse" not in everything
    assert "abcdefgh" not in everything


@pytest.mark.parametrize("key", KEYS)
def test_what_the_model_refuses_is_reported_without_the_key_in_it(key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"run": {"max_steps": key}})
    [problem] = describe_invalid_fields(caught.value, Location("here"))
    assert problem.message.startswith("`run.max_steps` here must be an integer, not '<hidden>")
    assert key not in problem.message


def test_a_snapshot_of_settings_that_hold_a_key_is_refused() -> None:
    settings = Settings.model_validate({"prompt": {"system_text": "use sk-abcdefghijklmnopqrst"}})
    with pytest.raises(ConfigError, match=r"`prompt\.system_text` of the settings holds what looks like a key"):
        snapshot(settings)


def test_a_value_without_a_name_is_judged_by_its_shape_alone() -> None:
    assert find_secret_problem((), "plain") == ""
    assert find_secret_problem((), KEYS[0]).startswith("holds what looks like a key")
