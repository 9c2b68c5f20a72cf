"""What a monitor reads: numbers of requests, executions and refusals, as Prometheus wants them."""

from collections.abc import Callable
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "skills_runtime_http_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "skills_runtime_http_request_seconds",
            "How long requests took.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._executions = Counter(
            "skills_runtime_executions",
            "Executions of skills that ended, and how.",
            ("skill", "status"),
            registry=self._registry,
        )
        self._execution_seconds = Histogram(
            "skills_runtime_execution_seconds",
            "How long executions of skills took.",
            ("skill",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._removed = Counter(
            "skills_runtime_executions_removed",
            "Executions that were removed: somebody asked for it, or they were kept for long enough.",
            ("by",),
            registry=self._registry,
        )
        self._open = Gauge("skills_runtime_http_requests_open", "Requests under way.", registry=self._registry)

    def start_request(self) -> None:
        """Count a request that is under way."""
        self._open.inc()

    def finish_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `route` is the pattern, for paths are without number."""
        self._open.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def finish_execution(self, skill: str, status: str, seconds: float) -> None:
        """Count an execution."""
        self._executions.labels(skill, status).inc()
        self._execution_seconds.labels(skill).observe(seconds)

    def count_removed(self, by: Literal["request", "retention"], count: int = 1) -> None:
        """Count executions that are gone."""
        self._removed.labels(by).inc(count)

    def add_gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a number that is looked up whenever somebody reads."""
        Gauge(f"skills_runtime_{name}", text, registry=self._registry).set_function(value)

    def render(self) -> bytes:
        """Everything, for a monitor."""
        return generate_latest(self._registry)
