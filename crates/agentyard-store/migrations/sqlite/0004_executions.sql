-- What was executed, for whom, and what came of it.
CREATE TABLE executions (
    tenant_id         TEXT    NOT NULL REFERENCES tenants (id),
    id                TEXT    NOT NULL PRIMARY KEY,
    subject           TEXT    NOT NULL,
    agent             TEXT,
    session           TEXT,
    operation         TEXT    NOT NULL,
    -- An id or a directory: a record outlives the workspace.
    workspace         TEXT,
    code              TEXT    NOT NULL,
    code_bytes        INTEGER NOT NULL,
    environment       TEXT,
    backend           TEXT    NOT NULL,
    network           TEXT    NOT NULL,
    outcome           TEXT    NOT NULL,
    limit_passed      TEXT,
    exit_code         INTEGER,
    signal            INTEGER,
    started_at        INTEGER NOT NULL,
    duration_ms       INTEGER NOT NULL,
    stdout_head       TEXT    NOT NULL,
    stdout_tail       TEXT    NOT NULL,
    stdout_bytes      INTEGER NOT NULL,
    stderr_head       TEXT    NOT NULL,
    stderr_tail       TEXT    NOT NULL,
    stderr_bytes      INTEGER NOT NULL,
    peak_memory_bytes INTEGER,
    cpu_ms            INTEGER,
    exception_kind    TEXT,
    exception_message TEXT,
    -- Where it stands on its way to another database: 'waiting', 'refused', 'sent', or nowhere.
    delivery          TEXT
) STRICT;

CREATE INDEX executions_by_time ON executions (tenant_id, started_at, id);
CREATE INDEX executions_by_subject ON executions (tenant_id, subject, started_at, id);
CREATE INDEX executions_by_workspace ON executions (tenant_id, workspace, started_at, id);
-- For what is kept of all tenants together.
CREATE INDEX executions_by_age ON executions (started_at, id);
CREATE INDEX executions_undelivered ON executions (delivery, id) WHERE delivery IN ('waiting', 'refused');
