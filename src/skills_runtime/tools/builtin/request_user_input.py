"""request_user_input: several questions to a person at once."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from skills_runtime.errors import ToolError
from skills_runtime.ports import Choice, Question, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.arguments import Arguments, parse, schema_of

MAX_QUESTIONS = 20
MAX_OPTIONS = 50
MAX_CHARS = 20_000


class Option(Arguments, frozen=True):
    """One answer that is offered."""

    label: Annotated[str, Meta(min_length=1, max_length=2000, description="The answer.")]
    description: Annotated[str, Meta(max_length=MAX_CHARS, description="What choosing it means.")] = ""


class AskedQuestion(Arguments, frozen=True):
    """One question."""

    id: Annotated[str, Meta(min_length=1, max_length=200, description="A name for the answer, each only once.")]
    question: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS, description="What to ask.")]
    header: Annotated[str, Meta(max_length=200, description="A title of a few words.")] = ""
    options: Annotated[list[Option], Meta(max_length=MAX_OPTIONS, description="Answers to choose from.")] | None = None


class RequestUserInputArguments(Arguments, frozen=True):
    """What request_user_input takes."""

    questions: Annotated[
        list[AskedQuestion], Meta(min_length=1, max_length=MAX_QUESTIONS, description="What to ask, in order.")
    ]


class RequestUserInput:
    """Asks a person several things; the run may wait for days."""

    spec = ToolSpec(
        name="request_user_input",
        description="Ask the user one or more questions, with answers to choose from, and wait for all answers.",
        parameters=schema_of(RequestUserInputArguments),
        effect="read",
        recovery="retry",
        max_parallel=1,
    )

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Ask."""
        wanted = parse(arguments, RequestUserInputArguments)
        names = [one.id for one in wanted.questions]
        if len(set(names)) < len(names):
            raise ToolError("validation", "two questions have the same `id`", hint="give each its own")
        given = await context.ask(*map(_question, wanted.questions))
        answers = [{"id": name, "answer": given[name]} for name in names]
        stdout = "\n".join(f"{one['id']}: {one['answer']}" for one in answers)
        return ToolResult(ok=True, stdout=stdout, data={"answers": answers})


def _question(one: AskedQuestion) -> Question:
    choices = tuple(Choice(option.label, option.description) for option in one.options or ())
    return Question(id=one.id, question=one.question, header=one.header, choices=choices)
