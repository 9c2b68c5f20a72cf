"""The media types of files by their names, from a table of our own: the answer does not depend on the machine."""

from types import MappingProxyType

_ANY_BYTES = "application/octet-stream"

_BY_SUFFIX = MappingProxyType(
    {
        "bin": _ANY_BYTES,
        "bmp": "image/bmp",
        "c": "text/x-c",
        "cfg": "text/plain",
        "cpp": "text/x-c++",
        "css": "text/css",
        "csv": "text/csv",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip",
        "gif": "image/gif",
        "go": "text/x-go",
        "gz": "application/gzip",
        "h": "text/x-c",
        "htm": "text/html",
        "html": "text/html",
        "ico": "image/vnd.microsoft.icon",
        "ini": "text/plain",
        "ipynb": "application/x-ipynb+json",
        "java": "text/x-java",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "jsonl": "application/jsonl",
        "log": "text/plain",
        "markdown": "text/markdown",
        "md": "text/markdown",
        "mjs": "text/javascript",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg",
        "otf": "font/otf",
        "parquet": "application/vnd.apache.parquet",
        "patch": "text/x-diff",
        "pdf": "application/pdf",
        "png": "image/png",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "py": "text/x-python",
        "rs": "text/x-rust",
        "rst": "text/x-rst",
        "rtf": "application/rtf",
        "sh": "application/x-sh",
        "sql": "application/sql",
        "sqlite": "application/vnd.sqlite3",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "tif": "image/tiff",
        "tiff": "image/tiff",
        "toml": "application/toml",
        "ts": "text/x-typescript",
        "tsv": "text/tab-separated-values",
        "tsx": "text/x-typescript",
        "ttf": "font/ttf",
        "txt": "text/plain",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webp": "image/webp",
        "woff": "font/woff",
        "woff2": "font/woff2",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml",
        "yaml": "application/yaml",
        "yml": "application/yaml",
        "zip": "application/zip",
    }
)


def media_type(name: str) -> str:
    """Return the media type that a file name suggests."""
    stem, _, suffix = name.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(suffix.lower(), _ANY_BYTES) if stem else _ANY_BYTES
