"""What a run waits for, as lines: the question, what may be answered, and the command that answers it."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.render.console import labelled
from skills_runtime.cli.render.text import one_line
from skills_runtime.cli.waits import Wait


def wait_lines(wait: Wait, *, indent: int, width: int, titled: bool = True) -> Iterator[RenderableType]:
    """One thing that is waited for; without its title where that stands elsewhere."""
    if titled:
        yield Padding(Text(one_line(wait.what)), (0, 0, 0, indent), expand=False)
    offered = {str(number): one_line(choice) for number, choice in enumerate(wait.choices, start=1)}
    offered |= {one_line(name): one_line(text) for name, text in wait.parts.items()}
    for facts in (offered, dict(wait.commands)):
        if facts:
            yield labelled(facts, indent=indent, width=width)
