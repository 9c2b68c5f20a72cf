"""What a service is started with: options before variables, and nothing that makes no sense."""

from pathlib import Path

import pytest

from skills_runtime.errors import ConfigError
from skills_runtime.service.settings import Given, Listener, notices, parse_listen, settings_from
from skills_runtime.skills.bundled import bundled_skills


def test_without_anything_it_listens_on_this_machine_and_has_the_bundled_skills(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, tmp_path / "state", {})
    assert settings.listen == (Listener("127.0.0.1", 8000),)
    assert settings.skills_dir == bundled_skills()
    assert settings.artifacts_dir == tmp_path / "artifacts"
    assert settings.skill_service == "open"


def test_the_skills_of_the_workspace_come_before_the_bundled_ones(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    assert settings_from(tmp_path, tmp_path, {}).skills_dir == tmp_path / "skills"


def test_the_variables_of_the_skill_service_are_heard(tmp_path: Path) -> None:
    environ = {
        "SKILLS_DIR": str(tmp_path / "a"),
        "ARTIFACTS_DIR": str(tmp_path / "b"),
        "DEFAULT_TIMEOUT_MS": "2500",
        "DJANGO_ALLOWED_HOSTS": "Localhost, skills.example:8080,",
        "PORT": "8080",
    }
    settings = settings_from(tmp_path, tmp_path, environ)
    assert (settings.skills_dir, settings.artifacts_dir) == (tmp_path / "a", tmp_path / "b")
    assert settings.default_timeout_ms == 2500
    assert settings.allowed_hosts == ("localhost", "skills.example:8080")
    assert settings.listen == (Listener("127.0.0.1", 8080),)


def test_an_option_counts_before_a_variable(tmp_path: Path) -> None:
    given = Given(listen=("[::1]:9000", "0.0.0.0:9001"), skills_dir=tmp_path / "x")
    settings = settings_from(tmp_path, tmp_path, {"SKILLS_DIR": "/y", "PORT": "1"}, given)
    assert settings.listen == (Listener("::1", 9000), Listener("0.0.0.0", 9001))
    assert settings.skills_dir == tmp_path / "x"


def test_the_preset_of_the_skill_service_listens_on_8080(tmp_path: Path) -> None:
    assert settings_from(tmp_path, tmp_path, {}, Given(preset="skill-service")).listen == (Listener(port=8080),)


@pytest.mark.parametrize(
    "text", ["", "host:", "a:b", "1:2:3", "127.0.0.1:65536", "127.0.0.1:-1", "http://x:1", "x y:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_listen(text)


@pytest.mark.parametrize(
    "environ",
    [
        {"PORT": "http"},
        {"PORT": "70000"},
        {"DEFAULT_TIMEOUT_MS": "0"},
        {"DEFAULT_TIMEOUT_MS": "soon"},
        {"DEFAULT_TIMEOUT_MS": "9" * 5000},
        {"DJANGO_ALLOWED_HOSTS": "a b"},
    ],
)
def test_a_variable_that_makes_no_sense_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, environ)


def test_an_unknown_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, {}, Given(preset="gunicorn"))


def test_variables_without_effect_are_named() -> None:
    assert notices({"DJANGO_DEBUG": "1", "PATH": "x"}) == ("without effect here: DJANGO_DEBUG",)
    assert notices({}) == ()


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_this_machine_counts_as_loopback(host: str, is_local: bool) -> None:
    assert Listener(host, 1).is_loopback is is_local
