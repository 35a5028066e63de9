-- Tenants, people, roles, tokens, the audit log, jobs and working directories.
--
-- Ids are text in their prefixed form, times are microseconds since the Unix epoch,
-- sets are names with a space between. Keys begin with the tenant, and so do the
-- references: a row cannot even point into another tenant. Text is compared byte by byte
-- (`COLLATE "C"`), as SQLite does it, and so that no index depends on the system's locale.

CREATE TABLE tenants (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT           NOT NULL
);

-- The last link of each tenant's chain; whoever appends to the chain holds this row.
CREATE TABLE audit_heads (
    tenant_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tenants (id),
    sequence  BIGINT           NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL
);

CREATE TABLE audit (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    sequence      BIGINT           NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    at            BIGINT           NOT NULL,
    actor         TEXT COLLATE "C" NOT NULL,
    chain         TEXT COLLATE "C" NOT NULL,
    action        TEXT COLLATE "C" NOT NULL,
    target        TEXT COLLATE "C" NOT NULL,
    request_id    TEXT COLLATE "C" NOT NULL,
    outcome       TEXT COLLATE "C" NOT NULL,
    previous_hash TEXT COLLATE "C" NOT NULL,
    hash          TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);

CREATE INDEX audit_by_request ON audit (tenant_id, request_id, sequence);

CREATE TABLE users (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    role        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    disabled_at BIGINT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE roles (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    name        TEXT COLLATE "C" NOT NULL,
    toolsets    TEXT COLLATE "C" NOT NULL,
    permissions TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE tokens (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id           TEXT COLLATE "C" NOT NULL,
    secret_hash  TEXT COLLATE "C" NOT NULL UNIQUE,
    name         TEXT COLLATE "C" NOT NULL,
    role         TEXT COLLATE "C" NOT NULL,
    permissions  TEXT COLLATE "C" NOT NULL,
    owner_id     TEXT COLLATE "C",
    parent_id    TEXT COLLATE "C",
    depth        BIGINT           NOT NULL,
    created_at   BIGINT           NOT NULL,
    expires_at   BIGINT,
    revoked_at   BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id),
    FOREIGN KEY (tenant_id, parent_id) REFERENCES tokens (tenant_id, id)
);

CREATE TABLE jobs (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind         TEXT COLLATE "C" NOT NULL,
    payload      TEXT COLLATE "C" NOT NULL,
    unique_key   TEXT COLLATE "C",
    state        TEXT COLLATE "C" NOT NULL,
    -- When it may be taken: at first, again after a failure, or when its lease runs out.
    available_at BIGINT           NOT NULL,
    attempt      BIGINT           NOT NULL,
    max_attempts BIGINT           NOT NULL,
    fence        BIGINT           NOT NULL,
    worker       TEXT COLLATE "C",
    last_error   TEXT COLLATE "C",
    created_at   BIGINT           NOT NULL,
    finished_at  BIGINT
);

CREATE INDEX jobs_waiting ON jobs (kind, available_at, id) WHERE finished_at IS NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_unique_key ON jobs (kind, unique_key)
    WHERE unique_key IS NOT NULL AND finished_at IS NULL;

CREATE TABLE working_directories (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    subject    TEXT COLLATE "C" NOT NULL,
    path       TEXT COLLATE "C" NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant_id, subject)
);

-- The tenant of a machine that nobody has divided into tenants, and the person whose machine it is.
INSERT INTO tenants (id, name, created_at)
VALUES ('ten_00000000000000000000000000000001', 'local', 0);
INSERT INTO audit_heads (tenant_id, sequence, hash)
VALUES ('ten_00000000000000000000000000000001', 0, '0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO users (tenant_id, id, name, role, created_at)
VALUES ('ten_00000000000000000000000000000001', 'usr_00000000000000000000000000000001', 'local', 'admin', 0);
