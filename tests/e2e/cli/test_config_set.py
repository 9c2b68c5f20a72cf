"""config set: the user's own file changes and nothing else; what cannot be set is refused and nothing is written."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from skills_runtime.config import choose_model, config_home
from tests.e2e.cli.programs import SCRIPTS, Answer, environment, invoke, tree
from tests.support.users import Unprivileged


def config_file() -> Path:
    return config_home() / "config.yaml"


def write(text: str) -> Path:
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def set_(*arguments: str) -> Answer:
    return invoke("config", "set", *arguments, name="skills-runtime")


def test_a_first_setting_creates_a_private_file(workspace: Path) -> None:
    answer = set_("run.max_steps", "60")
    assert answer == Answer(0, f"run.max_steps set in {config_file()}\n", "")
    assert config_file().read_text() == "run:\n  max_steps: 60\n"
    assert stat.S_IMODE(config_file().stat().st_mode) == 0o600
    assert invoke("config", "show", "run.max_steps").out == "run:\n  max_steps: 60\n"


def test_comments_order_and_mode_of_the_file_stay(workspace: Path) -> None:
    path = write("# mine\nrun:\n  max_steps: 5  # few\n\nsafety: {mode: ask}\n")
    path.chmod(0o644)
    assert set_("run.max_steps", "7").code == 0
    assert path.read_text() == "# mine\nrun:\n  max_steps: 7  # few\n\nsafety: {mode: ask}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_to_the_file_stays_a_link(workspace: Path) -> None:
    real = workspace / "dotfiles.yaml"
    real.write_text("run: {max_steps: 5}\n")
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(real)
    assert set_("run.max_steps", "7").code == 0
    assert config_file().is_symlink()
    assert real.read_text() == "run: {max_steps: 7}\n"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("safety.allowlist", "[git status, ls]", ["git status", "ls"]),
        ("llm.base_url", "http://localhost:1/v1", "http://localhost:1/v1"),
        ("run.max_cost_usd", "1.5", 1.5),
        ("sandbox.os.bubblewrap.unshare_net", "true", True),
    ],
)
def test_a_value_is_yaml(workspace: Path, key: str, text: str, value: object) -> None:
    assert set_(key, text).code == 0
    data = yaml.safe_load(config_file().read_text())
    for name in key.split("."):
        data = data[name]
    assert data == value


def test_unset_removes_the_setting_and_may_be_repeated(workspace: Path) -> None:
    path = write("run:\n  max_steps: 5\nsafety: {mode: ask}\n")
    assert set_("run.max_steps", "--unset").out == f"run.max_steps removed from {path}\n"
    assert path.read_text() == "safety: {mode: ask}\n"
    assert set_("run.max_steps", "--unset") == Answer(0, "run.max_steps was not set\n", "")


def test_unset_repairs_a_file_with_an_unknown_key(workspace: Path) -> None:
    path = write("run: {max_steps: 5}\nspeed: 9\n")
    assert invoke("config", "show").code == 20
    assert set_("speed", "--unset").code == 0
    assert path.read_text() == "run: {max_steps: 5}\n"
    assert invoke("config", "show").code == 0


def test_what_the_model_file_sets_is_changed_there(workspace: Path) -> None:
    path = choose_model(config_home(), base_url="http://localhost:1/v1", model="a", api_key_env=None)
    answer = set_("models.executor", "b")
    assert answer == Answer(0, f"models.executor set in {path}\n", "")
    chosen = yaml.safe_load(path.read_text())
    assert (chosen["model"], chosen["models"]) == ("a", {"executor": "b"})
    assert "executor: b" in invoke("config", "show", "models").out
    assert not config_file().exists()


def test_a_source_that_counts_more_is_told(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("run: {max_steps: 9}\n")
    answer = set_("run.max_steps", "60")
    assert answer.code == 0
    assert answer.err == (
        f"notice: `run.max_steps` is `9` in this directory: {workspace / 'kgent.yaml'} overrides your file\n"
    )


def test_a_variable_that_counts_more_is_told(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_LLM_BASE_URL", "http://other/v1")
    assert "the variable SKILLS_RUNTIME_SDK_LLM_BASE_URL overrides your file" in set_("llm.base_url", "http://a/v1").err


def test_a_project_with_faults_does_not_hide_that_the_value_is_set(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("run: {max_stepz: 9}\n")
    answer = set_("run.max_steps", "60")
    assert (answer.code, config_file().exists()) == (0, True)
    assert answer.err.startswith("notice: the settings of this directory cannot be used yet: ")


REFUSED = {
    "an unknown key": (("run.max_step", "5"), 20, "did you mean `run.max_steps`?"),
    "a wrong type": (("run.max_steps", "many"), 20, "must be an integer, not 'many'"),
    "a section": (("run", "5"), 20, "`run` given to `config set` must be a mapping"),
    "a key": (("llm.api_key_env", "sk-0123456789abcdef0123"), 20, "not the name of an environment variable"),
    "a key as a setting": (("llm.api_key", "sk-0123456789abcdef0123"), 20, "put it into an environment variable"),
    "broken YAML": (("run.max_steps", "["), 20, "is not usable YAML"),
    "an unknown key to remove": (("run.max_step", "--unset"), 20, "did you mean `run.max_steps`?"),
    "nothing": (("run.max_steps",), 2, "either a value or `--unset`"),
    "a value to remove": (("run.max_steps", "5", "--unset"), 2, "either a value or `--unset`"),
    "an empty key": (("", "5"), 20, "is not a setting"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_set_is_refused_and_nothing_is_written(workspace: Path, name: str) -> None:
    arguments, code, words = REFUSED[name]
    before = tree(Path.home())
    answer = set_(*arguments)
    assert (answer.code, answer.out) == (code, ""), answer.err
    assert words in answer.err
    assert "sk-0123" not in answer.err
    assert "Traceback" not in answer.err
    assert [name for name, digest in tree(Path.home()).items() if digest != "directory"] == list(before)


@pytest.mark.parametrize("text", ["run: [\n", "a: &a {x: 1}\nrun: *a\n", "run: {max_stepz: 1}\n", "- a\n"])
def test_a_file_that_cannot_be_used_is_left_as_it_is(workspace: Path, text: str) -> None:
    path = write(text)
    answer = set_("run.max_steps", "5")
    assert answer.code == 20
    assert str(path) in answer.err
    assert path.read_text() == text


def test_every_other_fault_of_the_file_is_told(workspace: Path) -> None:
    write("run: {max_stepz: 1}\nsaftey: {}\n")
    error = set_("run.max_steps", "5").err
    assert error.startswith("error: `run.max_stepz` in ")
    assert "  also: `saftey` in " in error


def test_a_configuration_directory_that_cannot_exist_is_one_sentence(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/none")
    answer = set_("run.max_steps", "5")
    assert (answer.code, answer.out) == (23, "")
    assert "`/proc/none/skills_runtime` cannot be written: " in answer.err
    assert "hint: make it writable, or set `XDG_CONFIG_HOME`" in answer.err


def test_an_ordinary_user_with_a_read_only_directory_is_refused(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "config/skills_runtime"
    closed.mkdir(parents=True)
    (closed / "config.yaml").write_text("run: {max_steps: 5}\n")
    closed.chmod(0o555)
    set_("run.max_step", "5")  # imported here, where the sources can be read

    def attempt() -> Answer:
        os.environ["XDG_CONFIG_HOME"] = str(closed.parent)
        os.chdir(unprivileged.path)
        return set_("run.max_steps", "7")

    answer = unprivileged(attempt)
    assert (answer.code, answer.out) == (21, "")
    assert "cannot be written: Permission denied; nothing was changed" in answer.err
    assert (closed / "config.yaml").read_text() == "run: {max_steps: 5}\n"
    assert len(list(closed.iterdir())) == 1


READ_ONLY_AND_FULL = """
set -u
mount -t tmpfs -o size=16k tmpfs "$DISK" || exit 1
mkdir "$DISK/skills_runtime"
printf 'run: {max_steps: 5}\\n' >"$DISK/skills_runtime/config.yaml"
dd if=/dev/zero of="$DISK/ballast" bs=4096 2>/dev/null
"$PROGRAM" config set run.max_steps 7 2>full; echo "$?" >>codes
rm "$DISK/ballast"
mount -o remount,ro "$DISK" || exit 1
"$PROGRAM" config set run.max_steps 7 2>read-only; echo "$?" >>codes
"$PROGRAM" run hi --sandbox "$DISK/r" --set llm.backend=fake --set llm.fake.script=script.yaml 2>run; echo "$?" >>codes
cp -r "$DISK/skills_runtime" left
"""


def test_a_full_or_read_only_disk_leaves_the_old_file(workspace: Path) -> None:
    unshare = shutil.which("unshare")
    assert unshare, "this test needs the command `unshare`"
    disk = workspace / "disk"
    disk.mkdir()
    (workspace / "script.yaml").write_text("calls: [{text: done}]\n")
    variables = environment(PROGRAM=str(SCRIPTS / "skills-runtime"), DISK=str(disk), XDG_CONFIG_HOME=str(disk))
    become_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = [unshare, *become_root, "--mount", "bash", "-c", READ_ONLY_AND_FULL]
    subprocess.run(command, cwd=workspace, env=variables, check=True)
    full, read_only = (workspace / "full").read_text(), (workspace / "read-only").read_text()
    assert (workspace / "codes").read_text().split() == ["23", "21", "23"], full + read_only
    assert "cannot be written: No space left on device; nothing was changed" in full
    assert "hint: free some space on that disk, then try again" in full
    assert "cannot be written: Read-only file system; nothing was changed" in read_only
    assert "hint: choose another directory\n" in (workspace / "run").read_text()
    assert [path.name for path in (workspace / "left").iterdir()] == ["config.yaml"]
    assert (workspace / "left/config.yaml").read_text() == "run: {max_steps: 5}\n"
