"""The tree of commands: one for each public method of the Python API, under the same name.

This is data alone, so that ``--help`` loads nothing else. The parameters of a command are those of
its method; :mod:`simonides.cli.verbs` reads them when the command is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Face:
    """A class of the Python API whose methods are commands.

    Attributes:
        type: Name of the class in ``simonides.api.sync``.
        help: What the group is for.
        verbs: What each method does, by its name.
        exempt: Public methods without a command of this group, each with the reason.
    """

    type: str
    help: str
    verbs: Mapping[str, str]
    exempt: Mapping[str, str]


MEMORY = Face(
    "Memory",
    "A memory system for LLM agents: governed writes, scoped recall, provable history.",
    {
        "add": "Learn from what was said, as policy allows.",
        "remember": "Store one statement, or say why not.",
        "recall": "Show the memories that serve a query, best first, with the reasons.",
        "digest": "Show the block of memories that goes into a prompt.",
        "get": "Show one memory in full.",
        "list": "Show what the user may read, newest first.",
        "history": "Show every version of a memory, oldest first.",
        "explain": "Say why a memory is or is not recalled for a query.",
        "status": "Show counts, backend, models and health.",
        "profile": "Show the standing facts by key, and the standing rules.",
        "correct": "Replace or change a memory.",
        "confirm": "Mark a memory as verified.",
        "promote": "Copy a memory to a wider scope; policy decides there again.",
        "undo": "Undo a write: what it replaced becomes current again.",
        "forget": "Delete a memory with all its versions.",
        "forget_many": "Delete all memories that match; --dry-run counts them.",
        "sessions": "Show the open sessions.",
    },
    {
        "remember_many": "takes Python objects; `data import-from` and a shell loop serve instead",
        "session": "the group `session`, and the option --session",
        "task": "the group `task`",
        "tools": "definitions for a model's request; a shell has no model request",
    },
)

GROUPS: Mapping[str, Face] = {
    "session": Face(
        "Session",
        "The conversation that --session names.",
        {
            "add": "Append a message to the log.",
            "messages": "Show the log.",
            "note": "Append a decision of the agent.",
            "checkpoint": "Store what has found support; the session goes on.",
            "end": "End the session: store what it leaves, drop its log.",
        },
        {},
    ),
    "task": Face(
        "Task",
        "A task of an agent; an open task is continued by its name.",
        {
            "prompt": "Show the working memory for the next model call.",
            "note": "Note a finding.",
            "step_done": "Mark the current step as done.",
            "complete": "Complete the task, with what was learned.",
            "abandon": "Abandon the task.",
        },
        {
            "before_model": "a hook of a running agent",
            "before_tool": "a hook of a running agent",
            "observe": "a hook of a running agent",
            "add_constraint": "name it with --constraint when the task begins",
            "add": "a hook of a running agent",
            "conversation": "a hook of a running agent",
            "turn_end": "a hook of a running agent",
        },
    ),
    "privacy": Face(
        "Privacy",
        "What the user refuses and allows, and who may read.",
        {
            "refuse": "Store nothing under a key or in a category; hide what there is.",
            "allow": "Withdraw a refusal, or allow a key of a refused category.",
            "list": "Show what was refused and allowed.",
            "pause_recall": "Recall nothing of this user until `resume-recall`.",
            "resume_recall": "Recall this user's memories again.",
            "grant": "Give another user a right.",
            "revoke": "Withdraw a right.",
            "grants": "Show the rights that were given.",
        },
        {},
    ),
    "data": Face(
        "Data",
        "All that a user has, as a whole.",
        {
            "export": "Write everything of the user to a file, as JSON Lines.",
            "restore": "Bring the user back from a file of `export`.",
            "import_from": "Import a transcript; importing twice adds nothing.",
            "erase": "Erase everything of the user and prove it; there is no way back.",
            "erasure": "Show how the last erasure stands, after trying to complete it.",
        },
        {},
    ),
    "pending": Face(
        "Pending",
        "What waits for a person's decision.",
        {
            "list": "Show what waits, oldest first, and why.",
            "approve": "Store a held candidate.",
            "reject": "Drop a held candidate.",
            "resolve": "Decide between two memories that contradict each other.",
            "to_verify": "Show memories that need a person's confirmation.",
        },
        {"propose": "takes Python objects that an extractor made"},
    ),
    "receipts": Face(
        "Receipts",
        "What was shown to models.",
        {
            "list": "Show what was put before a model, oldest first.",
            "verify": "Check that what an answer cites was shown, and appears in it.",
            "replay": "Show a digest or recall again, byte for byte.",
        },
        {},
    ),
    "maintenance": Face(
        "Maintenance",
        "Collection, hygiene, consolidation and figures.",
        {
            "gc": "Remove what has aged out.",
            "hygiene": "Find duplicates, contradictions, and stale or sensitive memories.",
            "consolidate": "Merge, archive and summarise memories, in one transaction.",
            "consolidations": "Show the last consolidations, newest first.",
            "undo_consolidation": "Undo a consolidation, and say what could not be undone.",
            "scan": "Show sensitive or hostile content in a text, or in what is stored.",
            "usage": "Show the cost of models by day, and the ceilings.",
            "metrics": "Show counters and timings of this process.",
            "ageing": "Show how a memory ages, and when it expires.",
            "sources": "Show the sources of documents, and what cannot be read.",
            "end_task": "Remove a task's memories; --promote keeps some.",
        },
        {},
    ),
    "audit": Face(
        "Audit",
        "Who did what, safety records and feedback.",
        {
            "list": "Show audit events, newest first.",
            "record_safety": "Record an event that concerns the user's safety.",
            "record_feedback": "Record what somebody thought of an answer.",
        },
        {},
    ),
    "admin": Face(
        "Admin",
        "Administration: grants, other users, the whole store. --actor names the administrator.",
        {
            "grant": "Give a user of the organisation a right.",
            "revoke": "Withdraw a right.",
            "grants": "Show the grants of the organisation.",
            "remember": "Store a statement in the global scope, or in the scope named.",
            "gc": "Remove what has aged out, of all owners or some.",
            "erase": "Erase a user; there is no way back.",
            "erasure": "Show how the last erasure of a user stands.",
            "check_erasure": "Check an erasure's receipt against this store.",
            "dry_run": "Show what another policy would have done to past writes.",
            "export": "Write everything of --user, or of the organisation, to a file.",
            "restore": "Bring --user, or the organisation, back from a file.",
            "scan": "Show sensitive or hostile content in what is stored of all owners.",
            "safety_events": "Show safety records, newest first.",
            "feedback": "Show feedback, newest first.",
            "purge_safety": "Remove old safety records, or all.",
            "purge_feedback": "Remove old feedback, or all.",
            "reindex": "Rebuild index entries that another model or analyser made.",
            "end_due_sessions": "End every session that is idle for too long; for cron.",
            "backup": "Back up the whole store while it is in use, and verify the backup.",
            "restore_backup": "Return the whole store to a backup; what came later is gone.",
            "rekey": "Bring stored codes under the first key of the ring.",
            "sweep": "Remove remains of erased users that an old copy brought back.",
            "check_audit": "Recompute the audit chain of every owner.",
            "metrics": "Show counters and timings of this process.",
        },
        {},
    ),
}

WITHOUT_STORE = frozenset(
    {"add", "remember", "recall", "digest", "status", "session add", "agent capture"}
    | {"agent answer", "maintenance scan", "maintenance sources", "task prompt"}
)
"""Commands that make sense in mode incognito, which stores nothing."""

NEEDS_YES = frozenset({"admin restore-backup", "admin purge-safety", "admin purge-feedback"})
"""Commands that destroy data of all owners; they ask for --yes."""


def command_name(method: str) -> str:
    """Return the name of a method's command, ``forget-many``."""
    return method.replace("_", "-")
