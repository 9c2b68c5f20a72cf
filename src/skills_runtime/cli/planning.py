"""From what was asked to a run that can start: which id it gets, what its session did before, who answers."""

from pathlib import Path

import msgspec

from skills_runtime.agent import RunRequest
from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.agent.skills.library import skill_notices
from skills_runtime.cli.execution import Plan
from skills_runtime.cli.state import log_ports
from skills_runtime.config import Resolved
from skills_runtime.engine.sessions import with_session
from skills_runtime.errors import ConfigError, NotFound, RunExists
from skills_runtime.ledger import RunIndex, RunRow
from skills_runtime.ledger.index import is_gone
from skills_runtime.runs import is_legal_id, runs_root
from skills_runtime.safety.policy.rule_files import read_rules


def plan_run(resolved: Resolved, request: RunRequest, index: RunIndex) -> tuple[Plan, list[str]]:
    """The plan, and what its user should know; a plan that cannot work is refused before anything is created."""
    backend = backend_for(resolved)
    _refuse_unpriced(resolved)
    run_id, notices = _free_id(request, index, resolved.workspace_root)
    request = msgspec.structs.replace(request, run_id=run_id)
    request, told = with_session(request, index, resolved.settings.prompt, log_ports())
    return Plan(resolved, backend, request), [
        *resolved.notices,
        *read_rules(resolved).notices,
        *skill_notices(resolved),
        *notices,
        *told,
    ]


def _refuse_unpriced(resolved: Resolved) -> None:
    """A limit on money needs to know what the models cost."""
    settings = resolved.settings
    unknown = {settings.models.planner, settings.models.executor} - {price.model for price in settings.llm.prices}
    if settings.run.max_cost_usd is not None and unknown:
        model = min(unknown)
        raise ConfigError(
            f"a limit on money needs the price of `{model}`",
            hint=f"say what a million tokens cost: --set 'llm.prices=[{{model: {model}, input: 1, output: 2}}]'",
        )


def _free_id(request: RunRequest, index: RunIndex, workspace_root: Path) -> tuple[str | None, list[str]]:
    """The id the run may have; one that was only taken from a directory's name gives way to a run elsewhere."""
    path = request.sandbox_path
    implied = path.name if path is not None and is_legal_id(path.name) else None
    wanted = request.run_id or implied
    known = _known(index, wanted) if wanted else None
    if wanted is None or known is None:
        return request.run_id, []
    root = (path or runs_root(workspace_root) / wanted).resolve()
    if Path(known.path) == root or is_gone(Path(known.path)):
        return request.run_id, []
    if request.run_id:
        raise RunExists(f"the run id `{wanted}` names a run at `{known.path}`", hint="choose another `--run-id`")
    fresh = request.ids.new("run")
    return fresh, [f"the id `{wanted}` names a run at `{known.path}`, so this run is `{fresh}`"]


def _known(index: RunIndex, run_id: str) -> RunRow | None:
    try:
        return index.get(run_id)
    except NotFound:
        return None


def model_name(resolved: Resolved) -> str:
    """Who answers, as people call it."""
    backend = resolved.settings.llm.backend
    return resolved.settings.models.executor if backend == "openai" else f"{backend} model"
