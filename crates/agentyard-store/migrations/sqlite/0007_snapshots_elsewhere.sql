-- What the service calls a snapshot that it keeps, where its files are not on this machine.
ALTER TABLE sandbox_snapshots ADD COLUMN remote TEXT;
