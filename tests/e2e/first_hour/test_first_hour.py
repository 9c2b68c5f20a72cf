"""README and tutorial as a stranger follows them: every command is the page's own, typed into a terminal.

Only `URL` is replaced, as the pages say, and port 8000 by the port that the service prints. What a person does besides
typing commands is here: answers to questions, and what the pages describe in Studio, with their names of its buttons.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.first_hour.conftest import Stranger, install_commands
from tests.e2e.first_hour.shells import CTRL_C, Shell, Talk, open_shell
from tests.e2e.first_hour.walks import Step, steps_of
from tests.support import ROOT
from tests.support.model_server import ModelServer

OPEN = re.compile(r"(?:Open|打开) ((http://127\.0\.0\.1:\d+)/\S+)")
WRONG = re.compile(r"Traceback|\bwarning\b|^error|^错误|^注意|^notice", re.IGNORECASE | re.MULTILINE)
PATIENCE_MS = 20_000


@dataclass(frozen=True)
class Words:
    """What a page and the program say in one language."""

    suffix: str
    locale: str
    browser_locale: str
    task: str
    shipped: str
    allow: str
    skills: str
    new_skill: str
    name: str
    description: str
    program: str
    create: str
    run: str
    text: str
    result: str
    new_run: str
    task_field: str
    start: str
    approve: str
    done: str
    asks: Mapping[str, str]
    """What the commands ask and say."""

    @property
    def buttons(self) -> tuple[str, ...]:
        """What the page tells to press in Studio."""
        return (self.skills, self.new_skill, self.create, self.run, self.new_run, self.start, self.approve)


ENGLISH = Words(
    suffix=".md", locale="C.UTF-8", browser_locale="en-GB", task="Delete the build directory",
    shipped="shipped, waiting for the receipt", allow="allow? [y/n] ", skills="Skills", new_skill="New skill",
    name="Name", description="Description", program="Program", create="Create", run="Run", text="Text (required)",
    result="Output", new_run="New run", task_field="Task", start="Start", approve="Approve once", done="Completed",
    asks={
        "allow": "allow? ", "provider": "Provider [1]: ", "address": "Address [", "key": "only its name is stored",
        "model": "Model (number or name): ", "trust": "Trust the skills in", "example": "Create an example skill?",
        "stop": "Press Ctrl-C to stop.", "no key": "✗ key",
    },
)  # fmt: skip
CHINESE = Words(
    suffix=".zh-CN.md", locale="zh_CN.UTF-8", browser_locale="zh-CN", task="删除 build 目录",
    shipped="已发货，等待回执", allow="是否批准？[y/n] ", skills="技能", new_skill="新建技能",
    name="名称", description="描述", program="程序", create="创建", run="运行", text="Text（必填）",
    result="输出", new_run="新建运行", task_field="任务", start="开始", approve="仅批准这一次", done="已完成",
    asks={
        "allow": "允许吗？", "provider": "服务商 [1]：", "address": "地址 [", "key": "只保存它的名称",
        "model": "模型（编号或名称）", "trust": "信任 ", "example": "创建一个示例技能吗？",
        "stop": "按 Ctrl-C 停止。", "no key": "✗ 密钥",
    },
)  # fmt: skip

every_language = pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["en", "zh"])


@dataclass
class Walk:
    """Two terminals in which a page is followed; `outputs` has what each block printed."""

    page: Path
    stranger: Stranger
    words: Words
    talks: Mapping[str, Talk]
    places: ExitStack
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    link: str = ""
    address: str = ""
    _second: Shell | None = None

    def __post_init__(self) -> None:
        self.first = self._open()

    def _open(self) -> Shell:
        shell = open_shell(self.stranger.environment(self.words.locale), self.stranger.home)
        return self.places.enter_context(shell)

    def steps(self) -> Iterator[Step]:
        """Do what the page says, block by block, and yield each block when it is done."""
        first, *rest = steps_of(self.page)
        assert first.code == install_commands()  # has been done once for all pages
        self.first.run("cd skills-runtime", {})
        for step in rest:
            if step.file:
                (self.stranger.home / "tutorial" / step.file).write_text(step.code, encoding="utf-8")
            elif step.terminal == 2:
                self.serve(step.code)
            else:
                if "-m venv" in step.code:
                    self.stranger.bring_environment()
                code = step.code.replace("http://127.0.0.1:8000", self.address)
                output = self.outputs[step.location] = self.first.run(code, self.talks, fails=step.fails)
                assert step.fails or not WRONG.search(output), (step.location, output)
            yield step
        self.stop_serving()

    def serve(self, code: str) -> None:
        """Start a service in the second terminal, in the place of the one that runs there."""
        self.stop_serving()
        self._second = self._second or self._open()
        *lines, last = code.splitlines()
        self._second.run("\n".join(lines), {})
        self._second.start(last)
        self.note_link(self._second)

    def note_link(self, shell: Shell) -> None:
        """Remember the address that a service prints."""
        shell.watch(self.words.asks["stop"])
        found = OPEN.search(shell.text)
        assert found
        self.link, self.address = found[1], found[2]

    def stop_serving(self) -> None:
        """Press Ctrl-C where a service runs."""
        if self.link and self._second:
            self._second.type(CTRL_C)
            assert self._second.wait() in (0, 130)
        self.link = ""

    def printed(self, command: str, *, fails: bool = False) -> str:
        """What the block with a command has printed."""
        return next(
            self.outputs[step.location]
            for step in steps_of(self.page)
            if step.location in self.outputs and step.fails == fails and re.search(command, step.code)
        )


def answering(*exchange: tuple[str, str]) -> Talk:
    """Wait for each text and type its answer, if it has one."""

    def talk(shell: Shell) -> None:
        for text, answer in exchange:
            shell.expect(text)
            if answer:
                shell.type(f"{answer}\n")

    return talk


def init_talk(model: ModelServer, asks: Mapping[str, str]) -> Talk:
    """Name the provider, enter its address, choose the first model, trust the folder; no example."""
    return answering(
        (asks["provider"], "litellm"),
        (asks["address"], model.base_url),
        (asks["key"], ""),
        (asks["model"], "1"),
        (asks["trust"], "y"),
        (asks["example"], "n"),
    )


def talks_of(model: ModelServer, words: Words) -> dict[str, Talk]:
    """What the user answers, by the command that asks."""
    return {
        r"^skills-runtime demo": answering((words.asks["allow"], "y")),
        r"^skills-runtime init": init_talk(model, words.asks),
        r"^skills-runtime run .*order-total": answering((words.asks["allow"], "y")),
        rf"^skills-runtime run .*{words.task}": answering(("rm -rf build", ""), (words.asks["allow"], "y")),
        r"agent\.py .* lamps$": answering((words.allow, "y")),
        r"^skills-runtime studio": lambda shell: stop_studio(shell, words),
        r"agent\.py .* &$": lambda shell: shell.watch(words.shipped),
    }


def stop_studio(shell: Shell, words: Words) -> None:
    """Press Ctrl-C once it listens."""
    shell.watch(words.asks["stop"])
    shell.type(CTRL_C)


def create_skill_in_studio(page: Page, words: Words) -> None:
    """Do what the tutorial says under "In the browser"."""
    page.get_by_role("link", name=words.skills, exact=True).first.click()
    page.get_by_role("button", name=words.new_skill).click()
    dialog = page.get_by_role("dialog", name=words.new_skill)
    dialog.get_by_role("textbox", name=words.name).fill("text-size")
    dialog.get_by_role("textbox", name=words.description).fill("Counts the words of a text.")
    dialog.get_by_role("combobox", name=words.program).select_option(label="Python")
    dialog.get_by_role("button", name=words.create).click()
    page.wait_for_url("**/skills/text-size")
    page.get_by_role("tab", name=words.run, exact=True).click()
    page.get_by_role("textbox", name=words.text).fill("one two")
    page.get_by_role("button", name=words.run, exact=True).click()
    expect(page.get_by_role("region", name=words.result, exact=True)).to_contain_text("words: 2")
    page.get_by_role("link", name=words.skills, exact=True).first.click()
    expect(page.get_by_role("link", name="order-total")).to_be_visible()


def approve_in_studio(page: Page, words: Words) -> None:
    """Start the task of the tutorial, and approve its command."""
    page.get_by_role("link", name=words.new_run, exact=True).first.click()
    page.get_by_role("textbox", name=words.task_field).fill(words.task)
    page.get_by_role("button", name=words.start, exact=True).click()
    page.get_by_role("button", name=words.approve, exact=True).first.click()
    expect(page.get_by_text(words.done).first).to_be_visible()


@pytest.fixture
def walk_of(stranger: Stranger, model: ModelServer) -> Iterator[Callable[[str, Words], Walk]]:
    """Begin to follow a page in an empty home."""
    with ExitStack() as places:

        def begin(name: str, words: Words) -> Walk:
            stranger.start_again()
            page = ROOT / f"{name}{words.suffix}"
            return Walk(page, stranger, words, talks_of(model, words), places)

        yield begin


@every_language
def test_readme(walk_of: Callable[[str, Words], Walk], model: ModelServer, words: Words) -> None:
    walk = walk_of("README", words)
    for _ in walk.steps():
        pass
    check_first_runs(walk, model)
    assert "deliverables/report.md" in walk.printed("skills-runtime demo")
    assert walk.printed("mkdir ~/shop").count("✗") == 0
    assert not (walk.stranger.home / "shop/build").exists()


@every_language
def test_tutorial(walk_of: Callable[[str, Words], Walk], model: ModelServer, browser: Browser, words: Words) -> None:
    walk = walk_of("docs/tutorial", words)
    text = walk.page.read_text(encoding="utf-8")
    assert [name for name in words.buttons if f"**{name}**" not in text] == []
    with browser.new_context(locale=words.browser_locale, reduced_motion="reduce") as context:
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        for step in walk.steps():
            if step.code.startswith("skills-runtime studio"):
                page.goto(walk.link)
                create_skill_in_studio(page, words)
            elif words.task in step.code:
                assert not (walk.stranger.home / "tutorial/build").exists()
                (walk.stranger.home / "tutorial/build").mkdir()
                approve_in_studio(page, words)
                assert not (walk.stranger.home / "tutorial/build").exists()
    check_first_runs(walk, model)
    assert words.asks["no key"] in walk.printed("skills-runtime doctor", fails=True)
    assert "completed 17 lamps are ordered." in walk.printed("agent.py .* lamps")
    resumed = walk.printed("cat shipped.txt")
    assert (walk.stranger.home / "tutorial/shipped.txt").read_text() == "chair\n"
    assert "completed" in resumed
    assert "✓" in walk.printed("runs verify chair")


def check_first_runs(walk: Walk, model: ModelServer) -> None:
    """Check what both pages do first: a task, a skill by command, HTTP and model."""
    assert "Two products were ordered: 2 lamps and 1 chair." in walk.printed("runs show last")
    assert all(request["stream"] for request in model.requests)
    assert '"total": 140.0' in walk.printed("skills exec order-total")
    assert "The total is 140." in walk.printed(r"run .*\$order-total")
    assert "140" in walk.printed("curl")
