-- Runs that take no more messages: they have looked into their inbox for the last time.
CREATE TABLE closed_inboxes (
    run_id    TEXT PRIMARY KEY,
    closed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
