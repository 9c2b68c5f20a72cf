"""A chat: one run per typed message, in one session."""

import signal
import sys
from dataclasses import dataclass

try:
    import readline
except ImportError:  # Python may be built without it
    readline = None

from rich.console import Console
from rich.text import Text

from skills_runtime.agent import describe_models
from skills_runtime.cli.language import translate
from skills_runtime.cli.live import continue_turn, create_run
from skills_runtime.cli.options import ConfigOptions, ViewOptions, open_service
from skills_runtime.cli.output import counted, labeled_table, local_time, short_id, stderr_console
from skills_runtime.cli.program import Program, exit_code_for_signal, report_error
from skills_runtime.cli.run_text import CommandFor
from skills_runtime.cli.run_view import RunOutcome
from skills_runtime.cli.terminal import InteractionOptions, read_line_sync
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.config import Resolved
from skills_runtime.engine import RunFilter, RunRequest
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.text import readable

_EXITS = ("/exit", "/quit")
_COMMANDS = ("/help", "/runs")
_MAX_COUNTED_TURNS = 100
_STYLE_START, _STYLE_END = "\001\x1b[1;36m\002", "\001\x1b[0m\002"
"""Bold cyan, in the marks by which the line editor knows that it takes no room."""


def new_session_id() -> str:
    """Return an id for a new chat: its date and time, and a few random characters."""
    time = local_time(SystemClock().now(), form="%Y%m%d-%H%M")
    return f"chat-{time}-{RandomIds().new('chat')[-4:]}"


@dataclass(slots=True)
class Chat:
    """The settings of a chat, and the turn that Ctrl-C stopped."""

    session_id: str
    resolved: Resolved
    config: ConfigOptions
    view: ViewOptions
    program: Program
    participants: InteractionOptions
    stopped_run: str | None = None

    def run(self) -> int:
        """Answer typed messages until the user leaves; return the exit code of the last turn."""
        console = stderr_console(no_color=self.view.no_color)
        self._show_heading(console)
        code = 0
        try:
            while (message := _read_message(console)) is not None:
                if message in _EXITS:
                    break
                if message in _COMMANDS:  # any other word with a slash may be the name of a skill
                    self._show_command(message, console)
                elif message:
                    code, is_over = self._answer(message)
                    if is_over:
                        break
        except KeyboardInterrupt:
            console.print()
            code = exit_code_for_signal(signal.SIGINT)
        self._show_continuation(console)
        return code

    def _answer(self, message: str) -> tuple[int, bool]:
        """Execute one turn; return its exit code, and whether a signal ends the chat."""
        try:
            ending = self._execute(message)
        except SkillsRuntimeError as error:  # such as a missing skill: the next message may work
            return report_error(error, self.program), False
        sys.stdout.flush()
        self.stopped_run = ending.state.run_id if ending.is_stopped else None
        return ending.exit_code, ending.signal not in (None, signal.SIGINT)

    def _execute(self, message: str) -> RunOutcome:
        options = (self.resolved, self.config, self.view, self.program, self.participants)
        if self.stopped_run is not None:
            return continue_turn(self.stopped_run, message, *options)
        return create_run(RunRequest(prompt=message, session_id=self.session_id), *options)

    def _show_heading(self, console: Console) -> None:
        with open_service(self.config) as service:
            turns = len(service.list_runs(RunFilter(session_id=self.session_id), limit=_MAX_COUNTED_TURNS))
        facts = [translate("chat.id", "chat {id}", id=self.session_id), describe_models(self.resolved)]
        if turns:
            facts.append(counted(turns, "turn") + ("+" if turns == _MAX_COUNTED_TURNS else ""))
        console.print(Text(" · ".join([*facts, translate("chat.help", "/help lists commands")]), style="dim"))

    def _show_command(self, command: str, console: Console) -> None:
        if command == "/runs":
            lists = CommandFor(self.program.name, self.session_id)("runs list --session")
            console.print(Text(f"  {lists}"))
            return
        console.print(labeled_table(_describe_commands(), indent=2, width=0))

    def _show_continuation(self, console: Console) -> None:
        """Print the commands that continue the chat, and the turn that was stopped."""
        name = self.program.name
        chat = CommandFor(name, self.session_id)("chat --session")
        lines = [translate("chat.continue", "continue with: {command}", command=chat)]
        if self.stopped_run is not None:
            resume = CommandFor(name, short_id(self.stopped_run))("runs resume")
            lines.append(translate("chat.stopped_turn", "the stopped turn: {command}", command=resume))
        for line in lines:
            console.print(Text(line, style="dim"))


def _describe_commands() -> dict[str, str]:
    """Describe what can be typed besides a message."""
    return {
        "/help": translate("chat.help_key", "show these commands"),
        "/runs": translate("chat.runs_key", "show the command that lists the runs of this chat"),
        "/exit": translate("chat.exit_key", "leave the chat; Ctrl-D does the same"),
        "Ctrl-C": translate("chat.stop_key", "stop the answer; your next message continues from there"),
    }


def _prompt() -> str:
    return translate("chat.prompt", "you> ")


def _read_message(console: Console) -> str | None:
    """Prompt for a message; return None at the end of the input."""
    if sys.stdout.isatty() and readline is not None:
        return _read_edited(console)
    console.print(Text(_prompt(), style="bold cyan"), end="")
    console.file.flush()
    line = read_line_sync(sys.stdin.fileno())
    if line is None:
        console.print()
    return None if line is None else line.strip()


def _read_edited(console: Console) -> str | None:
    """Read a message that can be edited with the arrow keys, with the earlier ones as history."""
    color = console.color_system is not None
    prompt = f"{_STYLE_START}{_prompt()}{_STYLE_END}" if color else _prompt()
    try:
        return readable(input(prompt)).strip()
    except EOFError:
        console.print()
        return None
    except UnicodeDecodeError:
        text = translate("chat.not_text", "the message is not valid text in this encoding; type it again")
        console.print(Text(text, style="yellow"))
        return ""
