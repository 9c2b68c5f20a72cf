"""Going on with a run in this process, as `runs resume` and decisions from elsewhere do it."""

from contextlib import suppress

from skills_runtime.agent import RunRequest
from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.cli.continuing import refuse_unreviewed, settings_of, state_of
from skills_runtime.cli.errors import Program
from skills_runtime.cli.execution import Ending, Plan, Resumed
from skills_runtime.cli.locate import short_id
from skills_runtime.cli.options import Approving, ConfigOptions, ViewOptions
from skills_runtime.cli.state import log_ports
from skills_runtime.cli.terminal import people_here
from skills_runtime.cli.working import work_on
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.runs import RunPaths, read_view
from skills_runtime.safety.policy.rule_files import user_rule_file


def resume_run(
    paths: RunPaths,
    given: ConfigOptions,
    view: ViewOptions,
    program: Program,
    *,
    approvals: Approving | None = None,
    adopt: bool = False,
    reference: str = "",
) -> Ending:
    """Work on a run until it ends or waits; one that waits for an approval goes on waiting where nobody is there."""
    state = state_of(paths)
    refuse_unreviewed(state, reference or short_id(state.run_id), program.name)
    resolved = settings_of(paths, state, given, adopting=adopt)
    prompt = (paths.root / "prompt.md").read_text(encoding="utf-8")
    plan = Plan(resolved, backend_for(resolved), RunRequest(prompt=prompt), Resumed(paths.root, adopt))
    otherwise: Approving = "inbox" if _asks(paths) else "none"
    people = people_here(view, approvals, otherwise=otherwise, rule_file=user_rule_file(resolved))
    return work_on(lambda _: (plan, resolved.notices), view, program, people)


def _asks(paths: RunPaths) -> bool:
    with suppress(SkillsRuntimeError, OSError):  # a run of another machine is read when it is taken over
        return bool(read_view(paths, log_ports()).pending.approvals.open)
    return False
