-- name: application_id
PRAGMA application_id;

-- name: user_version
PRAGMA user_version;

-- name: count_objects
SELECT count(*) AS objects FROM sqlite_master;

-- name: applied_migrations
SELECT version, checksum FROM migrations ORDER BY version;

-- name: add_migration
INSERT INTO migrations (version, checksum, applied_at) VALUES (:version, :checksum, :applied_at);

-- name: head_of_run
SELECT path, last_seq FROM runs WHERE run_id = :run_id;

-- name: put_run
INSERT INTO runs (
    run_id, session_id, task_id, kind, status, title, path, workspace_root, profile_id, model,
    created_at, updated_at, started_at, completed_at, failure_reason, last_seq, last_mac,
    input_tokens, output_tokens, tool_calls, pending_approvals, parent_run_id, attempt
) VALUES (
    :run_id, :session_id, :task_id, :kind, :status, :title, :path, :workspace_root, :profile_id, :model,
    :created_at, :updated_at, :started_at, :completed_at, :failure_reason, :last_seq, :last_mac,
    :input_tokens, :output_tokens, :tool_calls, :pending_approvals, :parent_run_id, :attempt
)
ON CONFLICT (run_id) DO UPDATE SET
    session_id = excluded.session_id,
    task_id = excluded.task_id,
    kind = excluded.kind,
    status = excluded.status,
    title = excluded.title,
    path = excluded.path,
    workspace_root = excluded.workspace_root,
    profile_id = excluded.profile_id,
    model = excluded.model,
    created_at = excluded.created_at,
    updated_at = excluded.updated_at,
    started_at = excluded.started_at,
    completed_at = excluded.completed_at,
    failure_reason = excluded.failure_reason,
    last_seq = excluded.last_seq,
    last_mac = excluded.last_mac,
    input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens,
    tool_calls = excluded.tool_calls,
    pending_approvals = excluded.pending_approvals,
    parent_run_id = excluded.parent_run_id,
    attempt = excluded.attempt
RETURNING number;

-- name: add_text
INSERT INTO run_text (rowid, title, failure_reason, text)
VALUES (:number, :title, coalesce(:failure_reason, ''), coalesce(:text, ''));

-- name: change_text
UPDATE run_text
SET title = :title, failure_reason = coalesce(:failure_reason, ''), text = coalesce(:text, text)
WHERE rowid = :number
  AND (title <> :title OR failure_reason <> coalesce(:failure_reason, '') OR text <> coalesce(:text, text));

-- name: get_run
SELECT * FROM runs WHERE run_id = :run_id;

-- name: runs_by_prefix
SELECT * FROM runs WHERE run_id >= :prefix AND run_id < :prefix || '~' ORDER BY run_id LIMIT :limit;

-- name: list_runs
SELECT * FROM runs
WHERE (:workspace_root IS NULL OR workspace_root = :workspace_root)
  AND (:session_id IS NULL OR session_id = :session_id)
  AND (:task_id IS NULL OR task_id = :task_id)
  AND (:status IS NULL OR status = :status)
  AND (:before_created_at IS NULL OR (created_at, run_id) < (:before_created_at, :before_run_id))
ORDER BY created_at DESC, run_id DESC
LIMIT :limit;

-- name: search_phrases
SELECT runs.*
FROM run_text JOIN runs ON runs.number = run_text.rowid
WHERE run_text MATCH :match
  AND NOT EXISTS (
      SELECT 1 FROM json_each(:patterns) AS pattern
      WHERE NOT (
          run_text.title LIKE pattern.value ESCAPE '\'
          OR run_text.failure_reason LIKE pattern.value ESCAPE '\'
          OR run_text.text LIKE pattern.value ESCAPE '\'
      )
  )
ORDER BY runs.created_at DESC, runs.run_id DESC
LIMIT :limit;

-- name: search_patterns
SELECT runs.*
FROM runs JOIN run_text ON run_text.rowid = runs.number
WHERE NOT EXISTS (
      SELECT 1 FROM json_each(:patterns) AS pattern
      WHERE NOT (
          run_text.title LIKE pattern.value ESCAPE '\'
          OR run_text.failure_reason LIKE pattern.value ESCAPE '\'
          OR run_text.text LIKE pattern.value ESCAPE '\'
      )
  )
ORDER BY runs.created_at DESC, runs.run_id DESC
LIMIT :limit;

-- name: sessions
SELECT
    session_id,
    (SELECT first.title FROM runs AS first WHERE first.session_id = runs.session_id
     ORDER BY first.created_at, first.run_id LIMIT 1) AS title,
    count(DISTINCT task_id) AS tasks,
    count(*) AS runs,
    max(updated_at) AS updated_at,
    (SELECT last.status FROM runs AS last WHERE last.session_id = runs.session_id
     ORDER BY last.updated_at DESC, last.run_id DESC LIMIT 1) AS status
FROM runs
GROUP BY session_id
ORDER BY max(updated_at) DESC, session_id DESC
LIMIT :limit;

-- name: tasks
SELECT
    session_id,
    task_id,
    (SELECT first.title FROM runs AS first
     WHERE first.session_id = runs.session_id AND first.task_id = runs.task_id
     ORDER BY first.created_at, first.run_id LIMIT 1) AS title,
    count(*) AS runs,
    max(updated_at) AS updated_at,
    (SELECT last.status FROM runs AS last
     WHERE last.session_id = runs.session_id AND last.task_id = runs.task_id
     ORDER BY last.updated_at DESC, last.run_id DESC LIMIT 1) AS status
FROM runs
WHERE session_id = :session_id
GROUP BY session_id, task_id
ORDER BY max(updated_at) DESC, task_id DESC;

-- name: run_locations
SELECT run_id, path, workspace_root FROM runs ORDER BY run_id;

-- name: forget_text
DELETE FROM run_text WHERE rowid = (SELECT number FROM runs WHERE run_id = :run_id);

-- name: forget_run
DELETE FROM runs WHERE run_id = :run_id RETURNING run_id;

-- name: remember_root
INSERT INTO roots (path) VALUES (:path) ON CONFLICT (path) DO NOTHING;

-- name: forget_root
DELETE FROM roots WHERE path = :path;

-- name: roots
SELECT path FROM roots ORDER BY path;

-- name: message_by_key
SELECT * FROM inbox WHERE run_id = :run_id AND idempotency_key = :idempotency_key;

-- name: add_message
INSERT INTO inbox (run_id, position, id, kind, body, idempotency_key, created_at)
SELECT :run_id, coalesce(max(position), 0) + 1, :id, :kind, :body, :idempotency_key, :created_at
FROM inbox WHERE run_id = :run_id
RETURNING *;

-- name: pending_messages
SELECT * FROM inbox WHERE run_id = :run_id AND event_seq IS NULL ORDER BY position;

-- name: messages_after
SELECT * FROM inbox WHERE run_id = :run_id AND position > :position ORDER BY position;

-- name: count_pending
SELECT count(*) AS messages FROM inbox WHERE run_id = :run_id AND event_seq IS NULL;

-- name: message_receipt
SELECT event_seq FROM inbox WHERE id = :id;

-- name: acknowledge_message
UPDATE inbox SET event_seq = :event_seq, acknowledged_at = :acknowledged_at WHERE id = :id;

-- name: closed_inbox
SELECT run_id FROM closed_inboxes WHERE run_id = :run_id;

-- name: close_inbox
INSERT INTO closed_inboxes (run_id, closed_at) VALUES (:run_id, :closed_at) ON CONFLICT (run_id) DO NOTHING;

-- name: open_inbox
DELETE FROM closed_inboxes WHERE run_id = :run_id;
