-- The index of runs (a projection: `ledger rebuild` re-derives it) and the inbox (not a projection: nothing else holds it).
PRAGMA application_id = 1397445196;

CREATE TABLE migrations (
    version    INTEGER PRIMARY KEY,
    checksum   TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE roots (
    path TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- `number` ties a run to its text: an explicit key, because SQLite may renumber implicit ones.
CREATE TABLE runs (
    number            INTEGER PRIMARY KEY,
    run_id            TEXT NOT NULL UNIQUE,
    session_id        TEXT NOT NULL,
    task_id           TEXT NOT NULL,
    kind              TEXT NOT NULL,
    status            TEXT NOT NULL,
    title             TEXT NOT NULL,
    path              TEXT NOT NULL,
    workspace_root    TEXT NOT NULL,
    profile_id        TEXT NOT NULL,
    model             TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    updated_at        TEXT NOT NULL,
    started_at        TEXT,
    completed_at      TEXT,
    failure_reason    TEXT,
    last_seq          INTEGER NOT NULL,
    last_mac          TEXT NOT NULL,
    input_tokens      INTEGER NOT NULL,
    output_tokens     INTEGER NOT NULL,
    tool_calls        INTEGER NOT NULL,
    pending_approvals INTEGER NOT NULL,
    parent_run_id     TEXT,
    attempt           INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_newest ON runs (created_at DESC, run_id DESC);
CREATE INDEX runs_of_session ON runs (session_id, task_id, updated_at);

-- Trigrams, because words are not separated by spaces in every language.
CREATE VIRTUAL TABLE run_text USING fts5 (title, failure_reason, text, tokenize = 'trigram');

CREATE TABLE inbox (
    run_id          TEXT NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    id              TEXT NOT NULL UNIQUE,
    kind            TEXT NOT NULL,
    body            BLOB NOT NULL,
    idempotency_key TEXT,
    created_at      TEXT NOT NULL,
    event_seq       INTEGER,
    acknowledged_at TEXT,
    PRIMARY KEY (run_id, position)
) STRICT;

CREATE UNIQUE INDEX inbox_keys ON inbox (run_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX inbox_pending ON inbox (run_id, position) WHERE event_seq IS NULL;

-- Runs that take no more messages: they have looked into their inbox for the last time.
CREATE TABLE closed_inboxes (
    run_id    TEXT PRIMARY KEY,
    closed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
