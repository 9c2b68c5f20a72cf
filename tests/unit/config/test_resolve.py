"""Which places settings come from, and which of them wins."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skills_runtime.config import Defaults, explain
from skills_runtime.config.environment import VARIABLES
from skills_runtime.config.merge import OPAQUE_FIELDS, flatten
from skills_runtime.config.models import Settings, find_section, iterate_keys
from skills_runtime.errors import ConfigError, NotFound, ValidationFailed

if TYPE_CHECKING:
    from conftest import ConfigDirs


def steps(count: int) -> str:
    return f"run: {{max_steps: {count}}}"


def test_an_empty_workspace_gets_the_embedded_defaults(config_dirs: "ConfigDirs") -> None:
    resolved = config_dirs.resolve()
    assert resolved.settings.run.max_steps == 40
    assert resolved.sources["run.max_steps"] == "yaml:embedded_default#run.max_steps"
    assert resolved.overlay_paths == ()
    assert resolved.env_file is None
    assert resolved.workspace_root == config_dirs.root


def test_every_field_has_exactly_one_source(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", steps(7))
    assert list(config_dirs.resolve().sources) == list(iterate_keys(Settings))


def test_the_defaults_of_a_program_stand_just_above_the_embedded_ones(config_dirs: "ConfigDirs") -> None:
    kgent = Defaults("program:kgent", {"sandbox": {"workspace": "isolated"}, "run": {"max_steps": 2}})
    config_dirs.write_user_file(steps(3))
    resolved = config_dirs.resolve(defaults=kgent)
    assert resolved.settings.sandbox.workspace == "isolated"
    assert resolved.sources["sandbox.workspace"] == "program:kgent#sandbox.workspace"
    assert resolved.settings.run.max_steps == 3


def test_the_layers_win_in_their_order(config_dirs: "ConfigDirs") -> None:
    user = config_dirs.write_user_file(steps(1))
    runtime = config_dirs.write("config/runtime.yaml", steps(2))
    kgent = config_dirs.write("kgent.yaml", steps(3))
    listed = config_dirs.write("listed.yaml", steps(4))
    named = config_dirs.write("named.yaml", steps(5))
    seen: list[tuple[int, str]] = []

    def look(**session: dict[str, int]) -> None:
        resolved = config_dirs.resolve(*([named] if named.exists() else []), session=session or None)
        seen.append((resolved.settings.run.max_steps, resolved.sources["run.max_steps"]))

    config_dirs.variables["SKILLS_RUNTIME_SDK_CONFIG_PATHS"] = "listed.yaml"
    look(run={"max_steps": 6})
    look()
    named.unlink()
    look()
    config_dirs.variables.clear()
    look()
    kgent.unlink()
    look()
    runtime.unlink()
    look()
    assert seen == [
        (6, "session_settings:run.max_steps"),
        (5, f"yaml:overlay:{named}#run.max_steps"),
        (4, f"yaml:overlay:{listed}#run.max_steps"),
        (3, f"yaml:overlay:{kgent}#run.max_steps"),
        (2, f"yaml:overlay:{runtime}#run.max_steps"),
        (1, f"yaml:user:{user}#run.max_steps"),
    ]


def test_the_user_file_is_looked_for_where_xdg_says(config_dirs: "ConfigDirs", tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere/skills_runtime/config.yaml"
    moved.parent.mkdir(parents=True)
    moved.write_text(steps(9), encoding="utf-8")
    config_dirs.variables["XDG_CONFIG_HOME"] = str(tmp_path / "elsewhere")
    assert config_dirs.resolve().sources["run.max_steps"] == f"yaml:user:{moved}#run.max_steps"


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_beats_every_file(config_dirs: "ConfigDirs", name: str) -> None:
    value = {"llm.backend": "fake", "llm.base_url": "http://localhost:1/v1"}.get(VARIABLES[name], "SOME_NAME")
    config_dirs.write("named.yaml", "models: {planner: a, executor: a}\nllm: {base_url: 'http://a/', api_key_env: A}")
    config_dirs.variables[name] = value
    resolved = config_dirs.resolve("named.yaml")
    assert resolved.sources[VARIABLES[name]] == f"env:{name}"
    assert value in [row.value for row in explain(resolved) if row.key == VARIABLES[name]]


def test_session_settings_beat_a_variable(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_EXECUTOR_MODEL"] = "from-env"
    resolved = config_dirs.resolve(session={"models": {"executor": "from-session"}})
    assert resolved.run_config.executor_model == "from-session"
    assert resolved.run_config.sources["models.executor"] == "session_settings:models.executor"


def test_a_base_url_of_an_explicit_file_is_the_one_that_is_used(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {base_url: 'https://one.example/v1'}")
    config_dirs.write("mine.yaml", "llm: {base_url: 'https://two.example/v1'}")
    assert config_dirs.resolve("mine.yaml").run_config.base_url == "https://two.example/v1"


def test_an_empty_variable_sets_nothing(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_PLANNER_MODEL"] = ""
    assert config_dirs.resolve().settings.models.planner == "gpt-6.1-sol"


def test_config_paths_may_be_separated_by_commas_and_semicolons(config_dirs: "ConfigDirs") -> None:
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        config_dirs.write(name, "{}")
    config_dirs.variables["SKILLS_RUNTIME_SDK_CONFIG_PATHS"] = "a.yaml, b.yaml;;c.yaml,"
    assert [path.name for path in config_dirs.resolve().overlay_paths] == ["a.yaml", "b.yaml", "c.yaml"]


def test_a_file_named_by_config_paths_must_exist(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_CONFIG_PATHS"] = "absent.yaml"
    with pytest.raises(NotFound, match=r"absent\.yaml` does not exist"):
        config_dirs.resolve()


def test_an_explicit_file_must_exist(config_dirs: "ConfigDirs") -> None:
    with pytest.raises(NotFound, match=r"absent\.yaml` does not exist"):
        config_dirs.resolve("absent.yaml")


def test_a_discovered_link_to_nothing_is_refused(config_dirs: "ConfigDirs") -> None:
    (config_dirs.root / "kgent.yaml").symlink_to("gone.yaml")
    with pytest.raises(NotFound, match=r"gone\.yaml` does not exist"):
        config_dirs.resolve()


def test_the_same_file_counts_once_at_its_latest_position(config_dirs: "ConfigDirs") -> None:
    runtime = config_dirs.write("config/runtime.yaml", steps(1))
    kgent = config_dirs.write("kgent.yaml", steps(2))
    (config_dirs.root / "link.yaml").symlink_to(runtime)
    resolved = config_dirs.resolve("link.yaml")
    assert resolved.overlay_paths == (kgent, runtime)
    assert resolved.settings.run.max_steps == 1


def test_a_tilde_in_a_path_is_the_home_directory(config_dirs: "ConfigDirs") -> None:
    (config_dirs.home / "mine.yaml").write_text(steps(8), encoding="utf-8")
    assert config_dirs.resolve("~/mine.yaml").settings.run.max_steps == 8


def test_a_section_with_nothing_in_it_sets_nothing(config_dirs: "ConfigDirs") -> None:
    before = config_dirs.resolve().settings
    config_dirs.write("kgent.yaml", "run:\nsafety:\n")
    assert config_dirs.resolve().settings == before
    assert config_dirs.resolve().sources["run.max_steps"] == "yaml:embedded_default#run.max_steps"


def test_an_empty_file_sets_nothing(config_dirs: "ConfigDirs") -> None:
    kgent = config_dirs.write("kgent.yaml", "# nothing yet\n")
    assert config_dirs.resolve().overlay_paths == (kgent,)


def test_a_relative_path_starts_at_the_file_that_set_it(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(
        "config/runtime.yaml", "llm: {fake: {script: ../scripts/a.json}}\nprompt: {system_path: system.md}"
    )
    settings = config_dirs.resolve().settings
    assert settings.llm.fake.script == config_dirs.root / "scripts/a.json"
    assert settings.prompt.system_path == config_dirs.root / "config/system.md"


def test_a_relative_path_of_the_session_starts_at_the_workspace(config_dirs: "ConfigDirs") -> None:
    settings = config_dirs.resolve(session={"llm": {"replay": {"run": Path("runs/one")}}}).settings
    assert settings.llm.replay.run == config_dirs.root / "runs/one"


def test_a_default_path_starts_at_the_workspace(config_dirs: "ConfigDirs") -> None:
    assert config_dirs.resolve().settings.skills.bundles.cache_dir == config_dirs.root / ".skills_runtime_sdk/bundles"


def test_an_absolute_path_and_one_of_the_home_directory_are_kept(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("mine.yaml", "llm: {fake: {script: /a/b.json}, replay: {run: ~/runs/one}}")
    settings = config_dirs.resolve("mine.yaml").settings
    assert (str(settings.llm.fake.script), settings.llm.replay.run) == ("/a/b.json", config_dirs.home / "runs/one")


@pytest.mark.parametrize(
    "text",
    ["prompt: {system_path: /etc/hostname}", "prompt: {developer_path: ~/notes.md}", "llm: {fake: {script: ../a.yaml}}",
     "llm: {replay: {run: ../other}}", "prompt: {system_path: out/notes.md}", "skills: {bundles: {cache_dir: /tmp/x}}",
     "skills: {sources: [{id: f, type: filesystem, options: {root: ~/skills}}]}"],
)  # fmt: skip
def test_a_path_of_a_project_stays_in_its_workspace(config_dirs: "ConfigDirs", text: str) -> None:
    (config_dirs.root / "out").symlink_to(config_dirs.home)
    config_dirs.write("kgent.yaml", text)
    with pytest.raises(ConfigError, match="leads out of the workspace"):
        config_dirs.resolve()


def test_a_path_of_the_user_may_lie_anywhere(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "prompt: {profile: default_agent}")
    settings = config_dirs.resolve(session={"prompt": {"system_path": "/etc/hostname"}}).settings
    assert str(settings.prompt.system_path) == "/etc/hostname"


def test_lists_are_replaced_not_joined(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("one.yaml", "safety: {allowlist: [ls, cat]}")
    config_dirs.write("two.yaml", "safety: {allowlist: [pwd]}")
    assert config_dirs.resolve("one.yaml", "two.yaml").settings.safety.allowlist == ("pwd",)


def test_a_schema_is_taken_as_it_is_written_and_never_joined_with_another(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "run: {output_schema: {type: object, properties: {a: {}, b.c: {type: string}}}}")
    below = config_dirs.resolve()
    assert below.settings.run.output_schema == {"type": "object", "properties": {"a": {}, "b.c": {"type": "string"}}}
    assert [key for key in below.sources if key.startswith("run.output_schema")] == ["run.output_schema"]
    above = config_dirs.resolve(session={"run": {"output_schema": {"type": "array"}}})
    assert above.settings.run.output_schema == {"type": "array"}


def test_every_field_that_holds_a_mapping_is_known_as_one() -> None:
    settings = Settings().model_dump(mode="json")
    assert {key for key in iterate_keys(Settings) if "dict[" in str(_annotation(key))} == OPAQUE_FIELDS
    assert dict(flatten(settings)).keys() >= OPAQUE_FIELDS


def _annotation(key: str) -> object:
    *sections, name = key.split(".")
    section = find_section(Settings, sections)
    assert section is not None
    return section.model_fields[name].annotation


def test_tuples_and_mappings_of_a_caller_are_taken_as_a_file_would_write_them(config_dirs: "ConfigDirs") -> None:
    session = {"safety": {"denylist": ("rm", "dd")}, "deliverables": {"required": ["a.md", {"path": "b.md"}]}}
    settings = config_dirs.resolve(session=session).settings
    assert settings.safety.denylist == ("rm", "dd")
    assert [each.path for each in settings.deliverables.required] == ["a.md", "b.md"]


def test_session_settings_that_are_no_mapping_are_refused(config_dirs: "ConfigDirs") -> None:
    with pytest.raises(ValidationFailed, match="of the session settings is not a mapping"):
        config_dirs.resolve(session=["run"])  # pyright: ignore[reportArgumentType]


def test_session_settings_that_contain_themselves_are_refused(config_dirs: "ConfigDirs") -> None:
    endless: dict[str, object] = {}
    endless["run"] = endless
    with pytest.raises(ValidationFailed, match="of the session settings is not a mapping"):
        config_dirs.resolve(session=endless)
