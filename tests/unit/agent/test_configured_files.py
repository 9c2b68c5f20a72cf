"""Files that settings name: those of a workspace never lead out of it, and never hold secrets."""

from pathlib import Path

import pytest

from skills_runtime.agent.run_inputs import assemble_prompt
from skills_runtime.config import resolve
from skills_runtime.errors import ConfigError


def prompt_of(workspace: Path, path: str, key: str = "system_path") -> str:
    """The system text of a run in a workspace whose project names a file."""
    (workspace / "kgent.yaml").write_text(f"prompt: {{{key}: {path}}}\n")
    return assemble_prompt(resolve(workspace), "do it", ()).system


def test_a_file_of_the_workspace_is_read_also_through_a_link_in_it(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("You write poems.")
    (tmp_path / "linked.md").symlink_to("real.md")
    assert "You write poems." in prompt_of(tmp_path, "real.md")
    assert "You write poems." in prompt_of(tmp_path, "linked.md")


@pytest.mark.parametrize("key", ["system_path", "developer_path"])
@pytest.mark.parametrize("name", [".env", ".env.local", ".ssh/config", "id_rsa", "server.pem", ".netrc"])
def test_a_file_that_holds_secrets_is_no_prompt(tmp_path: Path, name: str, key: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("TOKEN=secret")
    with pytest.raises(ConfigError, match="holds secrets"):
        prompt_of(tmp_path, name, key)
    (tmp_path / "harmless.md").symlink_to(name)
    with pytest.raises(ConfigError, match="holds secrets"):
        prompt_of(tmp_path, "harmless.md", key)


def test_a_link_that_leads_out_once_the_settings_are_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("of the user")
    prompt = tmp_path / "work" / "prompt.md"
    prompt.write_text("harmless")
    (tmp_path / "work" / "kgent.yaml").write_text("prompt: {system_path: prompt.md}\n")
    resolved = resolve(tmp_path / "work")
    prompt.unlink()
    prompt.symlink_to("../secret.txt")
    with pytest.raises(ConfigError, match=r"`prompt\.system_path` cannot be used"):
        assemble_prompt(resolved, "do it", ())
