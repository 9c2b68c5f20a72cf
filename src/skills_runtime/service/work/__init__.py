"""The runs of a service: started, continued, answered and recovered, all through the Dispatcher port."""

from skills_runtime.service.work.home import Home
from skills_runtime.service.work.orders import Order, Wishes
from skills_runtime.service.work.work import Made, Work, open_work

__all__ = ["Home", "Made", "Order", "Wishes", "Work", "open_work"]
