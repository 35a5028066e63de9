-- Secrets that executions can be granted. What is in `sealed` can be opened only with a key that is not in here.
CREATE TABLE secrets (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES tenants (id),
    name       TEXT COLLATE "C" NOT NULL,
    sealed     TEXT COLLATE "C" NOT NULL,
    nonce      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT           NOT NULL,
    updated_at BIGINT           NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
