"""The directory everything starts from."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skills_runtime.config import resolve
from skills_runtime.errors import NotFound, ValidationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import ConfigDirs


def test_a_relative_workspace_starts_at_the_current_directory(config_dirs: "ConfigDirs") -> None:
    resolved = resolve("workspace", environ={"HOME": str(config_dirs.home)}, cwd=config_dirs.root.parent)
    assert resolved.workspace_root == config_dirs.root


def test_a_workspace_behind_a_link_is_the_directory_itself(config_dirs: "ConfigDirs", tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(config_dirs.root)
    assert resolve(tmp_path / "link", environ={"HOME": str(config_dirs.home)}).workspace_root == config_dirs.root


def test_a_workspace_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        resolve(tmp_path / "absent", environ={})


def test_a_workspace_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValidationFailed, match="is not a directory"):
        resolve(tmp_path / "file", environ={})


@pytest.mark.parametrize("name", ["nul\0byte", "not-utf8-\udcff", "long" * 200, "loop"])
def test_a_workspace_path_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "not-utf8-\udcff").mkdir()
    with pytest.raises(ValidationFailed):
        resolve(tmp_path / name, environ={})


def test_a_workspace_the_user_may_not_look_into_is_refused(
    world_readable_dirs: "ConfigDirs", unprivileged: "Callable[[Callable[[], str]], str]"
) -> None:
    world_readable_dirs.resolve()
    world_readable_dirs.root.parent.chmod(0o700 if world_readable_dirs.root.stat().st_uid == 0 else 0o000)

    def look() -> str:
        try:
            world_readable_dirs.resolve()
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}"
        return "resolved"

    answer = unprivileged(look)
    world_readable_dirs.root.parent.chmod(0o755)
    assert answer.startswith("AccessRefused: ")


def test_nothing_is_written_anywhere(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "run: {max_steps: 3}")
    config_dirs.write(".env", "A=1")
    before = sorted(config_dirs.root.parent.rglob("*"))
    config_dirs.resolve()
    assert sorted(config_dirs.root.parent.rglob("*")) == before
