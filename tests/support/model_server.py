"""A chat service on this machine that says what it was told to, over real HTTP with server-sent events.

Each request takes the next answer of the script; a request too many is answered with status 500.
It misbehaves in every way services do, on request.
"""

import json
import socket
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, cast

Ending = Literal["done", "closed", "cut", "silent"]
"""With `[DONE]`; without it but orderly; in the middle; never, until the client gives up."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: a stream of chunks when the status is 200, else one body; status 0 is no answer at all.

    A chunk is data, or text that goes out as it is, or the bytes of one packet.
    """

    chunks: Sequence[Any] = ()
    status: int = 200
    ending: Ending = "done"
    headers: tuple[tuple[str, str], ...] = ()
    gap_sec: float = 0.0


def says(*pieces: str, usage: tuple[int, int] | None = None) -> Answer:
    """Return a text answer, one chunk per piece, with token counts if given."""
    return Answer((*map(text_chunk, pieces), end_chunk("stop"), *_usage(usage)))


def calls(*requested: tuple[str, dict[str, Any]], text: str = "", usage: tuple[int, int] | None = None) -> Answer:
    """Return an answer that calls tools; the arguments arrive in two pieces, as from real services."""
    pieces = [piece for index, (name, arguments) in enumerate(requested) for piece in _call(index, name, arguments)]
    return Answer((*([text_chunk(text)] if text else []), *pieces, end_chunk("tool_calls"), *_usage(usage)))


def breaks_off(*pieces: str, ending: Ending = "cut") -> Answer:
    """Return an incomplete answer: the connection is cut, or the stream ends without a finish reason."""
    return Answer(tuple(map(text_chunk, pieces)), ending=ending)


def refuses(status: int, message: str = "no", *, code: str | None = None) -> Answer:
    """Return an HTTP error with a typical body; the client is told to retry at once."""
    body = {"error": {"message": message, "type": "test", "code": code}}
    return Answer((body,), status=status, headers=(("retry-after-ms", "1"),))


def fails_inside(message: str, *pieces: str, code: Any = None, kind: str = "test") -> Answer:
    """Return a stream with an error in the middle."""
    return Answer((*map(text_chunk, pieces), {"error": {"message": message, "type": kind, "code": code}}))


def hangs_up() -> Answer:
    """Return no answer: the connection is closed."""
    return Answer(status=0, ending="cut")


def falls_silent(*pieces: str) -> Answer:
    """Return an answer that stalls while the connection stays open."""
    return Answer(tuple(map(text_chunk, pieces)), ending="silent")


def packets(*parts: bytes, ending: Ending = "closed") -> Answer:
    """Return an answer of exactly these bytes, one packet per part."""
    return Answer(parts, ending=ending)


def redirects(status: int, target: str) -> Answer:
    """Return a redirect."""
    return Answer(({},), status=status, headers=(("Location", target),))


Answering = Callable[[dict[str, Any]], Answer]


class ModelServer:
    """The service; `base_url` is its address, `requests` what it received."""

    def __init__(
        self, answers: Iterable[Answer] | Answering, *, models: Sequence[str] = (), key: str | None = None
    ) -> None:
        self.models = models
        self.key = key
        """The only key that is accepted, if there is one."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.authorizations: list[str] = []
        self.paths: list[str] = []
        self.connections = 0
        self.left_alone = threading.Event()
        """Set when a client gives up on a stalled answer."""
        self._answer: Answering = answers if callable(answers) else _in_order(answers)
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The address for clients."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def next_answer(self, request: dict[str, Any], authorization: str) -> Answer:
        """Record a request and return the next answer."""
        with self._lock:
            self.requests.append(request)
            self.authorizations.append(authorization)
        if not self.accepts(authorization):
            return refuses(401, "wrong key")
        if self.models and request["model"] not in self.models:
            return refuses(404, f"the model `{request['model']}` does not exist", code="model_not_found")
        return self._answer(request)

    def accepts(self, authorization: str) -> bool:
        """Whether a request may be answered."""
        return self.key is None or authorization == f"Bearer {self.key}"

    def close(self) -> None:
        """Stop, and close all connections."""
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def start(answers: Iterable[Answer] | Answering, *, models: Sequence[str] = (), key: str | None = None) -> ModelServer:
    """A running service with answers in order, or one for each request; close it, or use it as a context.

    With `models` it lists them and refuses others; with `key` it refuses other keys.
    """
    return ModelServer(answers, models=models, key=key)


def _in_order(answers: Iterable[Answer]) -> Answering:
    left = deque(answers)  # its `popleft` is safe between threads
    return lambda _: left.popleft() if left else refuses(500, "the script has no more answers")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        self._open: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), _Conversation)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.append(connection)
        self.model.connections += 1
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client may leave whenever it likes
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client was faster


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        model = cast(_Server, self.server).model
        if self.path != "/v1/models" or not model.models:
            self._refuse(refuses(404, "no such page"))
        elif not model.accepts(self.headers.get("Authorization", "")):
            self._refuse(refuses(401, "wrong key"))
        else:
            listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in model.models]}
            self._refuse(Answer((listed,)))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = cast(_Server, self.server).model
        model.paths.append(self.path)
        if self.path != "/v1/chat/completions" and model.models:
            self._refuse(refuses(404, "no such page"))
            return
        model.headers.append({name.lower(): value for name, value in self.headers.items()})
        answer = model.next_answer(body, self.headers.get("Authorization", ""))
        if answer.status == 200:
            self._stream(answer)
        elif answer.status:
            self._refuse(answer)
        self._end(answer.ending)

    def log_message(self, format: str, *args: Any) -> None:
        """Do nothing."""

    def _refuse(self, answer: Answer) -> None:
        body = answer.chunks[0]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        promised = len(data) + (answer.ending == "cut")
        self.send_response(answer.status)
        for name, value in (*answer.headers, ("Content-Type", "application/json"), ("Content-Length", str(promised))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in answer.chunks:
            threading.Event().wait(answer.gap_sec)
            self._send(chunk if isinstance(chunk, bytes) else line(chunk))
        if answer.ending == "done":
            self._send(line("[DONE]"))
        if answer.ending in ("done", "closed"):
            self.wfile.write(b"0\r\n\r\n")

    def _end(self, ending: Ending) -> None:
        if ending == "silent":
            self.connection.recv(1)
            cast(_Server, self.server).model.left_alone.set()
        if ending in ("cut", "silent"):
            self.close_connection = True

    def _send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()


def line(chunk: Any, *, newline: str = "\n") -> bytes:
    """Encode a chunk for the wire."""
    return f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}{newline}{newline}".encode()


def chunk(delta: dict[str, Any] | None, *, finish_reason: str | None = None, **rest: Any) -> dict[str, Any]:
    """Build one chunk in the wire format."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [choice],
    } | rest


def text_chunk(piece: str) -> dict[str, Any]:
    """Build a chunk of text."""
    return chunk({"role": "assistant", "content": piece})


def end_chunk(reason: str) -> dict[str, Any]:
    """Build the final chunk of an answer."""
    return chunk({}, finish_reason=reason)


def _call(index: int, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    text = json.dumps(arguments)
    cut = len(text) // 2
    first = {"index": index, "id": f"call_{index}_{zlib.crc32(text.encode()):08x}", "type": "function"}
    return [
        chunk({"tool_calls": [first | {"function": {"name": name, "arguments": text[:cut]}}]}),
        chunk({"tool_calls": [{"index": index, "function": {"arguments": text[cut:]}}]}),
    ]


def _usage(usage: tuple[int, int] | None) -> list[dict[str, Any]]:
    if usage is None:
        return []
    total = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return [chunk(None, choices=[], usage=total)]
