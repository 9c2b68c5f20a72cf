"""A real model service on this machine that takes its time."""

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import yaml

from tests.e2e.cli.programs import environment
from tests.support import model_server
from tests.support.model_server import Answer


class Held(list[Any]):
    """The chunks of an answer that does not go on after its last one until it is let go."""

    reached: threading.Event
    let_go: threading.Event

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        self.reached.set()
        self.let_go.wait()


@contextmanager
def slow_model(place: Path) -> Generator[threading.Event]:
    """A model that has begun to answer, which sets the event, and does not go on while the block lasts."""
    chunks = Held(model_server.breaks_off("I begin").chunks)
    chunks.reached, chunks.let_go = threading.Event(), threading.Event()
    with model_server.start([Answer(chunks, ending="cut")]) as server:
        write_settings(place, server.base_url)
        try:
            yield chunks.reached
        finally:
            chunks.let_go.set()


def write_settings(place: Path, base_url: str) -> None:
    settings = {
        "llm": {"backend": "openai", "base_url": base_url, "api_key_env": "MODEL_KEY", "retry": {"max_retries": 0}},
        "model": "local-model",
        "safety": {"mode": "allow"},
    }
    (place / "kgent.yaml").write_text(yaml.safe_dump(settings))


def model_environment() -> dict[str, str]:
    return environment(MODEL_KEY="secret", NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")


def read_until(stream: IO[bytes] | None, text: bytes) -> list[bytes]:
    assert stream is not None
    lines: list[bytes] = []
    for line in stream:
        lines.append(line)
        if text in line:
            break
    return lines
