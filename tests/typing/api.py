"""The promised API as types: checked by mypy, never run."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, assert_type

import openai

import memstrata
from memstrata.adapters.embedding_minilm import MiniLMEmbedder
from memstrata.adapters.embedding_multilingual import MultilingualEmbedder
from memstrata.adapters.embedding_openai import OpenAIEmbedder
from memstrata.adapters.embedding_static import StaticEmbedder
from memstrata.adapters.model_anthropic import AnthropicModel
from memstrata.adapters.model_gemini import GeminiModel
from memstrata.adapters.model_guarded import GuardedModel
from memstrata.adapters.model_openai import OpenAIModel
from memstrata.adapters.reranking_http import HttpReranker
from memstrata.integrations.wrap import memory_of
from memstrata.ports import (
    Capability,
    Classified,
    Embedder,
    KnowledgeSource,
    LanguageModel,
    QueryEmbedder,
    Reranker,
)


class Words:
    """A reranker as users write one."""

    model_id = "words"
    capabilities: frozenset[Capability] = frozenset()

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [float(query in text) for text in texts]


def models() -> None:
    memstrata.open(":memory:", embedder=StaticEmbedder(), reranker=Words())
    memstrata.aopen(":memory:", embedder=MultilingualEmbedder(), reranker=None)
    made: Embedder = MiniLMEmbedder()
    asks: QueryEmbedder = OpenAIEmbedder(model="m", dimensions=512)
    scores: Reranker = HttpReranker(model="m", base_url="http://localhost/v1")
    del made, asks, scores


def wrapped() -> None:
    client = memstrata.wrap(
        openai.OpenAI(api_key="k"),
        user="ana",
        org=None,
        session=None,
        agent=None,
        purpose=None,
        store="memory.db",
        recall=True,
        capture=True,
        floor=None,
        max_items=None,
        preference_bias=True,
        place="part",
    )
    assert_type(client, openai.OpenAI)
    memory = memory_of(client)
    assert_type(memory, memstrata.WrappedMemory)
    assert_type(memory.manager, memstrata.MemoryManager)
    assert_type(memory.diagnostics, tuple[str, ...])
    assert_type(memory.usage, memstrata.Usage)
    assert_type(memory.flush(timeout_s=1.0), bool)
    memory.close()
    made: list[LanguageModel] = [
        OpenAIModel(model="m", api_key="k", base_url=None, timeout_s=60.0, max_retries=3),
        AnthropicModel(model="m", api_key="k"),
        GeminiModel(model="m", api_key="k"),
    ]
    made.append(GuardedModel(made[0], failures=5, rest_s=30.0, at_once=8))


class Knows:
    """A classifier as users write one."""

    classifier_id = "knows"
    capabilities: frozenset[Capability] = frozenset()

    async def classify(self, text: str, *, deadline_s: float) -> Classified:
        return Classified(memstrata.Opinion.UNSURE)


def looks() -> None:
    memstrata.open(":memory:", classifier=Knows())
    memstrata.open(":memory:", classifier=memstrata.FunctionClassifier(len, classifier_id="len"))


def modes() -> None:
    with memstrata.open("laptop.db", mode="synced", remote="postgresql://host/db") as strata:
        assert_type(strata.sync(), memstrata.SyncReport)
        report = strata.sync(scopes=["/user/alice"], full=True)
        assert_type(report.owners, tuple[memstrata.OwnerSync, ...])
        assert_type(strata.sync_status(), memstrata.SyncStatus)


def sessions(memory: memstrata.MemoryManager) -> None:
    with memory.session("thread-7") as session:
        added = session.add("user", "Never suggest brand X.", speaker="Ana", at=None)
        assert_type(added, memstrata.LoggedEntry)
        assert_type(added.number, int)
        assert_type(session.add_tool("search", {"hits": 3}, failed=True), memstrata.LoggedEntry)
        assert_type(session.decide("Brand Y.", importance="high"), memstrata.LoggedEntry)
        assert_type(session.entries(), tuple[memstrata.LoggedEntry, ...])
        assert_type(session.search("brand", limit=5), memstrata.Recall)
        assert_type(session.checkpoint(), memstrata.SessionEndReport)
        assert_type(session.memory, memstrata.MemoryManager)
    assert_type(session.end(), memstrata.SessionEndReport)
    assert_type(memory.sessions(), tuple[memstrata.OpenSession, ...])


async def sessions_awaited(memory: memstrata.AsyncMemoryManager) -> None:
    async with memory.session("thread-7") as session:
        assert_type(await session.add("user", "Hello."), memstrata.LoggedEntry)
    assert_type(session, memstrata.AsyncSession)


def blocking() -> None:
    with memstrata.open("memory.db", mode="local") as strata:
        memory = strata.manager(user="alice", org="acme", agent=None, session="s", purpose=None)
        outcome = memory.remember(
            "Always deploy to us-east-1",
            key="deploy_region",
            category="preference",
            source="user_stated",
            kind="semantic",
            confidence=None,
            importance="normal",
            sensitivity="private",
            tags=("ops",),
            metadata={"ticket": 1},
            scope=None,
            at=datetime(2026, 1, 1, tzinfo=UTC),
            valid_from="2026-01-01",
            ttl_days=30,
            pinned=False,
            quote=None,
            idempotency_key="once",
        )
        assert_type(outcome, memstrata.Outcome)
        assert_type(outcome.kind, memstrata.OutcomeKind)
        assert_type(memory.set_recall(False), memstrata.ConsentChange)
        assert_type(strata.get_metrics(), dict[str, Any])
        event = memory.safety_event("threat", severity="low", done="", note="", at=None)
        assert_type(event, memstrata.SafetyRecord)
        given = memory.feedback("helpful", source="user", score=1, comment="", at=None)
        assert_type(given, memstrata.FeedbackRecord)
        admin = strata.admin(by="root")
        assert_type(admin.safety_events(), tuple[memstrata.SafetyRecord, ...])
        assert_type(admin.feedback(user="alice"), tuple[memstrata.FeedbackRecord, ...])
        assert_type(admin.purge_safety(everything=True), memstrata.RecordsPurged)
        many = memory.remember_many([memstrata.Draft("x", kind="episodic", metadata={})])
        assert_type(many, list[memstrata.Outcome])
        assert_type(memory.capture("Call me Ana.", role="user"), memstrata.CaptureReport)
        hits = memory.recall(
            "where?",
            limit=5,
            filter={"kind": "semantic"},
            kinds=["semantic"],
            layer="l2",
            known_at=None,
            valid_at=None,
            floor=None,
        )
        assert_type(memory.erase(), memstrata.ErasureReceipt)
        assert_type(memory.erase(user="bob").state, memstrata.ErasureState)
        assert_type(memory.erasure(), memstrata.ErasureReceipt | None)
        assert_type(hits, memstrata.Recall)
        assert_type(hits[0], memstrata.Hit)
        assert_type(hits[0].memory.content, str)
        assert_type(hits.receipt, memstrata.Receipt)
        asked = {"tags": {"$in": ["ops"]}}
        digest = memory.digest("where?", floor=None, filter=asked, max_chars=600)
        assert_type(digest, memstrata.Digest)
        assert_type(digest.text, str)
        assert_type(digest.receipt, memstrata.Receipt)
        assert_type(memory.verify("answer", digest.receipt), memstrata.Verification)
        assert_type(memory.replay(digest.receipt), memstrata.Digest)
        assert_type(memory.replay_recall(hits.receipt), memstrata.Recall)
        assert_type(memory.receipts(limit=5), tuple[memstrata.Receipt, ...])
        assert_type(hits[0].warnings, tuple[str, ...])
        assert_type(memory.push("deploy"), memstrata.Digest)
        assert_type(memory.search_memory("deploy", "l2", 5), memstrata.Digest)
        assert_type(memory.search_tool(), memstrata.Tool)
        assert_type(memory.call_search_tool({"query": "deploy"}), memstrata.ToolReply)
        documents: KnowledgeSource = memstrata.FolderSource("docs", name="handbook")
        strata.add_source(documents, scope="/org/acme/")
        web = memstrata.HttpSource("https://x.example/?q={query}", hosts=["x.example"])
        strata.add_source(web)
        assert_type(strata.remove_source("handbook"), bool)
        assert_type(memory.knowledge(within_s=10), tuple[memstrata.SourceReport, ...])
        assert_type(memory.recall("deploy", layer=["l2", "l3"]), memstrata.Recall)
        assert_type(memory.digest("deploy", layer="all"), memstrata.Digest)
        triggers = memory.triggers("deploy", mode="hybrid")
        assert_type(triggers, memstrata.Triggers)
        assert_type(triggers.before_model(), memstrata.Digest | None)
        assert_type(triggers.before_tool("deploy", {"to": "prod"}), memstrata.Digest | None)
        ended = memory.end_transcript([memstrata.Draft("x", session="s", turn=0)])
        assert_type(ended, tuple[memstrata.SessionEndReport, ...])
        assert_type(ended[0].ended_by, memstrata.EndedBy)
        assert_type(strata.end_due_sessions(), tuple[memstrata.SessionEndReport, ...])
        assert_type(memory.get("id"), memstrata.Memory | None)
        must: list[str | memstrata.Constraint] = [
            "Keep port 5432 open",
            memstrata.Constraint("Never", memstrata.Importance.CRITICAL),
        ]
        with memory.task("Upgrade", plan=["a"], constraints=must, name="up", mode="push") as task:
            assert_type(task, memstrata.Task)
            assert_type(task.prompt(), str)
            assert_type(task.before_model(), str)
            assert_type(task.before_tool("deploy", {"to": "prod"}), memstrata.Digest | None)
            seen = task.observe("deploy", {"ok": 1}, importance="critical", key="k", failed=False)
            assert_type(seen, memstrata.Digest | None)
            assert_type(task.note("…", resolves=[task.note("…")]), int)
            assert_type(task.step_done("done"), str | None)
            assert_type(task.add("user", "hello", speaker="Ana"), memstrata.Talk)
            assert_type(task.phase, memstrata.TaskPhase)
            task.turn_end()
            assert_type(task.complete("what was learned"), memstrata.TaskReport)
        memory.task(name="up", resume=True)
        assert_type(memory.list(limit=10), tuple[memstrata.Memory, ...])
        assert_type(memory.history("deploy_region"), tuple[memstrata.Memory, ...])
        assert_type(memory.explain("id", "query"), memstrata.Explanation)
        assert_type(memory.correct("deploy_region", "eu-west-1"), memstrata.Outcome)
        assert_type(memory.forget("id"), memstrata.Outcome)
        assert_type(memory.forget(key="deploy_region", scope="user"), memstrata.Outcome)
        assert_type(memory.promote("id", to="org"), memstrata.Outcome)
        assert_type(strata.admin(by="root").grant("alice", "org_write"), memstrata.Grant)
        assert_type(memory.export("a.jsonl", overwrite=True), memstrata.ExportReport)
        assert_type(memory.restore("a.jsonl", user="bob"), memstrata.RestoreReport)
        admin = strata.admin(by="root")
        assert_type(admin.export("a.jsonl", user="bob", org="acme"), memstrata.ExportReport)
        assert_type(admin.restore("a.jsonl", user="bob"), memstrata.RestoreReport)
        assert_type(strata.backup("backups/", keep=3, progress=print), memstrata.BackupReport)
        assert_type(strata.restore_backup("b.db"), memstrata.RestoredStore)
        report = strata.reindex(scopes=["/org/acme/"], adopt=False, progress=print)
        assert_type(report, memstrata.ReindexReport)
        assert_type(report.remade, int)
        dream = memory.dream(dry_run=True)
        assert_type(dream, memstrata.Dream)
        assert_type(dream.left, tuple[memstrata.DreamItem, ...])
        assert_type(memory.undo_dream(dream.id), memstrata.Dream)
        assert_type(memory.dreams(limit=3), tuple[memstrata.Dream, ...])
        assert_type(memory.usage(days=7).today, memstrata.DayUsage)


async def awaited() -> None:
    async with memstrata.aopen(":memory:") as strata:
        memory = strata.manager(user="alice")
        assert_type(await memory.remember("x"), memstrata.Outcome)
        assert_type(await memory.recall("x"), memstrata.Recall)
        async with memory.task("x") as task:
            assert_type(await task.prompt(), str)
            assert_type(await task.complete(), memstrata.TaskReport)
