"""What a path means and what the rules say, before any file is looked at."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from skills_runtime.errors import (
    NotFound,
    PathEscape,
    PolicyDenied,
    SkillsRuntimeError,
    ValidationFailed,
    WriteRefused,
)
from skills_runtime.runs.files.paths import (
    Location,
    PathPolicy,
    check_read,
    check_write,
    isolated_policy,
    parse_path,
    printable,
    shared_policy,
)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../x", PathEscape),
        ("a/../../x", PathEscape),
        ("workspace/../../x", PathEscape),
        ("workspace/../workspace/x", PathEscape),
        ("workspace/..", PathEscape),
        ("..", PathEscape),
        ("/etc/passwd", PathEscape),
        ("//etc/passwd", PathEscape),
        ("/", PathEscape),
        ("~", PathEscape),
        ("~/x", PathEscape),
        ("~user/x", PathEscape),
        ("\\..\\x", PathEscape),
        ("workspace\\x", PathEscape),
        ("", ValidationFailed),
        ("workspace/\0", ValidationFailed),
        ("\0/etc/passwd", ValidationFailed),
        ("workspace/\ud800", ValidationFailed),
        ("workspace/" + "n" * 256, ValidationFailed),
        ("workspace/" + "é" * 128, ValidationFailed),
        ("workspace/" + "a/" * 3000, ValidationFailed),
    ],
)
def test_a_spelling_that_leads_out_or_is_ambiguous_is_refused(
    path: str, error: type[SkillsRuntimeError], isolated: PathPolicy, shared: PathPolicy
) -> None:
    for policy in (isolated, shared):
        with pytest.raises(error) as refused:
            parse_path(policy, path)
        assert refused.value.hint


def test_a_byte_that_is_not_text_is_refused(isolated: PathPolicy) -> None:
    with pytest.raises(ValidationFailed):
        parse_path(isolated, "workspace/\udcff")


@pytest.mark.parametrize("path", [7, None, b"workspace/x", ["workspace"]])
def test_a_path_that_is_not_text_is_refused(path: str, isolated: PathPolicy) -> None:
    with pytest.raises(ValidationFailed, match="not text"):
        parse_path(isolated, path)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("workspace/x", ("workspace", "x")),
        ("./workspace//x/", ("workspace", "x")),
        (".", ()),
        ("workspace/..x", ("workspace", "..x")),
        ("workspace/~x", ("workspace", "~x")),
        ("./~x", ("~x",)),
        ("workspace/" + "n" * 255, ("workspace", "n" * 255)),
        ("文/档", ("文", "档")),
    ],
)
def test_a_relative_path_begins_at_the_base(path: str, parts: tuple[str, ...], isolated: PathPolicy) -> None:
    assert parse_path(isolated, path) == Location("", parts)


def test_an_absolute_path_inside_the_base_is_made_relative(isolated: PathPolicy, run_root: Path) -> None:
    assert parse_path(isolated, f"{run_root}/workspace/./x") == Location("", ("workspace", "x"))


def test_a_sibling_whose_name_begins_like_the_base_is_outside(isolated: PathPolicy, run_root: Path) -> None:
    with pytest.raises(PathEscape):
        parse_path(isolated, f"{run_root}-evil/x")


def test_an_absolute_path_by_another_spelling_of_the_base_is_accepted(run_root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(run_root)
    policy = isolated_policy(tmp_path / "alias")
    assert policy.base == run_root
    assert parse_path(policy, f"{tmp_path}/alias/workspace/x") == Location("", ("workspace", "x"))


def test_deliverables_always_mean_the_run_s_own(shared: PathPolicy) -> None:
    assert parse_path(shared, "deliverables/r.md") == Location("deliverables", ("r.md",))


def test_the_absolute_path_of_the_run_s_deliverables_means_the_mount(shared: PathPolicy) -> None:
    path = shared.mounts["deliverables"] / "r.md"
    assert parse_path(shared, str(path)) == Location("deliverables", ("r.md",))


def test_an_absolute_path_in_the_user_s_tree_means_just_that(shared: PathPolicy, workspace_root: Path) -> None:
    assert parse_path(shared, f"{workspace_root}/deliverables/x") == Location("", ("deliverables", "x"))


def test_the_most_exact_spelling_decides_when_one_is_inside_another(workspace_root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deliverables").mkdir(parents=True)
    (workspace_root / "runs").mkdir()
    (workspace_root / "runs" / "r").symlink_to(elsewhere)
    (tmp_path / "link").symlink_to(workspace_root)
    policy = shared_policy(tmp_path / "link", tmp_path / "link" / "runs" / "r")
    assert parse_path(policy, f"{tmp_path}/link/runs/r/deliverables/x") == Location("deliverables", ("x",))


@pytest.mark.parametrize("name", ["run.json", "events.jsonl", "config.yaml", "archive/x", "logs/x", "blobs/x", "new"])
def test_only_workspace_and_deliverables_are_written_in_an_isolated_run(name: str, isolated: PathPolicy) -> None:
    with pytest.raises(WriteRefused) as refused:
        check_write(isolated, parse_path(isolated, name))
    assert refused.value.hint == f"use `workspace/{Path(name).name}`"


@pytest.mark.parametrize("name", ["workspace", "deliverables", "."])
def test_a_write_root_is_not_itself_written(name: str, isolated: PathPolicy) -> None:
    with pytest.raises(WriteRefused):
        check_write(isolated, parse_path(isolated, name))


@pytest.mark.parametrize("name", ["workspace/x", "deliverables/a/b", "workspace/.git/HEAD", "workspace/a.env"])
def test_the_write_roots_are_written(name: str, isolated: PathPolicy) -> None:
    check_write(isolated, parse_path(isolated, name))


@pytest.mark.parametrize("name", ["blobs", "blobs/b", "logs/l", "run.lock", "BLOBS/b"])
def test_private_places_of_an_isolated_run_are_not_read(name: str, isolated: PathPolicy) -> None:
    with pytest.raises(PolicyDenied, match="private"):
        check_read(isolated, parse_path(isolated, name))


@pytest.mark.parametrize("name", ["run.json", "events.jsonl", ".", "archive/x", "workspace/blobs/x", "workspace/logs"])
def test_the_rest_of_an_isolated_run_is_read(name: str, isolated: PathPolicy) -> None:
    check_read(isolated, parse_path(isolated, name))


PROTECTED = [
    ".skills_runtime_sdk/runs/r/events.jsonl",
    ".git",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/modules/m/hooks/pre-commit",
    ".git/modules/m/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/worktrees/w/gitdir",
    ".git/info/attributes",
    ".hg/hgrc",
    ".envrc",
    ".devcontainer/devcontainer.json",
    ".husky/pre-commit",
    ".npmrc",
    "project.code-workspace",
    ".agent/x",
    ".agents/skills/s/SKILL.md",
    ".claude/settings.json",
    ".codex/config.toml",
    ".cursor/rules",
    ".gemini/x",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".mcp.json",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".env",
    ".env.local",
    ".env.example",
    ".GIT/Hooks/pre-commit",
    ".g\u200cit/config",
    ".Env",
]


@pytest.mark.parametrize("prefix", ["", "sub/", "a/b/.git/modules/"])
@pytest.mark.parametrize("name", PROTECTED)
def test_what_other_programs_obey_is_never_written_at_any_depth(name: str, prefix: str, shared: PathPolicy) -> None:
    with pytest.raises(WriteRefused, match="protected"):
        check_write(shared, parse_path(shared, prefix + name))


@pytest.mark.parametrize("name", PROTECTED)
def test_protected_names_are_not_written_into_deliverables_or_isolated_workspaces(
    name: str, shared: PathPolicy, isolated: PathPolicy
) -> None:
    for policy, root in ((shared, "deliverables"), (isolated, "workspace"), (isolated, "deliverables")):
        with pytest.raises(WriteRefused, match="protected"):
            check_write(policy, parse_path(policy, f"{root}/{name}"))


@pytest.mark.parametrize("name", ["main.py", "sub/x", ".git/HEAD", ".github/workflows/ci.yml", "config", "hooks/x"])
def test_the_rest_of_the_user_s_tree_is_written(name: str, shared: PathPolicy) -> None:
    check_write(shared, parse_path(shared, name))


@pytest.mark.parametrize("name", [".env", "sub/.env", ".env.production", ".ENV", "deliverables/.env"])
def test_secrets_are_not_read(name: str, shared: PathPolicy, isolated: PathPolicy) -> None:
    for policy in (shared, isolated):
        with pytest.raises(PolicyDenied, match="secrets"):
            check_read(policy, parse_path(policy, name))


@pytest.mark.parametrize(
    "name", ["id_rsa", "keys/server.key", "ca/private.pem", "credentials.json", ".envrc", "ID_RSA"]
)
def test_files_that_hold_keys_are_not_read(name: str, shared: PathPolicy) -> None:
    with pytest.raises(PolicyDenied, match="secrets"):
        check_read(shared, parse_path(shared, name))


@pytest.mark.parametrize("name", ["id_rsa.pub", "monkey", "keyboard.py", "credentials.py"])
def test_files_whose_names_only_sound_like_it_are_read(name: str, shared: PathPolicy) -> None:
    check_read(shared, parse_path(shared, name))


def test_code_that_the_runtime_runs_is_read_and_never_written(workspace_root: Path) -> None:
    (workspace_root / ".skills_runtime_sdk/runs/r").mkdir(parents=True)
    code = (workspace_root.resolve() / "environment", workspace_root.resolve() / "src/package", Path("/elsewhere"))
    policy = shared_policy(workspace_root, workspace_root / ".skills_runtime_sdk/runs/r", code)
    for name in ("environment/lib/x.py", "src/package/x.py", "SRC/Package/x.py"):
        check_read(policy, parse_path(policy, name))
        with pytest.raises(WriteRefused, match="code that the runtime itself runs"):
            check_write(policy, parse_path(policy, name))
    check_write(policy, parse_path(policy, "src/other/x.py"))


@pytest.mark.parametrize("name", [".env.example", "sub/.env.sample", ".environment", "x.env", ".claude/settings.json"])
def test_templates_of_secrets_and_configuration_are_read(name: str, shared: PathPolicy) -> None:
    check_read(shared, parse_path(shared, name))


@pytest.mark.parametrize(
    "name", [".skills_runtime_sdk", ".skills_runtime_sdk/runs/r/run.json", "sub/.skills_runtime_sdk/x"]
)
def test_the_runtime_s_own_directory_is_not_read_in_the_user_s_tree(name: str, shared: PathPolicy) -> None:
    with pytest.raises(PolicyDenied, match="private"):
        check_read(shared, parse_path(shared, name))


@pytest.mark.parametrize("check", [check_read, check_write])
def test_a_run_directory_anywhere_in_the_user_s_tree_is_out_of_reach(
    check: Callable[[PathPolicy, Location], None], workspace_root: Path
) -> None:
    run = workspace_root / "runs" / "demo"
    run.mkdir(parents=True)
    policy = shared_policy(workspace_root, run)
    with pytest.raises(PolicyDenied):
        check(policy, parse_path(policy, "runs/demo/events.jsonl"))
    check(policy, parse_path(policy, "runs/other"))


def test_a_run_directory_cannot_be_the_shared_workspace_itself(workspace_root: Path) -> None:
    with pytest.raises(ValidationFailed, match="workspace itself"):
        shared_policy(workspace_root, workspace_root)


def test_a_policy_of_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        isolated_policy(tmp_path / "missing")


def test_deleting_is_disabled_by_default(isolated: PathPolicy, shared: PathPolicy) -> None:
    assert (isolated.delete, shared.delete) == ("disabled", "disabled")


def test_a_path_longer_than_the_policy_allows_is_refused(isolated: PathPolicy) -> None:
    short = replace(isolated, max_path_bytes=10)
    with pytest.raises(ValidationFailed, match="more than 10 bytes"):
        parse_path(short, "workspace/x")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a\nb", "a\\x0ab"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b", "\\x9b"),
        ("\ud800", "\\ud800"),
        ("文档", "文档"),
        (7, "7"),
        ("x" * 5000, "x" * 4096),
        ("\0" * 5000, ("\\x00" * 5000)[:4096]),
    ],
)
def test_a_recorded_path_can_be_printed_and_stored(path: object, text: str) -> None:
    assert printable(path) == text
    assert json.loads(json.dumps(printable(path)).encode()) == text
