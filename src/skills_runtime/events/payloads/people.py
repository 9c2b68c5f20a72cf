"""What people say to a run, and what it is given to start with."""

from typing import Any, ClassVar

from skills_runtime.events.envelope import Payload


class HumanRequest(Payload, frozen=True):
    """The run asks a person; `questions` has them all when there are several."""

    event_type: ClassVar[str] = "human_request"
    call_id: str
    question: str = ""
    choices: list[str] = []
    context: str = ""
    tool: str = ""
    questions: list[dict[str, Any]] = []


class HumanResponse(Payload, frozen=True):
    """A person answered; `answers` has every answer by the id of its question."""

    event_type: ClassVar[str] = "human_response"
    call_id: str
    answer: str = ""
    answers: dict[str, str] = {}


class InboxReceived(Payload, frozen=True):
    """A durable message reached the run; its id is taken exactly once."""

    event_type: ClassVar[str] = "inbox_received"
    message_id: str
    position: int
    kind: str
    body: dict[str, Any] = {}
    sent_at: str = ""


class HistoryLoaded(Payload, frozen=True):
    """What was said in the session before this run."""

    event_type: ClassVar[str] = "history_loaded"
    messages: list[dict[str, str]]
    runs: list[str] = []


class ImagesAttached(Payload, frozen=True):
    """Pictures that belong to the task: `media_type`, `name`, and the `blob` that holds each."""

    event_type: ClassVar[str] = "images_attached"
    images: list[dict[str, str]]


class SkillInjected(Payload, frozen=True):
    """A skill's text became part of the conversation; `text_blob` holds it exactly."""

    event_type: ClassVar[str] = "skill_injected"
    skill_name: str
    skill_path: str = ""
    namespace: str = ""
    skill_locator: str = ""
    source: str = "mention"
    mention_text: str = ""
    space_id: str | None = None
    source_id: str | None = None
    render: str = "body"
    text_blob: str | None = None
    size: int = 0
    """How long the text is."""
    digest: str = ""
    """Of what the skill says, so that a changed one is known."""
    arguments: str = ""
    permits: list[dict[str, Any]] = []
    """Rules for what it lists in `allowed-tools`."""
    preapproves: bool = False
    """These rules hold as long as it is active."""
    confines: bool = False
    """Nothing but what it lists may run meanwhile."""


class SkillUnloaded(Payload, frozen=True):
    """A skill is not active any more: what it permits ends, and its text goes with the next summary."""

    event_type: ClassVar[str] = "skill_unloaded"
    mention_text: str
    reason: str = ""


class SkillInjectionSkipped(Payload, frozen=True):
    """A skill was asked for and left out."""

    event_type: ClassVar[str] = "skill_injection_skipped"
    skill_name: str
    skill_path: str = ""
    reason: str = ""
    missing_env_vars: list[str] = []
    policy: str = ""


class EnvVarRequired(Payload, frozen=True):
    """A skill needs an environment variable that nobody has set."""

    event_type: ClassVar[str] = "env_var_required"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    source: str = "skill_dependency"
    policy: str = ""


class EnvVarSet(Payload, frozen=True):
    """Somebody has given the variable; its value is never recorded."""

    event_type: ClassVar[str] = "env_var_set"
    env_var: str
    skill_name: str = ""
    skill_path: str = ""
    value_source: str = "human"
