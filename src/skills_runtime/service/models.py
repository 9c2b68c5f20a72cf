"""Whether the model that is configured could be asked."""

from skills_runtime.agent.run_defaults import backend_for
from skills_runtime.config import Resolved
from skills_runtime.errors import SkillsRuntimeError


def model_problem(resolved: Resolved) -> str:
    """Why no run could use the model, or nothing; nobody is asked anything."""
    try:
        backend_for(resolved)
    except SkillsRuntimeError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""
