"""The runs of a service: started, continued, answered and recovered, all through the Dispatcher port."""

from skills_runtime.engine.run_requests import RunOverrides, RunRequest
from skills_runtime.engine.workspace import Workspace
from skills_runtime.service.work.work import Made, Work, open_work

__all__ = ["Made", "RunOverrides", "RunRequest", "Work", "Workspace", "open_work"]
