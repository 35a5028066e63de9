-- Repositories whose hooks, filters and drivers may run, as a person on this machine has said.
CREATE TABLE trusted_repositories (
    path       TEXT   NOT NULL PRIMARY KEY,
    -- What stood at the path then: another repository in the same place is not trusted.
    device     BIGINT NOT NULL,
    inode      BIGINT NOT NULL,
    trusted_at BIGINT NOT NULL
);
