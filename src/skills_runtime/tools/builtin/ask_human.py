"""ask_human: ask the user a question."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.ports import Choice, Question, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, build_schema, parse

MAX_CHARS = 20_000
MAX_CHOICES = 50

_Option = Annotated[str, Meta(min_length=1, max_length=2000)]


class AskHumanArguments(Arguments, frozen=True):
    """Arguments of ask_human."""

    question: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS, description="The question.")]
    choices: Annotated[list[_Option], Meta(max_length=MAX_CHOICES, description="Answers to choose from.")] | None = None
    context: Annotated[str, Meta(max_length=MAX_CHARS, description="Context needed to answer.")] | None = None


class AskHuman:
    """Asks the user; the run may wait for days."""

    spec = ToolSpec(
        name="ask_human",
        description="Ask the user something that you cannot find out or decide yourself, and wait for the answer.",
        parameters=build_schema(AskHumanArguments),
        effect="read",
        recovery="retry",
        max_parallel=1,
        example={"question": "Well?"},
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Ask and return the answer."""
        args = parse(arguments, AskHumanArguments)
        question = Question(
            question=args.question,
            choices=tuple(map(Choice, args.choices or ())),
            context=args.context or "",
        )
        answer = (await context.ask(question))[question.id]
        return ToolResult(ok=True, stdout=answer, data={"answer": answer})
