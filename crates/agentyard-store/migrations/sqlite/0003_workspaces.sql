-- Repositories, the workspaces made of them, and what was counted of these.
CREATE TABLE repos (
    tenant_id      TEXT    NOT NULL REFERENCES tenants (id),
    id             TEXT    NOT NULL UNIQUE,
    name           TEXT    NOT NULL,
    -- Without a user or password: those never come here.
    url            TEXT    NOT NULL,
    default_branch TEXT,
    created_by     TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    fetched_at     INTEGER,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    UNIQUE (tenant_id, url)
) STRICT;

CREATE TABLE workspaces (
    tenant_id      TEXT    NOT NULL REFERENCES tenants (id),
    id             TEXT    NOT NULL UNIQUE,
    repo_id        TEXT    NOT NULL,
    branch         TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    agent          TEXT,
    task           TEXT,
    target         TEXT,
    state          TEXT    NOT NULL,
    way            TEXT,
    base           TEXT,
    owner          TEXT    NOT NULL,
    lease_until    INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    used_at        INTEGER NOT NULL,
    closed_at      INTEGER,
    kept_ref       TEXT,
    closed_because TEXT,
    disk_bytes     INTEGER,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (repo_id, branch),
    UNIQUE (repo_id, name),
    FOREIGN KEY (tenant_id, repo_id) REFERENCES repos (tenant_id, id)
) STRICT;

-- Closed ones stay, so that those that matter must be found without passing over them.
CREATE INDEX workspaces_present ON workspaces (state, used_at) WHERE state <> 'closed';

CREATE TABLE workspace_measures (
    tenant_id TEXT    NOT NULL REFERENCES tenants (id),
    repo_id   TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    count     INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, repo_id, name),
    FOREIGN KEY (tenant_id, repo_id) REFERENCES repos (tenant_id, id)
) STRICT;
