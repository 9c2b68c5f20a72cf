"""A project may tighten the gate and the fence, and never loosen what the user has."""

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from skills_runtime.config import Defaults, explain
from skills_runtime.config.merge import (
    PRESETS,
    TRUST_RULES,
    flatten,
    get_value,
    is_guarded,
    keep_current,
    nest_value,
    tighten,
)
from skills_runtime.config.models import Settings, iterate_keys

if TYPE_CHECKING:
    from conftest import ConfigDirs


def test_every_guarded_field_has_a_rule_and_every_rule_a_field() -> None:
    assert set(TRUST_RULES) == {key for key in iterate_keys(Settings) if is_guarded(key)}


def test_a_guarded_field_without_a_rule_belongs_to_the_user() -> None:
    assert tighten("safety.field_of_tomorrow", "mine", "theirs") == "mine"


def test_no_preset_is_looser_than_the_defaults() -> None:
    defaults = Settings().model_dump()
    for preset in PRESETS.values():
        for key, value in flatten(preset):
            if TRUST_RULES[key] is not keep_current:
                assert tighten(key, get_value(defaults, key), value) == value


@pytest.mark.parametrize(
    ("key", "user", "project", "result"),
    [
        ("safety.mode", "auto", "ask", "ask"),
        ("safety.mode", "auto", "deny", "deny"),
        ("safety.mode", "auto", "allow", "auto"),
        ("safety.mode", "ask", "auto", "ask"),
        ("safety.mode", "allow", "auto", "auto"),
        ("safety.mode", "ask", "deny", "deny"),
        ("safety.mode", "ask", "allow", "ask"),
        ("safety.mode", "deny", "ask", "deny"),
        ("safety.mode", "allow", "ask", "ask"),
        ("safety.allowlist", ["ls", "cat"], ["cat", "rm"], ("cat",)),
        ("safety.denylist", ["rm"], ["dd", "rm"], ("rm", "dd")),
        ("safety.tool_allowlist", ["a", "b"], ["b"], ("b",)),
        ("safety.tool_denylist", ["a"], [], ("a",)),
        ("safety.approval_timeout_ms", 1000, 500, 500),
        ("safety.approval_timeout_ms", 1000, 5000, 1000),
        ("sandbox.profile", "balanced", "prod", "prod"),
        ("sandbox.profile", "balanced", "dev", "balanced"),
        ("sandbox.default_policy", "none", "restricted", "restricted"),
        ("sandbox.default_policy", "restricted", "none", "restricted"),
        ("sandbox.os.mode", "none", "auto", "auto"),
        ("sandbox.os.mode", "auto", "none", "auto"),
        ("sandbox.os.mode", "auto", "bubblewrap", "bubblewrap"),
        ("sandbox.os.mode", "bubblewrap", "auto", "bubblewrap"),
        ("sandbox.os.mode", "bubblewrap", "seatbelt", "bubblewrap"),
        ("sandbox.os.seatbelt.profile", "(mine)", "(theirs)", "(mine)"),
        ("sandbox.os.bubblewrap.bwrap_path", "/usr/bin/bwrap", "./evil", "/usr/bin/bwrap"),
        ("sandbox.os.bubblewrap.unshare_net", False, True, True),
        ("sandbox.os.bubblewrap.unshare_net", True, False, True),
        ("sandbox.workspace", "shared", "isolated", "isolated"),
        ("service.host", "127.0.0.1", "0.0.0.0", "127.0.0.1"),
        ("service.port", 8000, 8080, 8080),
        ("service.allowed_hosts", ["a.test"], ["a.test", "*"], ("a.test",)),
        ("service.skill_service", "open", "closed", "closed"),
        ("service.skill_service", "closed", "open", "closed"),
        ("service.executions.keep_days", 30, 0.001, 30),
        ("service.executions.keep_bytes", None, 1, None),
        ("service.limits.concurrent", 16, 1000, 16),
        ("service.limits.concurrent", 16, 2, 2),
        ("sandbox.workspace", "isolated", "shared", "isolated"),
        ("sandbox.delete", "allow", "disabled", "disabled"),
        ("sandbox.delete", "disabled", "allow", "disabled"),
    ],
)
def test_a_project_gets_the_stricter_of_both(
    config_dirs: "ConfigDirs", key: str, user: Any, project: Any, result: Any
) -> None:
    config_dirs.write_user_file(yaml.safe_dump(nest_value(key, user)))
    config_dirs.write("kgent.yaml", yaml.safe_dump(nest_value(key, project)))
    assert get_value(config_dirs.resolve().settings.model_dump(), key) == result


def test_what_was_ignored_is_reported_and_stands_beside_the_field(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("config/runtime.yaml", "safety: {mode: allow}")
    resolved = config_dirs.resolve()
    notice = (
        f"`safety.mode: allow` in `{path}` was ignored: "
        "a project file may not loosen `auto` (yaml:embedded_default#safety.mode)"
    )
    assert resolved.notices == (notice,)
    assert [row.note for row in explain(resolved) if row.key == "safety.mode"] == [notice]
    assert [row.key for row in explain(resolved) if row.note] == ["safety.mode"]


def test_what_only_the_user_may_set_is_told_so(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "sandbox: {os: {bubblewrap: {bwrap_path: ./evil}}}")
    assert config_dirs.resolve().notices == (
        f"`sandbox.os.bubblewrap.bwrap_path: ./evil` in `{path}` was ignored: "
        "only the user's own configuration may set it",
    )


def test_tightening_is_not_reported(config_dirs: "ConfigDirs") -> None:
    config_dirs.write_user_file("safety: {denylist: [rm]}")
    config_dirs.write("kgent.yaml", "safety: {mode: deny, denylist: [dd]}\nsandbox: {delete: disabled}")
    assert config_dirs.resolve().notices == ()


def test_a_list_made_of_two_sources_names_both(config_dirs: "ConfigDirs") -> None:
    user = config_dirs.write_user_file("safety: {denylist: [rm]}")
    kgent = config_dirs.write("kgent.yaml", "safety: {denylist: [dd]}")
    source = config_dirs.resolve().sources["safety.denylist"]
    assert source == f"yaml:user:{user}#safety.denylist + yaml:overlay:{kgent}#safety.denylist"


def test_a_value_the_user_has_already_stays_the_users(config_dirs: "ConfigDirs") -> None:
    user = config_dirs.write_user_file("safety: {mode: deny}")
    config_dirs.write("kgent.yaml", "safety: {mode: deny}")
    assert config_dirs.resolve().sources["safety.mode"] == f"yaml:user:{user}#safety.mode"


def test_the_user_may_loosen_with_an_explicit_file(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("config/runtime.yaml", "safety: {mode: deny}")
    config_dirs.write("mine.yaml", "safety: {mode: allow}")
    assert config_dirs.resolve("mine.yaml").settings.safety.mode == "allow"


def test_the_user_may_loosen_for_a_session(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "sandbox: {delete: disabled}")
    assert config_dirs.resolve(session={"sandbox": {"delete": "allow"}}).settings.sandbox.delete == "allow"


def test_a_project_file_named_by_the_user_has_the_users_trust(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "safety: {mode: allow}")
    resolved = config_dirs.resolve("kgent.yaml")
    assert (resolved.settings.safety.mode, resolved.notices) == ("allow", ())


def test_a_file_listed_by_the_process_has_the_users_trust(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("listed.yaml", "safety: {mode: allow}")
    config_dirs.variables["SKILLS_RUNTIME_SDK_CONFIG_PATHS"] = "listed.yaml"
    assert config_dirs.resolve().settings.safety.mode == "allow"


def test_a_file_listed_by_a_dotenv_has_the_projects_trust(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("listed.yaml", "safety: {mode: allow, denylist: [rm]}")
    config_dirs.write(".env", "SKILLS_RUNTIME_SDK_CONFIG_PATHS=listed.yaml")
    safety = config_dirs.resolve().settings.safety
    assert (safety.mode, safety.denylist) == ("auto", ("rm",))


@pytest.mark.parametrize(("inside", "mode"), [("workspace", "auto"), ("home", "allow")])
def test_a_named_env_file_is_the_users_only_outside_the_workspace(
    config_dirs: "ConfigDirs", inside: str, mode: str
) -> None:
    listed = config_dirs.write("listed.yaml", "safety: {mode: allow}")
    env_file = config_dirs.root.parent / inside / "my.env"
    env_file.write_text(f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}", encoding="utf-8")
    config_dirs.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = str(env_file)
    assert config_dirs.resolve().settings.safety.mode == mode


def test_a_link_into_the_workspace_makes_no_env_file_the_users(config_dirs: "ConfigDirs") -> None:
    listed = config_dirs.write("listed.yaml", "safety: {mode: allow}")
    config_dirs.write("their.env", f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}")
    (config_dirs.home / "my.env").symlink_to(config_dirs.root / "their.env")
    config_dirs.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = "~/my.env"
    assert config_dirs.resolve().settings.safety.mode == "auto"


def test_a_link_inside_the_workspace_makes_no_env_file_the_users(config_dirs: "ConfigDirs") -> None:
    listed = config_dirs.write("listed.yaml", "safety: {mode: allow}")
    (config_dirs.home / "my.env").write_text(f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}", encoding="utf-8")
    (config_dirs.root / ".env").symlink_to(config_dirs.home / "my.env")
    config_dirs.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = ".env"
    assert config_dirs.resolve().settings.safety.mode == "auto"


def test_a_project_that_names_the_users_file_does_not_take_its_trust(config_dirs: "ConfigDirs") -> None:
    user = config_dirs.write_user_file("sandbox: {os: {seatbelt: {profile: (deny default)}}}")
    (config_dirs.root / "kgent.yaml").symlink_to(user)
    config_dirs.write(".env", f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={user}")
    resolved = config_dirs.resolve()
    assert resolved.settings.sandbox.os.seatbelt.profile == "(deny default)"
    assert resolved.overlay_paths == (user,)


def test_the_defaults_of_a_program_are_guarded_too(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "sandbox: {workspace: shared}")
    resolved = config_dirs.resolve(defaults=Defaults("program:kgent", {"sandbox": {"workspace": "isolated"}}))
    assert resolved.settings.sandbox.workspace == "isolated"


def test_other_fields_of_a_project_are_its_own_to_set(config_dirs: "ConfigDirs") -> None:
    config_dirs.write_user_file("run: {max_steps: 5}")
    config_dirs.write("kgent.yaml", "run: {max_steps: 500}")
    assert config_dirs.resolve().settings.run.max_steps == 500


def test_the_default_profile_leaves_the_defaults_alone(config_dirs: "ConfigDirs") -> None:
    resolved = config_dirs.resolve(session={"sandbox": {"profile": "dev"}})
    assert resolved.settings.sandbox.default_policy == "restricted"
    assert resolved.sources["sandbox.default_policy"] == "yaml:embedded_default#sandbox.default_policy"


@pytest.mark.parametrize("profile", ["balanced", "prod"])
def test_a_profile_fills_unset_values(config_dirs: "ConfigDirs", profile: str) -> None:
    config_dirs.write_user_file("sandbox: {os: {mode: bubblewrap}}")
    resolved = config_dirs.resolve(session={"sandbox": {"profile": profile}})
    assert resolved.sources["sandbox.default_policy"] == f"profile:{profile}#sandbox.default_policy"
    assert resolved.settings.sandbox.os.mode == "bubblewrap"


def test_the_profile_of_production_closes_the_system_configuration(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "sandbox: {profile: prod}")
    resolved = config_dirs.resolve()
    assert 'deny file-read* file-write* (subpath "/etc")' in resolved.settings.sandbox.os.seatbelt.profile
    assert resolved.sources["sandbox.os.seatbelt.profile"] == "profile:prod#sandbox.os.seatbelt.profile"


def test_a_field_only_the_project_chose_is_known_as_such(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(
        "config/runtime.yaml", "llm: {base_url: 'https://elsewhere.example/v1'}\nmodels: {planner: gpt-6.1-sol}\n"
    )

    assert config_dirs.resolve().by_project == {"llm.base_url", "llm.provider"}


def test_a_field_the_user_confirmed_is_not_the_projects(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("config/runtime.yaml", "llm: {base_url: 'https://elsewhere.example/v1'}\n")
    confirmed = {"llm": {"base_url": "https://elsewhere.example/v1"}}

    assert config_dirs.resolve(session=confirmed).by_project == frozenset()
