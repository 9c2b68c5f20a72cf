"""The gate a call passes: what it would do, what the rules say, and where they say so, somebody who decides.

Nothing passes by omission: no rule means ask, and nobody to ask means no.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from skills_runtime.errors import ApprovalDenied, SkillsRuntimeError, ToolError
from skills_runtime.ports import Approver, Effect, FileTouch, Intent, Tool, ToolContext, ToolSpec
from skills_runtime.projections import Approvals, ResolvedApproval
from skills_runtime.safety.approvals.asking import CHANGED, ApprovalContext, Asking, ask, void
from skills_runtime.safety.approvals.request import Wanted, build_request, request_key
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Allow, Ask, Deny, Rule, Rules, Verdict, decide, load_rules
from skills_runtime.safety.policy.decide import BY_MODE, is_listed
from skills_runtime.safety.sanitize import Fingerprint, sanitize

APPROVALS = frozenset({"approved", "approved_for_session"})
MAX_CHANGES = 5
"""How often a call may turn out to be another one while somebody looks at it."""
USUAL_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""What a description by somebody else may raise."""
MAX_DENIALS = 2
"""How often one request may be denied before the run ends: a model that asks again and again does not listen."""
ORIGIN = "added for this run"
NEVER_CONFINED = frozenset(
    {
        "activate_skill", "unload_skill", "search_skills", "read_skill_file", "skill_ref_read", "update_plan",
        "ask_human", "request_user_input",
    }
)  # fmt: skip
"""Tools by which a model finds out what to do, and ends what confines it."""


KnownVerdicts = dict[tuple[str, Effect], Verdict]
"""Verdicts by the name and the effect of a tool."""


class Abort(ApprovalDenied):
    """An approver wants the run to end here."""


class Place(ToolContext, ApprovalContext, Protocol):
    """The call as a tool sees it and as asking sees it."""

    @property
    def admitted(self) -> list[str]:
        """The key of what was approved; the gate puts it there."""
        ...


class Assessment(msgspec.Struct, frozen=True):
    """What a call would do, and what the rules say about it."""

    intent: Intent | None
    decision: Verdict


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one run, and who is asked."""

    rules: Rules = Rules()
    approver: Approver | None = None
    timeout_ms: int | None = None
    expires_sec: float = 7 * 24 * 3600
    fingerprint: Fingerprint = Fingerprint()
    remembered: dict[str, str] = {}
    """What was approved for the session in other runs of it."""
    known: KnownVerdicts = {}
    """What the rules say of tools that tell nothing but their effect: the same for every call."""

    def judge(self, spec: ToolSpec, intent: Intent | None, approvals: Approvals) -> Verdict:
        """What the rules say about a call, with those that were added for this run."""
        if intent is None and (not (approvals.rules or approvals.permits or approvals.confining)):
            return self._known(spec)
        facts = assess(spec, with_real_places(intent))
        verdict = confined(facts, self.rules, approvals) or decide(facts, with_added(self.rules, approvals.rules))
        return permitted(facts, self.rules, approvals, verdict)

    def _known(self, spec: ToolSpec) -> Verdict:
        told = (spec.name, spec.effect)
        verdict = self.known.get(told)
        if verdict is None:
            verdict = self.known[told] = decide(assess(spec, None), self.rules)
        return verdict

    async def assess(self, tool: Tool, arguments: Mapping[str, Any], place: Place) -> Assessment:
        """Find out what a call would do, and decide on it."""
        intent = await _intent(tool, arguments, place)
        return Assessment(intent, self.judge(tool.spec, intent, place.approvals))

    async def admit(
        self, tool: Tool, arguments: Mapping[str, Any], place: Place, assessed: Assessment | None = None
    ) -> str | None:
        """Why a call may not run, or nothing; raises `Parked` to decide later, `ApprovalDenied` where the run ends.

        `assessed` is for a caller who has assessed the call just now.
        """
        for _ in range(MAX_CHANGES):
            now, assessed = assessed or await self.assess(tool, arguments, place), None
            match now.decision:
                case Allow():
                    return None
                case Deny():
                    return _denial(now.decision)
                case Ask():
                    pass
            if self.approver is None:
                return "nobody can approve this"
            preview = getattr(tool, "preview", None)
            intent = now.intent if preview is None else await _described(tool, preview, arguments, place)
            wanted = self._wanted(tool, arguments, now.decision, intent)
            settled = await ask(wanted, place, self._asking(self.approver))
            refusal = _refusal(settled, place.approvals)
            if refusal is not None:
                return refusal
            edited, final = settled.arguments_blob, arguments
            if edited is not None:
                final = msgspec.json.decode(place.fetch(edited))
                refusal = await self._edited(tool, final, place)
                if refusal is not None:
                    return refusal
            after = await _shown(tool, final, place)
            key = self._key(tool, final, after)
            if key == wanted.key or (edited is not None and _runs_same_code(wanted.intent, after)):
                place.admitted[:] = [key]
                return None
            void(place, settled.approval_id, settled.approval_key)
        return "what the call would do changes each time it is looked at, so nobody can approve it"

    async def confirm(self, tool: Tool, arguments: Mapping[str, Any], place: Place) -> None:
        """Raise where an approved call would no longer do what was approved."""
        key = self._key(tool, arguments, await _shown(tool, arguments, place))
        if [key] != place.admitted:
            raise ToolError("permission", CHANGED, hint="call again, so that it is asked about as it is now")

    async def may_reach(self, host: str, port: int, tool: str, room: ApprovalContext) -> bool:
        """Whether somebody who is asked now lets a call reach a host; nobody to ask is a no."""
        if self.approver is None:
            return False
        from skills_runtime.safety.approvals.asking import ask_about_host

        decision = await ask_about_host(host, port, tool, room, self._asking(self.approver))
        if decision == "abort":
            raise Abort("the approver stopped the run")
        return decision == "approved"

    async def _edited(self, tool: Tool, arguments: Mapping[str, Any], place: Place) -> str | None:
        """Why a call may not run as somebody changed it: they have approved it, but what is denied stays denied."""
        verdict = self.judge(tool.spec, await _intent(tool, arguments, place), place.approvals)
        return _denial(verdict) if isinstance(verdict, Deny) else None

    def _asking(self, approver: Approver) -> Asking:
        return Asking(
            approver=approver,
            timeout_ms=self.timeout_ms,
            expires_sec=self.expires_sec,
            remembered=self.remembered,
        )

    def _wanted(self, tool: Tool, arguments: Mapping[str, Any], asks: Ask, intent: Intent | None) -> Wanted:
        facts = assess(tool.spec, intent)  # as it would be now: a file may turn out to be new
        return build_request(tool.spec, arguments, intent or Intent(), facts, asks, self.fingerprint)

    def _key(self, tool: Tool, arguments: Mapping[str, Any], intent: Intent | None) -> str:
        return request_key(tool.spec, sanitize(tool.spec, arguments, self.fingerprint), intent, self.fingerprint)


def with_real_places(intent: Intent | None) -> Intent | None:
    """The intent with every place its paths lead to: rules are about those as well."""
    if intent is None or not any(touch.real for touch in intent.files):
        return intent
    real = tuple(FileTouch(path=one.real, touch=one.touch) for one in intent.files if one.real)
    return msgspec.structs.replace(intent, files=(*intent.files, *real))


async def _intent(tool: Tool, arguments: Mapping[str, Any], place: ToolContext) -> Intent | None:
    describe = getattr(tool, "intent", None)
    return await _described(tool, describe, arguments, place) if describe is not None else None


async def _described(tool: Tool, describe: Any, arguments: Mapping[str, Any], place: ToolContext) -> Intent:
    """What a tool says about a call; one that cannot say it cannot be called."""
    try:
        said = describe(arguments, place)
        intent: object = await said if inspect.isawaitable(said) else said
    except USUAL_ERRORS as error:
        raise ToolError("unknown", f"`{tool.spec.name}` cannot tell what it would do: {error!r}") from error
    if not isinstance(intent, Intent):
        raise ToolError("unknown", f"`{tool.spec.name}` tells `{type(intent).__name__}` instead of an `Intent`")
    return intent


async def _shown(tool: Tool, arguments: Mapping[str, Any], place: ToolContext) -> Intent | None:
    """What an approver is shown of a call, as things are now."""
    describe = getattr(tool, "preview", None) or getattr(tool, "intent", None)
    return await _described(tool, describe, arguments, place) if describe is not None else None


def _runs_same_code(shown: Intent, now: Intent | None) -> bool:
    """Whether the code that was shown is still what it was, as far as a call that somebody changed runs it."""
    return now is None or all(now.digests.get(name, digest) == digest for name, digest in shown.digests.items())


def _denial(verdict: Deny) -> str:
    return f"denied by {verdict.rule}" + (f": {verdict.justification}" if verdict.justification else "")


def _refusal(settled: ResolvedApproval, approvals: Approvals) -> str | None:
    """What the model is told of a no; a run ends where somebody stops it or says no to the same thing again."""
    if settled.decision == "abort":
        raise Abort(f"the approver stopped the run{_said(settled)}")
    if settled.decision in APPROVALS:
        return None
    if approvals.denials.get(settled.approval_key, 0) >= MAX_DENIALS:
        raise ApprovalDenied(
            "the same call was denied twice", hint="tell the run what to do instead, or allow the call by a rule"
        )
    return f"the approver said: {settled.decision}{_said(settled)}"


def _said(settled: ResolvedApproval) -> str:
    return f" ({settled.note})" if settled.note else ""


def with_added(rules: Rules, added: Sequence[Mapping[str, Any]]) -> Rules:
    """The rules with those of the run behind them."""
    if not added:
        return rules
    more = tuple(rule for one in added for rule in _read(str(one.get("text", ""))))
    return msgspec.structs.replace(rules, rules=(*rules.rules, *more))


def permitted(facts: Facts, rules: Rules, approvals: Approvals, verdict: Verdict) -> Verdict:
    """The verdict, unless nobody but the mode wants to be asked and an active skill lists the call."""
    if not approvals.permits or not isinstance(verdict, Ask) or verdict.rule != BY_MODE:
        return verdict
    listed = [rule for permits in approvals.permits.values() for rule in permits]
    said = decide(facts, with_added(Rules(root=rules.root, home=rules.home), listed))
    return said if isinstance(said, Allow) else verdict


def confined(facts: Facts, rules: Rules, approvals: Approvals) -> Deny | None:
    """The refusal of a call that an active skill does not list, where skills confine a run to what they list."""
    if not approvals.confining or facts.tool in NEVER_CONFINED:
        return None
    listed = [rule for permitted in approvals.confining.values() for rule in permitted]
    alone = with_added(Rules(root=rules.root, home=rules.home), listed)
    if is_listed(facts, alone):
        return None
    names = ", ".join(f"`{skill}`" for skill in approvals.confining)
    return Deny("safety.skill_tools: enforce", f"{names} does not list it in `allowed-tools`; unload the skill first")


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[Rule, ...]:
    """The rules of a text; one that cannot be read allows nothing."""
    try:
        return load_rules(text, origin=ORIGIN)
    except SkillsRuntimeError:
        return ()
