-- Tenants, people, roles, tokens, the audit log, jobs and working directories.
--
-- Ids are text in their prefixed form, times are microseconds since the Unix epoch,
-- sets are names with a space between. Keys begin with the tenant, and so do the
-- references: a row cannot even point into another tenant.

CREATE TABLE tenants (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

-- The last link of each tenant's chain; whoever appends to the chain holds this row.
CREATE TABLE audit_heads (
    tenant_id TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
    sequence  INTEGER NOT NULL,
    hash      TEXT    NOT NULL
) STRICT;

CREATE TABLE audit (
    tenant_id     TEXT    NOT NULL REFERENCES tenants (id),
    sequence      INTEGER NOT NULL,
    id            TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    actor         TEXT    NOT NULL,
    chain         TEXT    NOT NULL,
    action        TEXT    NOT NULL,
    target        TEXT    NOT NULL,
    request_id    TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,
    previous_hash TEXT    NOT NULL,
    hash          TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
) STRICT;

CREATE INDEX audit_by_request ON audit (tenant_id, request_id, sequence);

CREATE TABLE users (
    tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    role        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE roles (
    tenant_id   TEXT NOT NULL REFERENCES tenants (id),
    name        TEXT NOT NULL,
    toolsets    TEXT NOT NULL,
    permissions TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;

CREATE TABLE tokens (
    tenant_id    TEXT    NOT NULL REFERENCES tenants (id),
    id           TEXT    NOT NULL,
    secret_hash  TEXT    NOT NULL UNIQUE,
    name         TEXT    NOT NULL,
    role         TEXT    NOT NULL,
    permissions  TEXT    NOT NULL,
    owner_id     TEXT,
    parent_id    TEXT,
    depth        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id),
    FOREIGN KEY (tenant_id, parent_id) REFERENCES tokens (tenant_id, id)
) STRICT;

CREATE TABLE jobs (
    id           TEXT    NOT NULL PRIMARY KEY,
    kind         TEXT    NOT NULL,
    payload      TEXT    NOT NULL,
    unique_key   TEXT,
    state        TEXT    NOT NULL,
    -- When it may be taken: at first, again after a failure, or when its lease runs out.
    available_at INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    fence        INTEGER NOT NULL,
    worker       TEXT,
    last_error   TEXT,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER
) STRICT;

CREATE INDEX jobs_waiting ON jobs (kind, available_at, id) WHERE finished_at IS NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_unique_key ON jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND finished_at IS NULL;

CREATE TABLE working_directories (
    tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
    subject    TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, subject)
) STRICT;

-- The tenant of a machine that nobody has divided into tenants, and the person whose machine it is.
INSERT INTO tenants (id, name, created_at)
VALUES ('ten_00000000000000000000000000000001', 'local', 0);
INSERT INTO audit_heads (tenant_id, sequence, hash)
VALUES ('ten_00000000000000000000000000000001', 0, '0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO users (tenant_id, id, name, role, created_at)
VALUES ('ten_00000000000000000000000000000001', 'usr_00000000000000000000000000000001', 'local', 'admin', 0);
