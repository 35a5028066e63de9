-- Sandboxes that stay. A row is here before anything is on disk, and until the last of it is gone. What is in
-- `environment` can be opened only with a key that is not in here.
CREATE TABLE sandboxes (
    id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id         TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    owner             TEXT COLLATE "C" NOT NULL,
    template          TEXT COLLATE "C" NOT NULL,
    state             TEXT COLLATE "C" NOT NULL,
    metadata          TEXT COLLATE "C" NOT NULL,
    environment       TEXT COLLATE "C" NOT NULL,
    environment_nonce TEXT COLLATE "C" NOT NULL,
    auto_pause        BIGINT NOT NULL,
    auto_resume       BIGINT NOT NULL,
    network           TEXT COLLATE "C" NOT NULL,
    -- Where its files are: a directory that one process at a time uses.
    keeper            TEXT COLLATE "C" NOT NULL,
    -- Whether its processes are there, also while it is paused.
    in_memory         BIGINT  NOT NULL,
    -- From which image it is made, where sandboxes are made from images.
    image             TEXT COLLATE "C",
    files_only        BIGINT  NOT NULL,
    -- What was asked for with the key below, as far as one can tell whether it is the same again.
    wish              TEXT COLLATE "C" NOT NULL,
    idempotency_key   TEXT COLLATE "C",
    created_at        BIGINT NOT NULL,
    started_at        BIGINT NOT NULL,
    ends_at           BIGINT NOT NULL,
    paused_at         BIGINT
);

CREATE INDEX sandboxes_by_age ON sandboxes (tenant_id, created_at, id);
CREATE INDEX sandboxes_by_keeper ON sandboxes (keeper, id);
CREATE UNIQUE INDEX sandboxes_by_key ON sandboxes (tenant_id, owner, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The files of sandboxes as they were.
CREATE TABLE sandbox_snapshots (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    owner       TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C",
    -- It may be gone.
    sandbox     TEXT COLLATE "C" NOT NULL,
    template    TEXT COLLATE "C" NOT NULL,
    -- 'making', 'complete', 'removing'
    state       TEXT COLLATE "C" NOT NULL,
    image       TEXT COLLATE "C",
    -- Where its files are.
    keeper      TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL
);

CREATE INDEX sandbox_snapshots_by_age ON sandbox_snapshots (tenant_id, created_at, id);
CREATE UNIQUE INDEX sandbox_snapshots_by_name ON sandbox_snapshots (tenant_id, name) WHERE name IS NOT NULL;
