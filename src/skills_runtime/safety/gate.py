"""The policy check of a call: describe it, decide it by the rules, and ask for approval where they say so.

Nothing passes by omission: no rule means ask, and no approver means deny.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from skills_runtime.errors import ApprovalDenied, SkillsRuntimeError, ToolError
from skills_runtime.ports import (
    Approver,
    Effect,
    FileTouch,
    Intent,
    Tool,
    ToolApproval,
    ToolContext,
    ToolSpec,
    Undecided,
)
from skills_runtime.projections import Approvals, ResolvedApproval
from skills_runtime.safety.approvals.request import RequestDraft, draft_request, request_key
from skills_runtime.safety.approvals.resolve import CHANGED_MESSAGE, ApprovalContext, AskOptions, ask, void_request
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Allow, Ask, Deny, PolicyDecision, Rule, Rules, decide, load_rules
from skills_runtime.safety.policy.decide import MODES_THAT_ASK, is_fully_allowed
from skills_runtime.safety.sanitize import Fingerprint, sanitize

APPROVALS = frozenset({"approved", "approved_for_session"})
MAX_REASSESSMENTS = 5
"""How often a call may change while its approval is pending."""
DESCRIPTION_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""Errors that a tool's own description may raise."""
MAX_DENIALS = 2
"""How often one request may be denied before the run ends: a model that asks again and again does not listen."""
RUN_RULE_ORIGIN = "added for this run"
ALWAYS_AVAILABLE_TOOLS = frozenset(
    {
        "activate_skill", "unload_skill", "search_skills", "read_skill_file", "skill_ref_read", "update_plan",
        "ask_human", "request_user_input",
    }
)  # fmt: skip
"""Tools by which a model finds out what to do, and ends what confines it."""


DecisionCache = dict[tuple[str, Effect, ToolApproval | None], PolicyDecision]
"""Decisions by the name of a tool, its effect and what it says about approvals."""


def never_sandboxed() -> bool:
    """Return that commands run without a sandbox."""
    return False


class Abort(ApprovalDenied):
    """An approver wants the run to end here."""


class GateContext(ToolContext, ApprovalContext, Protocol):
    """The call as a tool sees it and as asking sees it."""

    @property
    def approved_keys(self) -> list[str]:
        """The key of what was approved; the gate puts it there."""
        ...


class Assessment(msgspec.Struct, frozen=True):
    """What a call would do, and what the rules say about it."""

    intent: Intent | None
    decision: PolicyDecision


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one run, and who is asked."""

    rules: Rules = Rules()
    approver: Approver | None = None
    timeout_ms: int | None = None
    expires_sec: float = 7 * 24 * 3600
    fingerprint: Fingerprint = Fingerprint()
    remembered: dict[str, str] = {}
    """What was approved for the session in other runs of it."""
    undecided: dict[str, int] = {}
    """How often no decision was made about a host while a command waited, by key."""
    decision_cache: DecisionCache = {}
    """What the rules say of tools that tell nothing but their effect: the same for every call."""
    is_sandboxed: Callable[[], bool] = never_sandboxed
    """Tells whether commands of the run execute in an active sandbox; asked only where mode `auto` needs it."""

    def decide(self, spec: ToolSpec, intent: Intent | None, approvals: Approvals) -> PolicyDecision:
        """Decide a call by the rules, including those added for this run."""
        if intent is None and (not (approvals.rules or approvals.permits or approvals.confining)):
            return self._decide_by_effect(spec)
        facts = assess(spec, add_real_paths(intent))
        rules = self._add_sandbox(spec, add_run_rules(self.rules, approvals.rules))
        decision = deny_unlisted_call(facts, rules, approvals) or decide(facts, rules)
        return apply_skill_permits(facts, rules, approvals, decision)

    def _add_sandbox(self, spec: ToolSpec, rules: Rules) -> Rules:
        """Return the rules, with what is known of the sandbox where that matters: finding out starts a process."""
        if not spec.contained or (rules.mode != "auto" and not any(rule.digest for rule in rules.rules)):
            return rules
        return msgspec.structs.replace(rules, sandboxed=self.is_sandboxed())

    def _decide_by_effect(self, spec: ToolSpec) -> PolicyDecision:
        key = (spec.name, spec.effect, spec.approval)
        decision = self.decision_cache.get(key)
        if decision is None:
            decision = self.decision_cache[key] = decide(assess(spec, None), self._add_sandbox(spec, self.rules))
        return decision

    async def assess(self, tool: Tool, arguments: Mapping[str, Any], context: GateContext) -> Assessment:
        """Find out what a call would do, and decide on it."""
        intent = await _describe_intent(tool, arguments, context)
        return Assessment(intent, self.decide(tool.spec, intent, context.approvals))

    async def admit(
        self, tool: Tool, arguments: Mapping[str, Any], context: GateContext, assessed: Assessment | None = None
    ) -> str | None:
        """Why a call may not run, or nothing; raises `Parked` to decide later, `ApprovalDenied` where the run ends.

        `assessed` is for a caller who has assessed the call just now.
        """
        for _ in range(MAX_REASSESSMENTS):
            assessment, assessed = assessed or await self.assess(tool, arguments, context), None
            match assessment.decision:
                case Deny():
                    return _denial(assessment.decision)
                case Allow() if self.approver is None or _decided_key(context) is None:
                    return None
                case Allow() | Ask() as decision:
                    pass
            if self.approver is None:
                return "no approver is available"
            preview = getattr(tool, "preview", None)
            intent = assessment.intent if preview is None else await _call_describe(tool, preview, arguments, context)
            draft = self._draft_request(tool, arguments, decision, intent)
            is_allowed = isinstance(decision, Allow)
            if is_allowed:  # no question; the decision is recorded, even if the call has changed since
                draft = msgspec.structs.replace(draft, key=_decided_key(context) or draft.key)
            settled = await ask(draft, context, self._ask_options(self.approver))
            refusal = _refusal(settled, context.approvals)
            if refusal is not None:
                return refusal
            edited_blob = settled.arguments_blob
            final = msgspec.json.decode(context.fetch(edited_blob)) if edited_blob is not None else arguments
            refusal = await self._check_edited(tool, final, context) if edited_blob is not None else None
            if refusal is not None:
                return refusal
            current = await _preview_or_intent(tool, final, context)
            key = self._key(tool, final, current)
            if key == draft.key or (_runs_same_code(draft.intent, current) if edited_blob is not None else is_allowed):
                context.approved_keys[:] = [key]
                return None
            void_request(context, settled.approval_id, settled.approval_key)
        return "the call changes each time it is checked, so it cannot be approved"

    async def confirm(self, tool: Tool, arguments: Mapping[str, Any], context: GateContext) -> None:
        """Raise where an approved call would no longer do what was approved."""
        key = self._key(tool, arguments, await _preview_or_intent(tool, arguments, context))
        if [key] != context.approved_keys:
            raise ToolError("permission", CHANGED_MESSAGE, hint="call again, so that it is asked about as it is now")

    async def may_reach(self, host: str, port: int, tool: str, context: ApprovalContext) -> bool:
        """Ask whether a call may reach a host; raise `Undecided` without a decision."""
        if self.approver is None:
            raise Undecided("no rule allows it, and no approver is available")
        from skills_runtime.safety.approvals.resolve import ask_about_host

        decision = await ask_about_host(host, port, tool, context, self._ask_options(self.approver))
        if decision == "abort":
            raise Abort("the approver stopped the run")
        return decision == "approved"

    async def _check_edited(self, tool: Tool, arguments: Mapping[str, Any], context: GateContext) -> str | None:
        """Return why a call may not run with the approver's arguments: rules that deny still apply."""
        decision = self.decide(tool.spec, await _describe_intent(tool, arguments, context), context.approvals)
        return _denial(decision) if isinstance(decision, Deny) else None

    def _ask_options(self, approver: Approver) -> AskOptions:
        return AskOptions(
            approver=approver,
            timeout_ms=self.timeout_ms,
            expires_sec=self.expires_sec,
            remembered=self.remembered,
            undecided=self.undecided,
            folder=_real_root(self.rules),
        )

    def _draft_request(
        self, tool: Tool, arguments: Mapping[str, Any], decision: Allow | Ask, intent: Intent | None
    ) -> RequestDraft:
        facts = assess(tool.spec, intent)  # as it would be now: a file may turn out to be new
        asked_by = Ask(decision.rule, decision.justification)
        return draft_request(tool.spec, arguments, intent or Intent(), facts, asked_by, self.fingerprint)

    def _key(self, tool: Tool, arguments: Mapping[str, Any], intent: Intent | None) -> str:
        return request_key(tool.spec, sanitize(tool.spec, arguments, self.fingerprint), intent, self.fingerprint)


def add_real_paths(intent: Intent | None) -> Intent | None:
    """Add the real path of every linked path to the intent, because rules apply to those as well."""
    if intent is None or not any(touch.real for touch in intent.files):
        return intent
    real = tuple(FileTouch(path=touch.real, touch=touch.touch) for touch in intent.files if touch.real)
    return msgspec.structs.replace(intent, files=(*intent.files, *real))


async def _describe_intent(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Intent | None:
    describe = getattr(tool, "intent", None)
    return await _call_describe(tool, describe, arguments, context) if describe is not None else None


async def _call_describe(tool: Tool, describe: Any, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
    """Let a tool describe a call; raise when it cannot, so that the call is refused."""
    try:
        answer = describe(arguments, context)
        intent: object = await answer if inspect.isawaitable(answer) else answer
    except DESCRIPTION_ERRORS as error:
        raise ToolError("unknown", f"`{tool.spec.name}` cannot tell what it would do: {error!r}") from error
    if not isinstance(intent, Intent):
        raise ToolError("unknown", f"`{tool.spec.name}` tells `{type(intent).__name__}` instead of an `Intent`")
    return intent


async def _preview_or_intent(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> Intent | None:
    """Describe a call for the approver, as things are now."""
    describe = getattr(tool, "preview", None) or getattr(tool, "intent", None)
    return await _call_describe(tool, describe, arguments, context) if describe is not None else None


def _runs_same_code(approved: Intent, now: Intent | None) -> bool:
    """Return whether the displayed code is unchanged, as far as an edited call runs it."""
    return now is None or all(now.digests.get(name, digest) == digest for name, digest in approved.digests.items())


def _decided_key(context: GateContext) -> str | None:
    """Return the key of a decision about this very call: a person's word counts, whatever rules say since."""
    approvals = context.approvals
    if not (approvals.sent or approvals.settled):
        return None
    settled, pending = approvals.settled.get(context.call_id), approvals.find_by_call(context.call_id)
    if settled is not None:
        return settled.approval_key
    if pending is None or approvals.find_decision(pending.approval_id) is None:
        return None
    return pending.approval_key


def _denial(decision: Deny) -> str:
    return f"denied by {decision.rule}" + (f": {decision.justification}" if decision.justification else "")


def _refusal(settled: ResolvedApproval, approvals: Approvals) -> str | None:
    """Return the reason of a denial for the model; raise when the run was stopped or the same call denied again."""
    if settled.decision == "abort":
        raise Abort(f"the approver stopped the run{_note_suffix(settled)}")
    if settled.decision in APPROVALS:
        return None
    if approvals.denials.get(settled.approval_key, 0) >= MAX_DENIALS:
        raise ApprovalDenied(
            "the same call was denied twice", hint="tell the run what to do instead, or allow the call by a rule"
        )
    return f"the approver said: {settled.decision}{_note_suffix(settled)}"


def _note_suffix(settled: ResolvedApproval) -> str:
    return f" ({settled.note})" if settled.note else ""


def add_run_rules(rules: Rules, records: Sequence[Mapping[str, Any]]) -> Rules:
    """Append the rules of the run to the configured rules."""
    if not records:
        return rules
    added = (rule for record in records for rule in _parse_rules(str(record.get("text", ""))))
    more = tuple(rule for rule in added if not rule.folder or rule.applies_in(_real_root(rules)))
    return msgspec.structs.replace(rules, rules=(*rules.rules, *more))


def _real_root(rules: Rules) -> str:
    return os.path.realpath(rules.root) if rules.root else ""


def apply_skill_permits(facts: Facts, rules: Rules, approvals: Approvals, decision: PolicyDecision) -> PolicyDecision:
    """Return the decision, or an allow when only the mode would ask and an active skill lists the call."""
    if not approvals.permits or not isinstance(decision, Ask) or decision.rule not in MODES_THAT_ASK:
        return decision
    records = [rule for permits in approvals.permits.values() for rule in permits]
    by_skills = decide(facts, add_run_rules(Rules(root=rules.root, home=rules.home), records))
    return by_skills if isinstance(by_skills, Allow) else decision


def deny_unlisted_call(facts: Facts, rules: Rules, approvals: Approvals) -> Deny | None:
    """Deny a call that no active skill lists, where skills confine a run to what they list."""
    if not approvals.confining or facts.tool in ALWAYS_AVAILABLE_TOOLS:
        return None
    records = [rule for permitted in approvals.confining.values() for rule in permitted]
    listed_rules = add_run_rules(Rules(root=rules.root, home=rules.home), records)
    if is_fully_allowed(facts, listed_rules):
        return None
    names = ", ".join(f"`{skill}`" for skill in approvals.confining)
    return Deny("safety.skill_tools: enforce", f"{names} does not list it in `allowed-tools`; unload the skill first")


@lru_cache(maxsize=256)
def _parse_rules(text: str) -> tuple[Rule, ...]:
    """Parse the rules of a text; one that cannot be read allows nothing."""
    try:
        return load_rules(text, origin=RUN_RULE_ORIGIN)
    except SkillsRuntimeError:
        return ()
