"""The command line speaks Chinese where the locale is Chinese, in the words of Studio, and English everywhere else."""

from pathlib import Path

import pytest

from tests.e2e.cli.programs import call, environment, invoke

CHINESE = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh_CN.UTF-8"}


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    """The locale of a user in China."""
    for name, value in CHINESE.items():
        monkeypatch.setenv(name, value)


def test_an_error_is_explained_in_chinese_with_the_english_detail(workspace: Path) -> None:
    answer = call("skills-runtime", "runs", "show", "demo-9", cwd=workspace, env=environment(**CHINESE))
    assert answer.code == 22
    first, detail, kind, hint = answer.err.splitlines()
    assert first == "错误：没有运行 demo-9"
    assert detail.startswith("  详情：no run `demo-9` is known")
    assert kind == "  类型：not_found"
    assert hint.startswith("  提示：")


def test_wrong_usage_is_explained_in_chinese(workspace: Path, chinese: None) -> None:
    answer = invoke("runs", "shwo", name="skills-runtime")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("错误：命令用法有误\n  详情：No such command 'shwo'")
    assert answer.err.endswith("  类型：usage\n  提示：`skills-runtime runs --help` 显示用法\n")


def test_runs_are_listed_shown_and_verified_in_chinese(workspace: Path, chinese: None) -> None:
    empty = invoke("runs", "list", name="skills-runtime")
    assert empty.err == "没有运行；`skills-runtime demo` 会创建一个，`--all` 列出所有工作区的运行\n"
    assert invoke("demo", "--output", "demo").code == 0
    (root,) = Path("demo").iterdir()
    shown = invoke("runs", "show", str(root)).out
    assert shown.startswith(f"运行 {root.name}  ✓ 已完成\n")
    assert "\n步骤\n" in shown
    assert "\n  模型 " in shown
    assert invoke("verify", str(root)).out == "✓ 校验通过：43 个事件，来源可信\n"
    assert "✓ 已完成" in invoke("runs", "list").out
    sent = invoke("runs", "send", str(root), "more")
    assert sent.err.startswith(f"错误：运行 {root.name} 已结束\n  详情：")


@pytest.mark.parametrize(
    ("variables", "is_chinese"),
    [
        ({"LC_ALL": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, True),
        ({"LC_MESSAGES": "zh_CN.UTF-8", "LANG": "C"}, True),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, False),
        ({"LC_MESSAGES": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, False),
        ({"SKILLS_RUNTIME_SDK_LANGUAGE": "zh", "LC_ALL": "C.UTF-8"}, True),
        ({"SKILLS_RUNTIME_SDK_LANGUAGE": "en", "LC_ALL": "zh_CN.UTF-8"}, False),
    ],
)
def test_the_first_variable_that_is_set_decides(
    variables: dict[str, str], is_chinese: bool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*CHINESE, "SKILLS_RUNTIME_SDK_LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert invoke("verify", "nothing").err.startswith("错误：" if is_chinese else "error: ") is True


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {**CHINESE, "PYTHONIOENCODING": "ascii"}])
def test_an_output_without_chinese_characters_gets_english_in_ascii(workspace: Path, variables: dict[str, str]) -> None:
    answer = call("kgent", "verify", "nothing", cwd=workspace, env=environment(**variables))
    assert answer.code == 22
    assert answer.err.startswith("error: ")
    assert answer.err.isascii()


def test_json_is_the_same_in_every_language(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("demo", "--output", "demo").code == 0
    (root,) = Path("demo").iterdir()
    commands = (("runs", "show", str(root), "--json"), ("verify", str(root), "--json"), ("runs", "list", "--json"))
    english = [invoke(*command).out for command in commands]
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_LANGUAGE", "zh")
    assert [invoke(*command).out for command in commands] == english
