-- Repositories, the workspaces made of them, and what was counted of these.
CREATE TABLE repos (
    tenant_id      TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id             TEXT COLLATE "C" NOT NULL UNIQUE,
    name           TEXT COLLATE "C" NOT NULL,
    -- Without a user or password: those never come here.
    url            TEXT COLLATE "C" NOT NULL,
    default_branch TEXT COLLATE "C",
    created_by     TEXT COLLATE "C" NOT NULL,
    created_at     BIGINT           NOT NULL,
    fetched_at     BIGINT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    UNIQUE (tenant_id, url)
);

CREATE TABLE workspaces (
    tenant_id      TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    id             TEXT COLLATE "C" NOT NULL UNIQUE,
    repo_id        TEXT COLLATE "C" NOT NULL,
    branch         TEXT COLLATE "C" NOT NULL,
    name           TEXT COLLATE "C" NOT NULL,
    agent          TEXT COLLATE "C",
    task           TEXT COLLATE "C",
    target         TEXT COLLATE "C",
    state          TEXT COLLATE "C" NOT NULL,
    way            TEXT COLLATE "C",
    base           TEXT COLLATE "C",
    owner          TEXT COLLATE "C" NOT NULL,
    lease_until    BIGINT           NOT NULL,
    created_at     BIGINT           NOT NULL,
    used_at        BIGINT           NOT NULL,
    closed_at      BIGINT,
    kept_ref       TEXT COLLATE "C",
    closed_because TEXT COLLATE "C",
    disk_bytes     BIGINT,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (repo_id, branch),
    UNIQUE (repo_id, name),
    FOREIGN KEY (tenant_id, repo_id) REFERENCES repos (tenant_id, id)
);

-- Closed ones stay, so that those that matter must be found without passing over them.
CREATE INDEX workspaces_present ON workspaces (state, used_at) WHERE state <> 'closed';

CREATE TABLE workspace_measures (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    repo_id   TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    count     BIGINT           NOT NULL,
    total     BIGINT           NOT NULL,
    PRIMARY KEY (tenant_id, repo_id, name),
    FOREIGN KEY (tenant_id, repo_id) REFERENCES repos (tenant_id, id)
);
