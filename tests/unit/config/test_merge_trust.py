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
    from conftest import Place


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
def test_a_project_gets_the_stricter_of_both(place: "Place", key: str, user: Any, project: Any, result: Any) -> None:
    place.write_user_file(yaml.safe_dump(nest_value(key, user)))
    place.write("kgent.yaml", yaml.safe_dump(nest_value(key, project)))
    assert get_value(place.resolve().settings.model_dump(), key) == result


def test_what_was_ignored_is_reported_and_stands_beside_the_field(place: "Place") -> None:
    path = place.write("config/runtime.yaml", "safety: {mode: allow}")
    resolved = place.resolve()
    notice = (
        f"`safety.mode: allow` in `{path}` was ignored: "
        "a project file may not loosen `ask` (yaml:embedded_default#safety.mode)"
    )
    assert resolved.notices == (notice,)
    assert [row.note for row in explain(resolved) if row.key == "safety.mode"] == [notice]
    assert [row.key for row in explain(resolved) if row.note] == ["safety.mode"]


def test_what_only_the_user_may_set_is_told_so(place: "Place") -> None:
    path = place.write("kgent.yaml", "sandbox: {os: {bubblewrap: {bwrap_path: ./evil}}}")
    assert place.resolve().notices == (
        f"`sandbox.os.bubblewrap.bwrap_path: ./evil` in `{path}` was ignored: "
        "only the user's own configuration may set it",
    )


def test_tightening_is_not_reported(place: "Place") -> None:
    place.write_user_file("safety: {denylist: [rm]}")
    place.write("kgent.yaml", "safety: {mode: deny, denylist: [dd]}\nsandbox: {delete: disabled}")
    assert place.resolve().notices == ()


def test_a_list_made_of_two_sources_names_both(place: "Place") -> None:
    user = place.write_user_file("safety: {denylist: [rm]}")
    kgent = place.write("kgent.yaml", "safety: {denylist: [dd]}")
    source = place.resolve().sources["safety.denylist"]
    assert source == f"yaml:user:{user}#safety.denylist + yaml:overlay:{kgent}#safety.denylist"


def test_a_value_the_user_has_already_stays_the_users(place: "Place") -> None:
    user = place.write_user_file("safety: {mode: deny}")
    place.write("kgent.yaml", "safety: {mode: deny}")
    assert place.resolve().sources["safety.mode"] == f"yaml:user:{user}#safety.mode"


def test_the_user_may_loosen_with_an_explicit_file(place: "Place") -> None:
    place.write("config/runtime.yaml", "safety: {mode: deny}")
    place.write("mine.yaml", "safety: {mode: allow}")
    assert place.resolve("mine.yaml").settings.safety.mode == "allow"


def test_the_user_may_loosen_for_a_session(place: "Place") -> None:
    place.write("kgent.yaml", "sandbox: {delete: disabled}")
    assert place.resolve(session={"sandbox": {"delete": "allow"}}).settings.sandbox.delete == "allow"


def test_a_project_file_named_by_the_user_has_the_users_trust(place: "Place") -> None:
    place.write("kgent.yaml", "safety: {mode: allow}")
    resolved = place.resolve("kgent.yaml")
    assert (resolved.settings.safety.mode, resolved.notices) == ("allow", ())


def test_a_file_listed_by_the_process_has_the_users_trust(place: "Place") -> None:
    place.write("listed.yaml", "safety: {mode: allow}")
    place.variables["SKILLS_RUNTIME_SDK_CONFIG_PATHS"] = "listed.yaml"
    assert place.resolve().settings.safety.mode == "allow"


def test_a_file_listed_by_a_dotenv_has_the_projects_trust(place: "Place") -> None:
    place.write("listed.yaml", "safety: {mode: allow, denylist: [rm]}")
    place.write(".env", "SKILLS_RUNTIME_SDK_CONFIG_PATHS=listed.yaml")
    safety = place.resolve().settings.safety
    assert (safety.mode, safety.denylist) == ("ask", ("rm",))


@pytest.mark.parametrize(("inside", "mode"), [("workspace", "ask"), ("home", "allow")])
def test_a_named_env_file_is_the_users_only_outside_the_workspace(place: "Place", inside: str, mode: str) -> None:
    listed = place.write("listed.yaml", "safety: {mode: allow}")
    env_file = place.root.parent / inside / "my.env"
    env_file.write_text(f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}", encoding="utf-8")
    place.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = str(env_file)
    assert place.resolve().settings.safety.mode == mode


def test_a_link_into_the_workspace_makes_no_env_file_the_users(place: "Place") -> None:
    listed = place.write("listed.yaml", "safety: {mode: allow}")
    place.write("their.env", f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}")
    (place.home / "my.env").symlink_to(place.root / "their.env")
    place.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = "~/my.env"
    assert place.resolve().settings.safety.mode == "ask"


def test_a_link_inside_the_workspace_makes_no_env_file_the_users(place: "Place") -> None:
    listed = place.write("listed.yaml", "safety: {mode: allow}")
    (place.home / "my.env").write_text(f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={listed}", encoding="utf-8")
    (place.root / ".env").symlink_to(place.home / "my.env")
    place.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = ".env"
    assert place.resolve().settings.safety.mode == "ask"


def test_a_project_that_names_the_users_file_does_not_take_its_trust(place: "Place") -> None:
    user = place.write_user_file("sandbox: {os: {seatbelt: {profile: (deny default)}}}")
    (place.root / "kgent.yaml").symlink_to(user)
    place.write(".env", f"SKILLS_RUNTIME_SDK_CONFIG_PATHS={user}")
    resolved = place.resolve()
    assert resolved.settings.sandbox.os.seatbelt.profile == "(deny default)"
    assert resolved.overlay_paths == (user,)


def test_the_defaults_of_a_program_are_guarded_too(place: "Place") -> None:
    place.write("kgent.yaml", "sandbox: {workspace: shared}")
    resolved = place.resolve(defaults=Defaults("program:kgent", {"sandbox": {"workspace": "isolated"}}))
    assert resolved.settings.sandbox.workspace == "isolated"


def test_other_fields_of_a_project_are_its_own_to_set(place: "Place") -> None:
    place.write_user_file("run: {max_steps: 5}")
    place.write("kgent.yaml", "run: {max_steps: 500}")
    assert place.resolve().settings.run.max_steps == 500


def test_the_default_profile_leaves_the_defaults_alone(place: "Place") -> None:
    resolved = place.resolve(session={"sandbox": {"profile": "dev"}})
    assert resolved.settings.sandbox.default_policy == "restricted"
    assert resolved.sources["sandbox.default_policy"] == "yaml:embedded_default#sandbox.default_policy"


@pytest.mark.parametrize("profile", ["balanced", "prod"])
def test_a_profile_fills_unset_values(place: "Place", profile: str) -> None:
    place.write_user_file("sandbox: {os: {mode: bubblewrap}}")
    resolved = place.resolve(session={"sandbox": {"profile": profile}})
    assert resolved.sources["sandbox.default_policy"] == f"profile:{profile}#sandbox.default_policy"
    assert resolved.settings.sandbox.os.mode == "bubblewrap"


def test_the_profile_of_production_closes_the_system_configuration(place: "Place") -> None:
    place.write("kgent.yaml", "sandbox: {profile: prod}")
    resolved = place.resolve()
    assert 'deny file-read* file-write* (subpath "/etc")' in resolved.settings.sandbox.os.seatbelt.profile
    assert resolved.sources["sandbox.os.seatbelt.profile"] == "profile:prod#sandbox.os.seatbelt.profile"


def test_a_field_only_the_project_chose_is_known_as_such(place: "Place") -> None:
    place.write("config/runtime.yaml", "llm: {base_url: 'https://elsewhere.example/v1'}\nmodels: {planner: gpt-4}\n")

    assert place.resolve().by_project == {"llm.base_url"}


def test_a_field_the_user_confirmed_is_not_the_projects(place: "Place") -> None:
    place.write("config/runtime.yaml", "llm: {base_url: 'https://elsewhere.example/v1'}\n")
    confirmed = {"llm": {"base_url": "https://elsewhere.example/v1"}}

    assert place.resolve(session=confirmed).by_project == frozenset()
