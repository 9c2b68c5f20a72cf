"""The process environment, the `.env` file and the user's directories."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skills_runtime.config import Environment, config_home, explain, resolve, state_home, without_dotenv
from skills_runtime.config.environment import keys_home
from skills_runtime.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from conftest import ConfigDirs


def test_a_dotenv_of_the_workspace_is_read(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write(".env", "export SKILLS_RUNTIME_SDK_PLANNER_MODEL='of the file'  # a comment\n")
    resolved = config_dirs.resolve()
    assert resolved.settings.models.planner == "of the file"
    assert resolved.env_file == path
    assert resolved.environment.origin("SKILLS_RUNTIME_SDK_PLANNER_MODEL") == "dotenv"


def test_the_process_beats_the_dotenv(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "SKILLS_RUNTIME_SDK_PLANNER_MODEL=file\nOPENAI_API_KEY=x\n")
    config_dirs.variables["SKILLS_RUNTIME_SDK_PLANNER_MODEL"] = "process"
    environment = config_dirs.resolve().environment
    assert environment.get("SKILLS_RUNTIME_SDK_PLANNER_MODEL") == "process"
    assert environment.origin("SKILLS_RUNTIME_SDK_PLANNER_MODEL") == "process"
    assert environment.get("OPENAI_API_KEY") == "x"
    assert environment.get("NEVER_SET") is None
    assert environment.origin("NEVER_SET") is None


def test_a_field_set_in_a_dotenv_says_so(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write(".env", "SKILLS_RUNTIME_SDK_PLANNER_MODEL=file\n")
    row = next(row for row in explain(config_dirs.resolve()) if row.key == "models.planner")
    assert (row.source, row.note) == ("env:SKILLS_RUNTIME_SDK_PLANNER_MODEL", f"set in `{path}`")


def test_values_of_a_dotenv_are_not_interpolated(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "A=1\nB=${A}$HOME\n")
    assert config_dirs.resolve().environment.get("B") == "${A}$HOME"


def test_the_process_environment_is_never_changed(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "SKILLS_RUNTIME_TEST_ONLY=1\n")
    before = dict(os.environ)
    resolve(config_dirs.root)
    assert dict(os.environ) == before


def test_the_process_environment_is_the_default(config_dirs: "ConfigDirs", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(config_dirs.home))
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_PLANNER_MODEL", "of the process")
    assert resolve(config_dirs.root).settings.models.planner == "of the process"


def test_an_env_file_may_be_named_relative_to_the_workspace(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "A=default\n")
    path = config_dirs.write("settings/my.env", "A=named\n")
    config_dirs.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = "settings/my.env"
    resolved = config_dirs.resolve()
    assert (resolved.environment.get("A"), resolved.env_file) == ("named", path)


def test_a_named_env_file_must_exist(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_ENV_FILE"] = "absent.env"
    with pytest.raises(NotFound, match=r"absent\.env` does not exist"):
        config_dirs.resolve()


def test_reading_of_dotenv_can_be_switched_off(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "SKILLS_RUNTIME_SDK_PLANNER_MODEL=file\n")
    resolved = resolve(config_dirs.root, environ=without_dotenv({"HOME": str(config_dirs.home)}))
    assert (resolved.settings.models.planner, resolved.env_file) == ("gpt-6.1-sol", None)


def test_a_dotenv_line_that_is_no_assignment_is_ignored_with_a_notice(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write(".env", "A=1\n= nonsense\nB=2\nALONE\n")
    resolved = config_dirs.resolve()
    assert resolved.notices == (f"line 2 of `{path}` was ignored: it is not `NAME=value`",)
    assert (resolved.environment.get("B"), resolved.environment.get("ALONE")) == ("2", None)


def test_a_dotenv_that_is_not_utf8_is_refused(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", b"A=\xff\n")
    with pytest.raises(ConfigError, match=r"\.env` is not UTF-8 text \(byte 2\)"):
        config_dirs.resolve()


def test_a_dotenv_may_begin_with_a_byte_order_mark(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", b"\xef\xbb\xbfA=1\n")
    assert config_dirs.resolve().environment.get("A") == "1"


def test_a_dotenv_that_is_a_directory_is_refused(config_dirs: "ConfigDirs") -> None:
    (config_dirs.root / ".env").mkdir()
    with pytest.raises(ConfigError, match="is a directory"):
        config_dirs.resolve()


def test_no_text_form_shows_a_value(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(".env", "OPENAI_API_KEY=visible-in-file\n")
    config_dirs.variables["OTHER_KEY"] = "visible-in-process"
    resolved = config_dirs.resolve()
    shown = f"{resolved!r}{resolved.environment}{resolved.environment.dotenv!r}"
    assert "visible" not in shown
    assert "OPENAI_API_KEY" not in repr(Environment({"OPENAI_API_KEY": "x"}))


def test_the_state_and_config_directories_follow_xdg() -> None:
    environ = {"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"}
    assert (state_home(environ), config_home(environ)) == (Path("/s/skills_runtime"), Path("/c/skills_runtime"))


@pytest.mark.parametrize("relative", ["", "somewhere", "./x"])
def test_a_relative_xdg_directory_is_not_used(relative: str) -> None:
    environ = {"HOME": "/h", "XDG_STATE_HOME": relative, "XDG_CONFIG_HOME": relative}
    assert state_home(environ) == Path("/h/.local/state/skills_runtime")
    assert config_home(environ) == Path("/h/.config/skills_runtime")


def test_without_a_home_variable_the_user_database_is_asked() -> None:
    assert state_home({}).is_absolute()


def test_a_dotenv_cannot_move_the_users_directories(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("evil/skills_runtime/config.yaml", "safety: {mode: allow}")
    config_dirs.write(".env", f"XDG_CONFIG_HOME={config_dirs.root}/evil\nHOME={config_dirs.root}/evil\n")
    assert config_dirs.resolve().settings.safety.mode == "auto"


def test_an_undecodable_variable_is_refused_for_what_it_sets(config_dirs: "ConfigDirs") -> None:
    config_dirs.variables["SKILLS_RUNTIME_SDK_PLANNER_MODEL"] = "model-\udcff"
    [problem] = config_dirs.problems()
    assert problem == ("`models.planner` of the variable `SKILLS_RUNTIME_SDK_PLANNER_MODEL` must be valid Unicode text")


def test_the_keys_are_the_users_unless_machines_share_them() -> None:
    assert keys_home({"XDG_STATE_HOME": "/s"}) == Path("/s/skills_runtime/keys")
    assert keys_home({"XDG_STATE_HOME": "/s", "SKILLS_RUNTIME_SDK_KEYS_DIR": "/shared/keys"}) == Path("/shared/keys")


def test_a_place_for_keys_that_depends_on_the_current_directory_is_refused() -> None:
    with pytest.raises(ConfigError, match="absolute"):
        keys_home({"SKILLS_RUNTIME_SDK_KEYS_DIR": "keys"})
