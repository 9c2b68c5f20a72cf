"""Real and forged first messages of TLS."""

import ssl


def real_hello(name: str | None) -> bytes:
    """What the `ssl` module sends first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("no server has answered")


def extension(number: int, content: bytes) -> bytes:
    return number.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content


def server_name(name: bytes, kind: int = 0) -> bytes:
    entry = bytes((kind,)) + len(name).to_bytes(2, "big") + name
    return extension(0, len(entry).to_bytes(2, "big") + entry)


def message(*extensions: bytes, tail: bytes = b"") -> bytes:
    """A handshake message with these extensions."""
    joined = b"".join(extensions)
    body = (
        b"\x03\x03"
        + bytes(32)
        + b"\0"
        + b"\x00\x02\x13\x01"
        + b"\x01\0"
        + len(joined).to_bytes(2, "big")
        + joined
        + tail
    )
    return b"\x01" + len(body).to_bytes(3, "big") + body


def record(content: bytes, kind: int = 22, version: bytes = b"\x03\x01") -> bytes:
    return bytes((kind,)) + version + len(content).to_bytes(2, "big") + content


def fragmented(content: bytes, size: int) -> bytes:
    """The message in records of this size."""
    return b"".join(record(content[at : at + size]) for at in range(0, len(content), size))
