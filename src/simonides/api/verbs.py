"""The list of the verbs; the asynchronous face and the command line are built from it.

It is light: it names the functions and imports none of them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Verb(NamedTuple):
    """A verb.

    Attributes:
        name: Its name in its group.
        group: The group, a key of `GROUPS`; "" for a verb of the memory itself.
        function: The method, as ``module:Class.method`` of this package.
        does: Whether it only ``reads``, or also ``writes``.
        help: What it does, in one line of the command line's help.
        result: Name of a bare result: a number, a text, a truth value, or nothing.
        options: Positional arguments that are options on the command line.
        is_command: Whether the command line has it.
        is_routed: Whether a server has it.
        path: Its path on a server, with its method if that does not follow from `does`; "" for the
            usual one, of group and name.
    """

    name: str
    group: str
    function: str
    does: Literal["reads", "writes"]
    help: str
    result: str = ""
    options: tuple[str, ...] = ()
    is_command: bool = True
    is_routed: bool = True
    path: str = ""

    @property
    def counted_as(self) -> str:
        """Its name with that of its group."""
        return ".".join(filter(None, (self.group, self.name)))

    @property
    def route(self) -> str:
        """Its HTTP method and path under ``/v1``; in the path, arguments in braces."""
        method = "GET" if self.does == "reads" else "POST"
        if self.path:
            return self.path if " " in self.path else f"{method} {self.path}"
        of_group = {"task": "/tasks/{task}", "session": "/sessions/{session}"}
        place = of_group.get(self.group, f"/{self.group}" if self.group else "")
        return f"{method} {place}/{self.name.replace('_', '-')}"


GROUPS = {
    "session": "A conversation: --session names it.",
    "privacy": "What is not to be remembered.",
    "pending": "What waits for a person's decision.",
    "maintenance": "What is done with memories as they age.",
    "receipts": "What digests showed.",
    "data": "All that is stored of a user.",
    "audit": "The audit trail of a user, and what is recorded for operators.",
    "task": "Tasks of an agent: their working memory.",
    "source": "Documents to look things up in; --org names whose they are.",
    "token": "Credentials of programs for the server.",
    "admin": "The whole store; --actor names who does it.",
}
"""The groups of verbs, each with its line of help."""

VERBS: tuple[Verb, ...] = (
    Verb("remember", "", "memory:Memory.remember", "writes",
         "Store one statement, or say why not.", path="/memories"),
    Verb("remember_many", "", "memory:Memory.remember_many", "writes",
         "Store statements; a refusal concerns its own item only.", is_command=False,
         path="/memories/batch"),
    Verb("add", "", "memory:Memory.add", "writes",
         "Keep what was said, and learn facts and rules from it.", path="/messages"),
    Verb("recall", "", "memory:Memory.recall", "reads",
         "Print the memories that serve a query, best first.", path="POST /recall"),
    Verb("digest", "", "memory:Memory.digest", "reads",
         "Print the part of a prompt that the memory fills.", path="POST /digest"),
    Verb("profile", "", "memory:Memory.profile", "reads",
         "Print what is known of the user."),
    Verb("get", "", "memory:Memory.get", "reads",
         "Print one memory.", path="/memories/{which}"),
    Verb("list", "", "memory:Memory.list", "reads",
         "Print all memories that the caller may read, newest first.", path="/memories"),
    Verb("history", "", "memory:Memory.history", "reads",
         "Print every version of a memory, oldest first.", path="/memories/{which}/history"),
    Verb("explain", "", "memory:Memory.explain", "reads",
         "Say why a query would or would not recall a memory.",
         path="POST /memories/{which}/explain"),
    Verb("status", "", "memory:Memory.status", "reads",
         "Print counts of one's own memories, and of the store."),
    Verb("correct", "", "memory:Memory.correct", "writes",
         "Replace what is remembered, or change how it is kept.", path="PATCH /memories/{which}"),
    Verb("confirm", "", "memory:Memory.confirm", "writes",
         "Confirm a memory: it counts as verified now.", path="/memories/{which}/confirm"),
    Verb("promote", "", "memory:Memory.promote", "writes",
         "Copy a memory upward, from a task or a user.", options=("to",),
         path="/memories/{which}/promote"),
    Verb("forget", "", "memory:Memory.forget", "writes",
         "Delete a memory, its versions and all derived from it.", path="DELETE /memories/{which}"),
    Verb("undo", "", "memory:Memory.undo", "writes",
         "Take a change back, or what was just forgotten in words."),
    Verb("sessions", "", "memory:Memory.sessions", "reads",
         "Print the conversations, latest turn first."),
    Verb("messages", "session", "session:Session.messages", "reads",
         "Print what was said and noted, oldest first."),
    Verb("buffer", "session", "session:Session.buffer", "reads",
         "Print what was said as messages, within a budget."),
    Verb("note", "session", "session:Session.note", "writes",
         "Note what was decided or found out, as a turn."),
    Verb("checkpoint", "session", "session:Session.checkpoint", "writes",
         "Let what found support by now become a memory."),
    Verb("end", "session", "session:Session.end", "writes",
         "End this part of the conversation, and sum it up."),
    Verb("refuse", "privacy", "groups:Privacy.refuse", "writes",
         "Store and show nothing more of a key or a topic."),
    Verb("allow", "privacy", "groups:Privacy.allow", "writes",
         "Take a refusal back.", result="allowed", path="DELETE /privacy/{id}"),
    Verb("list", "privacy", "groups:Privacy.list", "reads",
         "Print all refusals, oldest first.", path="/privacy"),
    Verb("pause_recall", "privacy", "groups:Privacy.pause_recall", "writes",
         "Put nothing of the memory into prompts.", result="paused"),
    Verb("resume_recall", "privacy", "groups:Privacy.resume_recall", "writes",
         "Put memories into prompts again.", result="resumed"),
    Verb("forget", "privacy", "groups:Privacy.forget", "writes",
         "Forget what a topic or a person names.", result="forgotten"),
    Verb("list", "pending", "groups:Pending.list", "reads",
         "Print what waits for a decision, oldest first.", path="/pending"),
    Verb("approve", "pending", "groups:Pending.approve", "writes",
         "Do what is proposed, or let the newer of two hold.", path="/pending/{id}/approve"),
    Verb("reject", "pending", "groups:Pending.reject", "writes",
         "Drop what is proposed, or let the older of two hold.", result="rejected",
         path="/pending/{id}/reject"),
    Verb("resolve", "pending", "groups:Pending.resolve", "writes",
         "Decide which of two statements holds.", path="/pending/{id}/resolve"),
    Verb("gc", "maintenance", "groups:Maintenance.gc", "writes",
         "Collect expired memories, old versions and decayed inferences."),
    Verb("hygiene", "maintenance", "groups:Maintenance.hygiene", "writes",
         "Find repeats, contradictions and what has grown old."),
    Verb("consolidate", "maintenance", "groups:Maintenance.consolidate", "writes",
         "Merge repeats, and say what memories tell together."),
    Verb("consolidations", "maintenance", "groups:Maintenance.consolidations", "reads",
         "Print what was drawn together, latest first."),
    Verb("undo_consolidation", "maintenance", "groups:Maintenance.undo_consolidation", "writes",
         "Take back all that one consolidation did.", path="/maintenance/consolidations/{id}/undo"),
    Verb("metrics", "maintenance", "groups:Maintenance.metrics", "reads",
         "Count what happened to the memories in the last 24 hours."),
    Verb("import_from", "data", "groups:Data.import_from", "writes",
         "Import what another program exports.", is_command=False, is_routed=False),
    Verb("inspect", "data", "groups:Data.inspect", "reads",
         "Say what an export holds.", is_command=False, is_routed=False),
    Verb("list", "receipts", "groups:Receipts.list", "reads",
         "Print receipts, newest first, without their lines.", options=("limit",),
         path="/receipts"),
    Verb("verify", "receipts", "groups:Receipts.verify", "writes",
         "Say which memories of a digest an answer uses."),
    Verb("replay", "receipts", "groups:Receipts.replay", "reads",
         "Print the very digest of a receipt.", path="POST /receipts/replay"),
    Verb("export", "data", "groups:Data.export", "reads",
         "Write everything of the user to a file, or the memories to a folder.", is_routed=False),
    Verb("restore", "data", "groups:Data.restore", "writes",
         "Read an export of the user, of whom nothing is stored.", is_routed=False),
    Verb("erase", "data", "groups:Data.erase", "writes",
         "Delete everything of the user, with its bytes."),
    Verb("erasure", "data", "groups:Data.erasure", "reads",
         "Print the receipt of the last erasure."),
    Verb("list", "audit", "groups:Audit.list", "reads",
         "Print audit events, newest first.", path="/audit"),
    Verb("verify", "audit", "groups:Audit.verify", "reads",
         "Check that no row or event was changed or removed."),
    Verb("record_safety", "audit", "groups:Audit.record_safety", "writes",
         "Record that something unsafe was said or done."),
    Verb("record_feedback", "audit", "groups:Audit.record_feedback", "writes",
         "Record what was thought of an answer or a session."),
    Verb("prompt", "task", "task:Task.prompt", "reads",
         "Print the prompt.", result="prompt"),
    Verb("before_model", "task", "task:Task.before_model", "writes",
         "Print the prompt; the turn does not look it up again.", result="prompt"),
    Verb("before_tool", "task", "task:Task.before_tool", "writes",
         "Print what is remembered for a call of a tool."),
    Verb("observe", "task", "task:Task.observe", "writes",
         "Keep the result of a tool."),
    Verb("note", "task", "task:Task.note", "writes",
         "Keep a note of the agent in the scratchpad."),
    Verb("reset", "task", "task:Task.reset", "writes",
         "Clear observations and scratchpad.", result="reset"),
    Verb("step_done", "task", "task:Task.step_done", "writes",
         "Advance to the next step.", result="steps_done"),
    Verb("turn_end", "task", "task:Task.turn_end", "writes",
         "End a turn of the agent.", result="ended"),
    Verb("status", "task", "task:Task.status", "reads",
         "Print goal, plan, current step and how many are done."),
    Verb("complete", "task", "task:Task.complete", "writes",
         "End the task and keep what matters.", options=("learning",)),
    Verb("abandon", "task", "task:Task.abandon", "writes",
         "End the task and remove all of it.", result="removed"),
    Verb("add", "source", "store:Store.add_source", "writes",
         "Read a folder, file or page, or what has changed in it.", path="/sources"),
    Verb("list", "source", "store:Store.sources", "reads",
         "Print the sources by name.", path="/sources"),
    Verb("remove", "source", "store:Store.remove_source", "writes",
         "Delete the documents of a source.", result="removed", path="DELETE /sources/{name}"),
    Verb("remember", "admin", "admin:Admin.remember_many", "writes",
         "Store a statement for everyone in a scope.", path="/admin/memories"),
    Verb("grant", "admin", "admin:Admin.grant", "writes",
         "Give a right to a user of an organisation.", path="/admin/grants"),
    Verb("revoke", "admin", "admin:Admin.revoke", "writes",
         "Take a right away.", result="revoked", path="DELETE /admin/grants/{user}/{right}"),
    Verb("grants", "admin", "admin:Admin.grants", "reads",
         "Print the grants of an organisation.", path="/admin/grants"),
    Verb("new", "token", "admin:Admin.new_token", "writes",
         "Give a program a token for the server, and print it once.", path="/admin/tokens"),
    Verb("list", "token", "admin:Admin.tokens", "reads",
         "Print the tokens, oldest first, without their secrets.", path="/admin/tokens"),
    Verb("revoke", "token", "admin:Admin.revoke_token", "writes",
         "Revoke a token.", path="DELETE /admin/tokens/{token}"),
    Verb("safety", "admin", "admin:Admin.safety", "reads",
         "Print the safety records of an organisation, newest first."),
    Verb("feedback", "admin", "admin:Admin.feedback", "reads",
         "Print the feedback of an organisation's users, newest first."),
    Verb("metrics", "admin", "admin:Admin.metrics", "reads",
         "Print what this process has counted, and what waits in the store."),
    Verb("doctor", "admin", "admin:Admin.doctor", "reads",
         "Look at the set-up: what is wrong, and what mends it.", is_command=False,
         is_routed=False),
    Verb("backup", "admin", "admin:Admin.backup", "writes",
         "Copy the whole store, as of one moment, to a file.", result="backup"),
    Verb("restore", "admin", "admin:Admin.restore", "writes",
         "Put a backup in the place of the store.", is_command=False, is_routed=False),
    Verb("heads", "admin", "admin:Admin.heads", "reads",
         "Print the heads of all audit chains, to be kept elsewhere."),
    Verb("verify_audit", "admin", "admin:Admin.verify_audit", "reads",
         "Check all rows of all owners against their chains."),
)  # fmt: skip
