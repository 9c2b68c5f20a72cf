"""The command line speaks Chinese where the locale is Chinese, in the words of Studio, and English everywhere else."""

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.e2e.cli.programs import call, environment, invoke, say, write, write_config
from tests.e2e.cli.terminals import CTRL_D, on_a_terminal

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


def untimed(text: str) -> str:
    """A text without its durations and the blanks that align them."""
    return re.sub(r" +\d+(\.\d)? m?s\b", " TIME", text)


def test_a_run_is_shown_in_chinese(workspace: Path, chinese: None) -> None:
    command = ("shell_exec", {"argv": ["sh", "-c", "echo done; exit 3"]})
    write_config(workspace, say("", write("deliverables/a.md")), say("", command), say("写好了。"))
    shown = invoke("run", "写一份报告", "--config", "kgent.yaml", "--run-dir", "r")
    assert (shown.code, shown.out) == (0, "写好了。\n")
    lines = untimed(shown.err).splitlines()
    assert lines[0] == "运行 r  写一份报告 · scripted · 隔离工作区"
    assert lines[1] == "  1  file_write deliverables/a.md TIME"
    assert re.fullmatch(r"  2  shell_exec sh -c echo done; exit 3 +退出码 3 TIME", lines[2])
    assert re.fullmatch(r" 完成  1 个交付物 +2 步 · TIME · 360 Token", lines[3].replace("·TIME", "· TIME"))
    assert lines[4:] == ["       文件   r", "       查看   kgent runs show r"]


def test_a_call_is_asked_about_and_approved_in_chinese(workspace: Path, chinese: None) -> None:
    ask = {"safety": {"mode": "ask"}}
    write_config(workspace, say("", write("deliverables/a.md", "hello\n")), say("写好了。"), **ask)
    run = ("run", "写一份报告", "--config", "kgent.yaml", "--run-dir", "r")
    with on_a_terminal("kgent", *run, cwd=workspace) as screen:
        screen.expect(
            "     file_write：需要你的审批\n"
            "       创建 deliverables/a.md  +1\n"
            "         @@ -0,0 +1 @@\n"
            "         +hello\n"
            "       询问规则：safety.mode: ask\n"
            "     [y] 仅此一次  [s] 本会话  [f] 此文件夹  [a] 始终  [n] 拒绝  [?] 详情\n"
            "     允许吗？ "
        )
        screen.type("x\n")
        screen.expect("     请用 y、s、f、a 或 n 回答；? 显示详情和更多按键\n     允许吗？ ")
        screen.type("f\n")
        screen.expect(" 中的这条规则允许")
        screen.expect("     [y] 批准并添加  其他任何输入都会取消\n     添加吗？ ")
        screen.type("n\n")
        screen.expect("     没有添加规则；请再回答一次\n     允许吗？ ")
        screen.type(CTRL_D)
        screen.expect("     请求仍待处理；可稍后决定\n")
        screen.expect("需要你回答  审批：file_write create deliverables/a.md")
        assert screen.end() == 26
    listed = invoke("approvals", "list")
    heading, row = listed.out.splitlines()
    assert heading.split() == ["编号", "运行", "工具", "调用", "风险", "已等待", "到期"]
    assert re.search(r"低 +\d 秒  7 天后$", row)
    assert cell_len(row) == cell_len(heading)  # the last column ends at the same cell
    assert listed.err == "下一步：`kgent approvals show ID`，然后 `approvals approve ID` 或 `approvals deny ID`\n"
    approved = invoke("approvals", "approve", "r")
    assert (approved.code, approved.out) == (0, "写好了。\n")
    assert approved.err.startswith("已批准：file_write create deliverables/a.md\n运行 r  写一份报告 · ")


def test_a_chat_is_held_in_chinese(workspace: Path, chinese: None) -> None:
    write_config(workspace, say("你好！"))
    chat = ("chat", "--session", "talk", "--config", "kgent.yaml")
    with on_a_terminal("skills-runtime", *chat, cwd=workspace) as screen:
        screen.expect("对话 talk · scripted · /help 列出命令\n")
        screen.expect("你> ")
        screen.type("你好\n")
        screen.expect("你好！\n")
        screen.expect("你> ")
        screen.type("/help\n")
        screen.expect("  /exit   离开对话；Ctrl-D 也可以\n")
        screen.expect("你> ")
        screen.type(CTRL_D)
        screen.expect("继续对话：skills-runtime chat --session talk\n")
        assert screen.end() == 0


def test_the_doctor_speaks_chinese_in_columns_of_one_width(workspace: Path, chinese: None) -> None:
    write_config(workspace, say("好。"))
    shown = invoke("doctor", "--config", "kgent.yaml")
    assert shown.code == 0, shown.out
    *lines, summary = shown.out.splitlines()
    titles = ["Python", "命令", "配置", "模型", "沙箱", "工作区", "技能", "状态", "磁盘", "Studio", "可选包"]
    checks = [line for line in lines if line[0] in "✓!✗"]
    assert [line.split()[1] for line in checks] == titles
    facts = [re.match(r". \S+ +", line) for line in checks]
    assert {cell_len(head[0]) for head in facts if head} == {2 + cell_len("工作区") + 2}
    by_title = {line.split()[1]: line.split(maxsplit=2)[2] for line in checks}
    assert by_title["模型"] == "`llm.backend: fake`：回答来自文件，而不是模型"
    assert "          解决：skills-runtime init" in lines
    assert re.fullmatch(r"在这里可以运行。\d 个警告", summary)


def test_the_document_of_the_doctor_stays_english(workspace: Path, chinese: None) -> None:
    write_config(workspace, say("好。"))
    checks = json.loads(invoke("doctor", "--config", "kgent.yaml", "--json").out)["checks"]
    assert all(check["fact"].isascii() and check["fix"].isascii() for check in checks)


def test_a_skill_is_created_executed_and_listed_in_chinese(workspace: Path, chinese: None) -> None:
    created = invoke("skills", "new", "word-count", "--python")
    assert (created.code, created.out) == (0, ".agents/skills/word-count/SKILL.md\n")
    assert created.err.startswith("下一步：\n  skills-runtime skills exec word-count --input ")
    assert invoke("skills", "exec", "word-count", "--input", '{"text": "one two"}').code == 0
    failed = invoke("skills", "exec", "word-count", "--input", "{}")
    (execution,) = Path(".skills_runtime_sdk/executions").glob(f"{re.findall(r'exec-[0-9a-f]{12}', failed.err)[0]}")
    assert failed.err.splitlines()[-4:] == [
        "错误：退出码 2",
        "  详情：Skill exited with code 2",
        "  类型：exit_code",
        f"  提示：它的文件在 {execution}；`skills-runtime executions show {execution.name}` 显示详情",
    ]
    rows = [line.split("  ")[1] for line in invoke("executions", "list").out.splitlines()]
    assert [row.strip() for row in rows] == ["失败", "已完成"]
    listed = invoke("skills", "list").out.splitlines()
    assert listed[0] == "可用      $[project].word-count  [python]"
    assert listed[-1] == "6 个技能：5 个内置，1 个可用"
    trusted = invoke("skills", "trust", "word-count", "--remove").out
    assert trusted == f"技能 {workspace / '.agents/skills/word-count'} 不再受信任\n"


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
