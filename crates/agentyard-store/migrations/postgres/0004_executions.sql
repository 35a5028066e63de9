-- What was executed, for whom, and what came of it.
CREATE TABLE executions (
    tenant_id         TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    subject           TEXT COLLATE "C" NOT NULL,
    agent             TEXT COLLATE "C",
    session           TEXT COLLATE "C",
    operation         TEXT COLLATE "C" NOT NULL,
    -- An id or a directory: a record outlives the workspace.
    workspace         TEXT COLLATE "C",
    code              TEXT COLLATE "C" NOT NULL,
    code_bytes        BIGINT           NOT NULL,
    environment       TEXT COLLATE "C",
    backend           TEXT COLLATE "C" NOT NULL,
    network           TEXT COLLATE "C" NOT NULL,
    outcome           TEXT COLLATE "C" NOT NULL,
    limit_passed      TEXT COLLATE "C",
    exit_code         BIGINT,
    signal            BIGINT,
    started_at        BIGINT           NOT NULL,
    duration_ms       BIGINT           NOT NULL,
    stdout_head       TEXT COLLATE "C" NOT NULL,
    stdout_tail       TEXT COLLATE "C" NOT NULL,
    stdout_bytes      BIGINT           NOT NULL,
    stderr_head       TEXT COLLATE "C" NOT NULL,
    stderr_tail       TEXT COLLATE "C" NOT NULL,
    stderr_bytes      BIGINT           NOT NULL,
    peak_memory_bytes BIGINT,
    cpu_ms            BIGINT,
    exception_kind    TEXT COLLATE "C",
    exception_message TEXT COLLATE "C",
    -- Where it stands on its way to another database: 'waiting', 'refused', 'sent', or nowhere.
    delivery          TEXT COLLATE "C"
);

CREATE INDEX executions_by_time ON executions (tenant_id, started_at, id);
CREATE INDEX executions_by_subject ON executions (tenant_id, subject, started_at, id);
CREATE INDEX executions_by_workspace ON executions (tenant_id, workspace, started_at, id);
-- For what is kept of all tenants together.
CREATE INDEX executions_by_age ON executions (started_at, id);
CREATE INDEX executions_undelivered ON executions (delivery, id) WHERE delivery IN ('waiting', 'refused');
