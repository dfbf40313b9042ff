"""The use cases, one package a verb.

Low to high: core, screening, recall, prompting, knowledge, write, edit, operations, forgetting,
capture,
hygiene_scan, consolidation, maintenance, sessions, tasks, governance. A package imports only those
below it.
"""
