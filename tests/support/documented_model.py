"""The model of the documentation: it answers the tasks of README, tutorial and guides, in both languages.

Each task is recognized by words of it. The model makes the calls of its plan one after another, then answers;
`{result}` in an answer is the result of the last call.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import model_server
from tests.support.model_server import Answer, ModelServer

Call = tuple[str, dict[str, Any]]
MODELS = ("shop-large", "shop-small")
KEY = "sk-shop-1234567890"
USAGE = (1200, 40)


@dataclass(frozen=True)
class Plan:
    """What the model does for tasks with certain words."""

    words: tuple[str, ...]
    calls: tuple[Call, ...]
    answer: str


CSV = "count,price\n2,30\n1,80\n"
PLANS = (
    Plan(
        ("Summarize orders.csv", "概括 orders.csv"),
        (("read_file", {"file_path": "orders.csv"}),),
        "Two products were ordered: 2 lamps and 1 chair. 共订购两种商品：2 盏灯和 1 把椅子。",
    ),
    Plan(
        ("total of orders.csv", "orders.csv 的总额"),
        (
            ("read_file", {"file_path": "orders.csv"}),
            ("skill_exec", {"skill_mention": "$[project].order-total", "action_id": "run", "input": {"text": CSV}}),
        ),
        "The total is 140. 总额是 140。",
    ),
    Plan(
        ("Delete the build directory", "删除 build 目录"),
        (("shell_command", {"command": "rm -rf build"}),),
        "The build directory is gone. build 目录已删除。",
    ),
    Plan(
        ("Order lamps", "订购灯"),
        (("stock", {"product": "lamp"}), ("order", {"product": "lamp", "count": 17})),
        "17 lamps are ordered. 已订购 17 盏灯。",
    ),
    Plan(("Ship one chair", "发出一把椅子"), (("ship", {"product": "chair"}),), "{result}"),
)


def answer(request: dict[str, Any]) -> Answer:
    """Return the next answer to a conversation; the test call of `init` gets the call that it asks for."""
    if any(tool["function"]["name"] == "report_ready" for tool in request.get("tools", [])):
        return model_server.calls(("report_ready", {}), usage=USAGE)
    task, results = _progress(request["messages"])
    plan = next((plan for plan in PLANS if any(word in task for word in plan.words)), None)
    if plan is None:
        return model_server.says("OK", usage=USAGE)
    if len(results) < len(plan.calls):
        return model_server.calls(plan.calls[len(results)], usage=USAGE)
    result = results[-1] if results else ""
    return model_server.says(*pieces_of(plan.answer.format(result=result)), usage=USAGE)


def _progress(messages: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return the last task with words of a plan, and the results of the calls since."""
    task, results = "", list[str]()
    for message in messages:
        text = message["content"] if isinstance(message["content"], str) else json.dumps(message["content"])
        if message["role"] == "tool":
            results.append(text)
        elif message["role"] == "user" and any(word in text for plan in PLANS for word in plan.words):
            task, results = text, []
    return task, results


def pieces_of(text: str) -> list[str]:
    """Cut an answer into the pieces in which it is streamed."""
    return [text[start : start + 12] for start in range(0, len(text), 12)] or [""]


def start() -> ModelServer:
    """Start the model as a service that lists its names and wants `KEY`; close it, or use it as a context."""
    return model_server.start(answer, models=MODELS, key=KEY)
