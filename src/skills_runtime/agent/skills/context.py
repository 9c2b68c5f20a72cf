"""The skills of an agent and its runs: which exist, which are active, and how changes are reported to the model.

The log records which skills the model knows, so a resumed run reports changes exactly once.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.loop.calls import ACTIVATE
from skills_runtime.agent.loop.ports import SkillChanges
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.skills.permissions import SkillPermissions, initial_skills, revoke_stale_preapproval
from skills_runtime.errors import ConfigError, SkillsRuntimeError
from skills_runtime.events import Payload, SkillCatalogOffered, SkillInjected, SkillInjectionSkipped
from skills_runtime.ports import InboxMessage, Question
from skills_runtime.runs import Run
from skills_runtime.skills import (
    Injected,
    Library,
    PromptChoices,
    Skill,
    apply_template,
    build_entries,
    compute_delta,
    compute_marks,
    decode_marks,
    estimate_tokens,
    inject_skill,
    resolve_prompt_choices,
    select_skills,
)

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Secrets

MIN_POLL_SECONDS = 0.25
"""Minimum time between two checks for changed skills."""
MIN_POLL_RATIO = 20
"""Wait at least this many times as long as the last check took."""
SECONDS_PER_SKILL = 5e-6
"""Estimated time to check one skill."""
MAX_LISTED_SKILLS = 100
"""Maximum number of skills per list in the event."""
ACTIVATION_NOTE = f"(`{ACTIVATE}` also accepts new skills that are not in its list.)"
_MENTION_SIGNS = ("$", "/")
"""Every form of a mention contains one of these."""


def library_for(resolved: "Resolved", options: AgentOptions, variables: Mapping[str, str]) -> Library:
    """Return the skills of a run, with the variables that users were asked for."""
    if options.library is None:
        # Loads all of the settings code, which importing an agent must not.
        from skills_runtime.skills import (
            load_library,
        )

        library = load_library(resolved, variables)
        return library.without(options.disabled_skills) if options.disabled_skills else library
    for name, value in variables.items():
        options.library.set_variable(name, value)
    return options.library


@cache
def empty_library() -> Library:
    """Return the shared library of runs without skills."""
    return Library()


def resolve_disabled_paths(paths: Iterable[Path | str], workspace_root: Path) -> tuple[Path, ...]:
    """Return the paths of skills to leave out; raise `ConfigError` for a path that does not exist."""
    disabled: list[Path] = []
    for entry in paths:
        path = workspace_root / Path(entry).expanduser()
        if not os.path.lexists(path):
            raise ConfigError(
                f"`skills_disabled_paths` names `{entry}`, which does not exist",
                hint="name a `SKILL.md`, its directory, or a directory above it",
            )
        disabled.append(path)
    return tuple(disabled)


class SkillContext:
    """The skills of one run while it works."""

    def __init__(self, run: Run, resolved: "Resolved", options: AgentOptions, library: Library) -> None:
        self._run = run
        self._options = options
        self._library = library
        self._permissions = SkillPermissions(resolved)

    def active(self) -> Mapping[str, tuple[str, str]]:
        """Return the active skills by mention: content digest and arguments of each."""
        skills = self._run.view.conversation.skills
        return {mention: (skill.digest, skill.arguments) for mention, skill in skills.items()}

    def is_user_call(self, call_id: str) -> bool:
        """Return whether the call was made by the run because the user named the skill."""
        return call_id in self._run.view.conversation.called_skills

    def add_permissions(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """Return the event with the permissions of the skill."""
        permitted = self._permissions(skill, event)
        if not permitted.preapproves:
            return permitted
        return revoke_stale_preapproval(permitted, skill, self._options.initial_skills, initial_skills(self._run))

    def is_confined(self) -> bool:
        """Return whether an active skill restricts the run to its `allowed-tools`."""
        return bool(self._run.view.pending.approvals.confining)

    async def obtain_variable(self, skill: Skill, variable: str) -> bool:
        """Ask the user for a variable and return whether there is a value; it stays in memory and is redacted."""
        human, secrets = self._options.human, self._options.secrets
        if human is None or secrets is None:
            return False
        question = Question(
            id=variable, question=f"The skill `{skill.name}` needs the variable `{variable}`. What is its value?"
        )
        try:
            value = await human.ask(question, call_id=f"variable_{variable}")
        except ConfigError:  # no terminal to ask at
            return False
        secrets.hide(value)
        self._library.set_variable(variable, value)
        return bool(value)


class InboxSkills:
    """Build the events for skills that inbox messages mention."""

    def __init__(
        self,
        run: Run,
        resolved: "Resolved",
        options: AgentOptions,
        secrets: "Secrets",
        *,
        on_activation: Callable[[], None] = lambda: None,
    ) -> None:
        self._run = run
        self._resolved = resolved
        self._options = options
        self._secrets = secrets
        self._on_activation = on_activation
        """Called when a message has activated a skill."""
        self._library = options.library or empty_library()

    def __call__(self, message: InboxMessage) -> Iterable[Payload]:
        """Return the events for the skills of a message; messages without a mention sign return early."""
        text = str(message.body.get("text", "")) if message.kind == "steer" else ""
        if not any(sign in text for sign in _MENTION_SIGNS):
            return ()
        choices = resolve_prompt_choices(apply_template(self._resolved.settings.prompt, self._options.templates))
        return self._events(text, choices) if choices.injection != "none" else ()

    def _events(self, text: str, choices: PromptChoices) -> list[Payload]:
        library = self._library
        try:
            chosen = select_skills(text, (text,), library, route=False, list_available=False)
        except (
            SkillsRuntimeError
        ) as error:  # an exact mention of an unknown skill; in the first prompt this would have refused the run
            return [_skipped_event(str(error.details.get("mention", "")), f"no skill was activated: {error.message}")]
        events: list[Payload] = list(chosen.unresolved)
        for skill in chosen.skills:
            outcome = _outcome(skill, library, choices, chosen.arguments.get(skill.mention, ""))
            events += self._activation_events(outcome)
        if any(isinstance(event, SkillInjected) for event in events):
            self._on_activation()
        return events

    def _activation_events(self, outcome: Injected | SkillInjectionSkipped) -> list[Payload]:
        """Return the activation event of a skill, or nothing if it is active already with the same arguments."""
        if not isinstance(outcome, Injected):
            return [outcome]
        event, active = outcome.event, self._run.view.conversation.skills.get(outcome.event.mention_text)
        if active is not None and (active.digest, active.arguments) == (event.digest, event.arguments):
            return []
        text = self._secrets.text(outcome.text)
        event = msgspec.structs.replace(event, text_blob=self._run.put_blob(text.encode()), size=len(text))
        skills = SkillContext(self._run, self._resolved, self._options, self._library)
        return [skills.add_permissions(outcome.skill, event)]


def _outcome(
    skill: Skill, library: Library, choices: PromptChoices, arguments: str
) -> Injected | SkillInjectionSkipped:
    """Return the injected skill or the reason to skip it; variables and runs of their own need `activate_skill`."""
    name = skill.mention.text
    if skill.metadata.get("context") == "fork":
        return _skipped_event(skill.name, f"`{name}` needs a run of its own: activate it with `activate_skill`")
    try:
        outcome = inject_skill(skill, library, choices.render, arguments)
    except SkillsRuntimeError as error:
        return _skipped_event(skill.name, f"`{name}` was left out: {error.message}")
    if isinstance(outcome, tuple):
        missing = ", ".join(f"`{variable.name}`" for variable in outcome)
        return _skipped_event(skill.name, f"`{name}` needs {missing}: activate it with `activate_skill`")
    return outcome


def _skipped_event(name: str, reason: str) -> SkillInjectionSkipped:
    return SkillInjectionSkipped(skill_name=name, reason=reason)


class SkillReloader(SkillChanges):
    """Detect and record changes of a run's skills."""

    def __init__(self, library: Library, run: Run) -> None:
        self._library = library
        self._clock = run.ports.clock
        self._next_poll = self._clock.monotonic() + max(
            MIN_POLL_SECONDS, MIN_POLL_RATIO * SECONDS_PER_SKILL * len(library.list())
        )
        self._offered_list: object = None
        """The list of skills that was last compared with what the model knows."""

    def is_due(self) -> bool:
        """Return whether skills may have changed; cheap, because it is called at every turn."""
        return self._clock.monotonic() >= self._next_poll or self._library.list() is not self._offered_list

    async def record(self, run: Run) -> None:
        """Record the difference between the current skills and those the model knows from the log."""
        offered_digest = run.view.conversation.skills_blob
        began = self._clock.monotonic()
        if began >= self._next_poll:
            if offered_digest:
                await asyncio.to_thread(self._library.refresh)
            start = self._clock.monotonic()
            self._next_poll = start + max(MIN_POLL_SECONDS, MIN_POLL_RATIO * (start - began))
        if self._library.list() is self._offered_list:
            return
        event = self._build_event(run, offered_digest) if offered_digest else None
        self._offered_list = self._library.list()
        if event is not None:
            run.append(event)

    def _build_event(self, run: Run, offered_digest: str) -> SkillCatalogOffered | None:
        marks = compute_marks(self._library)
        if marks.digest == offered_digest:
            return None
        try:
            offered = decode_marks(run.blobs.get(offered_digest))
        except (SkillsRuntimeError, msgspec.MsgspecError):  # an imported run without its blobs
            return None
        delta = compute_delta(offered, build_entries(marks.skills))
        if not delta:
            return None
        text = "\n".join((delta.text(), *((ACTIVATION_NOTE,) if delta.added else ())))
        return SkillCatalogOffered(
            level="full",
            offered=len(marks.skills),
            tokens=estimate_tokens(text),
            reason="skills changed while the run was working",
            added=[entry.mention for entry in delta.added[:MAX_LISTED_SKILLS]],
            changed=[entry.mention for entry in delta.changed[:MAX_LISTED_SKILLS]],
            removed=list(delta.removed[:MAX_LISTED_SKILLS]),
            text=text,
            skills_blob=run.put_blob(marks.data),
        )
