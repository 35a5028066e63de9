-- Sandboxes that stay. A row is here before anything is on disk, and until the last of it is gone. What is in
-- `environment` can be opened only with a key that is not in here.
CREATE TABLE sandboxes (
    id                TEXT    NOT NULL PRIMARY KEY,
    tenant_id         TEXT    NOT NULL REFERENCES tenants (id),
    owner             TEXT    NOT NULL,
    template          TEXT    NOT NULL,
    state             TEXT    NOT NULL,
    metadata          TEXT    NOT NULL,
    environment       TEXT    NOT NULL,
    environment_nonce TEXT    NOT NULL,
    auto_pause        INTEGER NOT NULL,
    auto_resume       INTEGER NOT NULL,
    network           TEXT    NOT NULL,
    -- Where its files are: a directory that one process at a time uses.
    keeper            TEXT    NOT NULL,
    -- Whether its processes are there, also while it is paused.
    in_memory         INTEGER NOT NULL,
    -- From which image it is made, where sandboxes are made from images.
    image             TEXT,
    files_only        INTEGER NOT NULL,
    -- What was asked for with the key below, as far as one can tell whether it is the same again.
    wish              TEXT    NOT NULL,
    idempotency_key   TEXT,
    created_at        INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    ends_at           INTEGER NOT NULL,
    paused_at         INTEGER
) STRICT;

CREATE INDEX sandboxes_by_age ON sandboxes (tenant_id, created_at, id);
CREATE INDEX sandboxes_by_keeper ON sandboxes (keeper, id);
CREATE UNIQUE INDEX sandboxes_by_key ON sandboxes (tenant_id, owner, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The files of sandboxes as they were.
CREATE TABLE sandbox_snapshots (
    id          TEXT    NOT NULL PRIMARY KEY,
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    owner       TEXT    NOT NULL,
    name        TEXT,
    -- It may be gone.
    sandbox     TEXT    NOT NULL,
    template    TEXT    NOT NULL,
    -- 'making', 'complete', 'removing'
    state       TEXT    NOT NULL,
    image       TEXT,
    -- Where its files are.
    keeper      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX sandbox_snapshots_by_age ON sandbox_snapshots (tenant_id, created_at, id);
CREATE UNIQUE INDEX sandbox_snapshots_by_name ON sandbox_snapshots (tenant_id, name) WHERE name IS NOT NULL;
