"""Connections, pipelined statements and errors of PostgreSQL."""
