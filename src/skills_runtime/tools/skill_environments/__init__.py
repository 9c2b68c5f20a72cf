"""Environments for scripts that need packages (PEP 723): resolved once, locked, cached, and made by uv.

Nothing is made before a call has passed the gate; what is there already is used without any network.
"""

from skills_runtime.tools.skill_environments.cache import Environments
from skills_runtime.tools.skill_environments.needs import Need, need_of

__all__ = ["Environments", "Need", "need_of"]
