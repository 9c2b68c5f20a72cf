"""Settings as text."""

from typing import TYPE_CHECKING

import yaml

import skills_runtime.config as config
from skills_runtime.config import Settings, explain, snapshot
from skills_runtime.config.models import Deliverable, Section, SkillSource, SkillSpace, iterate_keys

if TYPE_CHECKING:
    from conftest import ConfigDirs


def test_a_snapshot_holds_the_whole_settings_and_ends_with_a_newline(config_dirs: "ConfigDirs") -> None:
    settings = config_dirs.resolve(session={"prompt": {"system_text": "第一行\nsecond: line # no comment\n"}}).settings
    text = snapshot(settings)
    assert yaml.safe_load(text) == settings.model_dump(mode="json")
    assert text.endswith("\n")
    assert "第一行" in text


def test_equal_settings_have_the_same_snapshot(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("a.yaml", "models: {planner: a, executor: b}\nrun: {max_steps: 3}")
    config_dirs.write("b.yaml", "run: {max_steps: 3}\nmodels: {executor: b, planner: a}")
    assert snapshot(config_dirs.resolve("a.yaml").settings) == snapshot(config_dirs.resolve("b.yaml").settings)


def test_a_snapshot_can_be_used_as_a_configuration_again(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(
        "kgent.yaml", "llm: {fake: {script: a.json}}\ndeliverables: {required: [a.md]}\nrun: {max_steps: 3}"
    )
    settings = config_dirs.resolve().settings
    config_dirs.write("again.yaml", snapshot(settings))
    (config_dirs.root / "kgent.yaml").unlink()
    assert config_dirs.resolve("again.yaml").settings == settings


def test_a_snapshot_names_the_variable_of_the_key_and_not_the_key(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["MY_KEY"] = "sk-abcdefghijklmnopqrst"
    settings = config_dirs.resolve(session={"llm": {"api_key_env": "MY_KEY"}}).settings
    assert yaml.safe_load(snapshot(settings))["llm"]["api_key_env"] == "MY_KEY"
    assert "abcdefgh" not in snapshot(settings)


def test_every_field_is_explained_once_in_the_order_of_declaration(config_dirs: "ConfigDirs") -> None:
    rows = explain(config_dirs.resolve())
    assert [row.key for row in rows] == list(iterate_keys(Settings))
    assert all(row.source and row.value for row in rows)


def test_values_are_shown_on_one_line_of_bounded_length(config_dirs: "ConfigDirs") -> None:
    session = {"prompt": {"system_text": "one\ntwo\x1b[31m", "developer_text": "x" * 5000}}
    rows = {row.key: row.value for row in explain(config_dirs.resolve(session=session))}
    assert rows["prompt.system_text"] == '"one\\ntwo\\u001b[31m"'
    assert len(rows["prompt.developer_text"]) == 200
    assert (rows["run.human_timeout_ms"], rows["safety.allowlist"], rows["safety.mode"]) == ("null", "[]", "auto")


def test_a_path_with_control_characters_is_shown_escaped(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("a\nb.yaml", "run: {max_steps: 3}")
    source = config_dirs.resolve("a\nb.yaml").sources["run.max_steps"]
    assert source == f"yaml:overlay:{config_dirs.root}/a\\nb.yaml#run.max_steps"


def sections(model: type[Section]) -> list[type[Section]]:
    found = [field.annotation for field in model.model_fields.values()]
    inner = [each for each in found if isinstance(each, type) and issubclass(each, Section)]
    return [model, *(section for each in inner for section in sections(each))]


def test_every_field_is_described_by_one_sentence() -> None:
    for section in [*sections(Settings), Deliverable, SkillSpace, SkillSource]:
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"
            assert field.description.endswith("."), f"{section.__name__}.{name}"
            assert ". " not in field.description, f"{section.__name__}.{name}"


def test_the_public_names_are_sorted_and_exist() -> None:
    assert config.__all__ == sorted(config.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(hasattr(config, name) for name in config.__all__)
