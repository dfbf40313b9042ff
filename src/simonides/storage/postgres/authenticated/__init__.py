"""The store in PostgreSQL with a code for each row under a key ring."""
