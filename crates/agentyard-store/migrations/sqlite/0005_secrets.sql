-- Secrets that executions can be granted. What is in `sealed` can be opened only with a key that is not in here.
CREATE TABLE secrets (
    tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
    name       TEXT    NOT NULL,
    sealed     TEXT    NOT NULL,
    nonce      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, name)
) STRICT;
