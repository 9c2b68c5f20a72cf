"""What a service is started with: options before variables before files, and nothing that makes no sense."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from skills_runtime.config.models import ServiceLimits, ServiceSection
from skills_runtime.errors import ConfigError
from skills_runtime.service.settings import Limits, Listener, ServiceOptions, notices, parse_listen, settings_from


def test_without_anything_it_listens_on_this_machine_and_serves_the_library(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, tmp_path / "state", {})
    assert settings.listen == (Listener("127.0.0.1", 8000),)
    assert settings.skills_dir is None
    assert settings.artifacts_dir == tmp_path / "artifacts"
    assert settings.skill_service == "user"


def test_only_the_preset_of_the_skill_service_takes_the_directory_skills_by_itself(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    assert settings_from(tmp_path, tmp_path, {}).skills_dir is None
    preset = ServiceOptions(preset="skill-service")
    assert settings_from(tmp_path, tmp_path, {}, preset).skills_dir == tmp_path / "skills"
    assert settings_from(tmp_path, tmp_path, {"SKILLS_DIR": "/other"}, preset).skills_dir == Path("/other")


def test_the_variables_of_the_skill_service_are_used(tmp_path: Path) -> None:
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


def test_an_option_takes_precedence_over_a_variable(tmp_path: Path) -> None:
    given = ServiceOptions(listen=("[::1]:9000", "0.0.0.0:9001"), skills_dir=tmp_path / "x")
    settings = settings_from(tmp_path, tmp_path, {"SKILLS_DIR": "/y", "PORT": "1"}, given)
    assert settings.listen == (Listener("::1", 9000), Listener("0.0.0.0", 9001))
    assert settings.skills_dir == tmp_path / "x"


@pytest.mark.parametrize(
    ("host", "port", "environ", "preset", "listener"),
    [
        ("0.0.0.0", 9000, {}, None, Listener("0.0.0.0", 9000)),
        ("::1", 9000, {}, None, Listener("::1", 9000)),
        (None, 9000, {"PORT": "1"}, None, Listener("127.0.0.1", 9000)),
        ("localhost", None, {"PORT": "81"}, None, Listener("localhost", 81)),
        ("localhost", None, {}, "skill-service", Listener("localhost", 8080)),
    ],
)
def test_host_and_port_take_precedence_and_what_is_missing_is_as_configured(
    tmp_path: Path, host: str | None, port: int | None, environ: dict[str, str], preset: str | None, listener: Listener
) -> None:
    options = ServiceOptions(host=host, port=port, preset=preset)
    assert settings_from(tmp_path, tmp_path, environ, options).listen == (listener,)


@pytest.mark.parametrize("host", ["", "a b", "http://x", "x:y"])
def test_a_host_that_is_none_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, {}, ServiceOptions(host=host, port=9000))


def test_the_preset_of_the_skill_service_listens_on_8080(tmp_path: Path) -> None:
    assert settings_from(tmp_path, tmp_path, {}, ServiceOptions(preset="skill-service")).listen == (
        Listener(port=8080),
    )


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
def test_a_variable_that_is_invalid_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, environ)


def test_an_unknown_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, {}, ServiceOptions(preset="gunicorn"))


def test_variables_without_effect_are_named() -> None:
    assert notices({"DJANGO_DEBUG": "1", "PATH": "x"}) == ("environment variables without effect: DJANGO_DEBUG",)
    assert notices({}) == ()


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_only_this_machine_counts_as_loopback(host: str, is_local: bool) -> None:
    assert Listener(host, 1).is_loopback is is_local


CONFIGURED = ServiceSection(
    host="::1",
    port=9000,
    allowed_hosts=("configured.example",),
    skill_service="closed",
    skills_dir=Path("/configured/skills"),
    artifacts_dir=Path("/configured/artifacts"),
    default_timeout_ms=1234,
    max_timeout_ms=2000,
    grace_seconds=3.0,
    limits=ServiceLimits(concurrent=2, waiting=3, body_bytes=4096, requests_per_second=5.0, burst=6),
)


def test_what_is_configured_holds_by_default(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, tmp_path, {}, configured=CONFIGURED)
    assert settings.listen == (Listener("::1", 9000),)
    assert (settings.allowed_hosts, settings.skill_service) == (("configured.example",), "closed")
    assert (settings.skills_dir, settings.artifacts_dir) == (CONFIGURED.skills_dir, CONFIGURED.artifacts_dir)
    assert (settings.default_timeout_ms, settings.max_timeout_ms, settings.grace_seconds) == (1234, 2000, 3.0)
    limits = settings.limits
    assert (limits.concurrent, limits.waiting, limits.body_bytes, limits.burst) == (2, 3, 4096, 6)


def test_a_variable_takes_precedence_over_what_is_configured(tmp_path: Path) -> None:
    environ = {
        "SKILLS_DIR": "/v/skills",
        "ARTIFACTS_DIR": "/v/artifacts",
        "DEFAULT_TIMEOUT_MS": "1500",
        "PORT": "8080",
        "DJANGO_ALLOWED_HOSTS": "variable.example",
    }
    settings = settings_from(tmp_path, tmp_path, environ, configured=CONFIGURED)
    assert (settings.skills_dir, settings.artifacts_dir) == (Path("/v/skills"), Path("/v/artifacts"))
    assert (settings.default_timeout_ms, settings.listen) == (1500, (Listener("::1", 8080),))
    assert settings.allowed_hosts == ("variable.example", "configured.example")


def test_an_option_takes_precedence_over_what_is_configured(tmp_path: Path) -> None:
    given = ServiceOptions(listen=("127.0.0.1:1",), skill_service="open", concurrent=7, requests_per_second=100.0)
    settings = settings_from(tmp_path, tmp_path, {}, given, CONFIGURED)
    assert (settings.listen, settings.skill_service) == ((Listener("127.0.0.1", 1),), "open")
    limits = settings.limits
    assert (limits.concurrent, limits.waiting, limits.requests_per_second, limits.burst) == (7, 3, 100.0, 400)


def test_a_preset_is_a_port_of_the_configured_address(tmp_path: Path) -> None:
    settings = settings_from(tmp_path, tmp_path, {}, ServiceOptions(preset="skill-service"), CONFIGURED)
    assert settings.listen == (Listener("::1", 8080),)


def test_the_usual_time_is_never_longer_than_the_longest(tmp_path: Path) -> None:
    configured = ServiceSection(default_timeout_ms=10_000, max_timeout_ms=500)
    assert settings_from(tmp_path, tmp_path, {}, configured=configured).default_timeout_ms == 500
    with pytest.raises(ConfigError):
        settings_from(tmp_path, tmp_path, {"DEFAULT_TIMEOUT_MS": "501"}, configured=configured)


def test_the_limits_of_a_service_are_those_that_can_be_configured(tmp_path: Path) -> None:
    assert settings_from(tmp_path, tmp_path, {}).limits == Limits()
    assert set(Limits.__struct_fields__) == set(ServiceLimits.model_fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"host": ""},
        {"host": "a b"},
        {"host": "http://x"},
        {"port": -1},
        {"port": 65_536},
        {"port": "8080"},
        {"allowed_hosts": ["a b"]},
        {"skill_service": "ajar"},
        {"default_timeout_ms": 0},
        {"max_timeout_ms": 10**15},
        {"limits": {"concurrent": 0}},
        {"limits": {"requests_per_second": 0.0}},
        {"limits": {"body_bytes": 1}},
        {"unknown": 1},
    ],
)
def test_what_is_configured_must_make_sense(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ServiceSection.model_validate(fields)
