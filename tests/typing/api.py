"""The promised API as types: checked by mypy, never run."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, assert_type

import openai

import simonides
from simonides import Draft, types
from simonides.integrations.wrap import memory_of
from simonides.ports import (
    Capability,
    Classified,
    Embedder,
    KnowledgeSource,
    LanguageModel,
    QueryEmbedder,
    Reranker,
)
from simonides.prompting import Prompting
from simonides.providers.classifiers import FunctionClassifier
from simonides.providers.embeddings.minilm import MiniLMEmbedder
from simonides.providers.embeddings.multilingual import MultilingualEmbedder
from simonides.providers.embeddings.openai import OpenAIEmbedder
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.providers.language_models.anthropic import AnthropicModel
from simonides.providers.language_models.circuit_breaker import GuardedModel
from simonides.providers.language_models.gemini import GeminiModel
from simonides.providers.language_models.openai import OpenAIModel
from simonides.providers.rerankers import HttpReranker
from simonides.testing import ManualClock, ScriptedModel
from simonides.testing import open as open_for_tests


class Words:
    """A reranker as users write one."""

    model_id = "words"
    capabilities: frozenset[Capability] = frozenset()

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [float(query in text) for text in texts]


def models() -> None:
    simonides.open(":memory:", embedder=StaticEmbedder(), reranker=Words())
    simonides.aopen(":memory:", embedder=MultilingualEmbedder(), reranker=None)
    made: Embedder = MiniLMEmbedder()
    asks: QueryEmbedder = OpenAIEmbedder(model="m", dimensions=512)
    scores: Reranker = HttpReranker(model="m", base_url="http://localhost/v1")
    del made, asks, scores


async def opened() -> None:
    assert_type(await simonides.aopen("memory.db", create=False), simonides.AsyncStore)
    async with simonides.aopen("memory.db", model="openai:gpt-5-mini") as store:
        assert_type(store, simonides.AsyncStore)
    with simonides.open("memory.db", clock=ManualClock(), model=ScriptedModel()) as blocking:
        assert_type(blocking, simonides.Store)
    assert_type(open_for_tests(clock=ManualClock(), model=ScriptedModel()), simonides.Store)


def wrapped() -> None:
    client = simonides.wrap(
        openai.OpenAI(api_key="k"),
        user="ana",
        org=None,
        session=None,
        agent=None,
        purpose=None,
        store="memory.db",
        recall=True,
        capture=True,
        min_relevance=None,
        max_items=None,
        preference_bias=True,
        place="part",
    )
    assert_type(client, openai.OpenAI)
    memory = memory_of(client)
    assert_type(memory, simonides.WrappedMemory)
    assert_type(memory.memory, simonides.Memory)
    assert_type(memory.diagnostics, tuple[str, ...])
    assert_type(memory.usage, types.Usage)
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
        return Classified(types.Opinion.UNSURE)


def looks() -> None:
    simonides.open(":memory:", classifier=Knows())
    simonides.open(
        ":memory:",
        classifier=FunctionClassifier(len, classifier_id="len"),
    )


def modes() -> None:
    with simonides.open("laptop.db", mode="synced", remote="postgresql://host/db") as store:
        assert_type(store.sync(), types.SyncReport)
        report = store.sync(scopes=["/user/alice"], full=True)
        assert_type(report.owners, tuple[types.OwnerSync, ...])
        assert_type(store.sync_status(), types.SyncStatus)


def sessions(memory: simonides.Memory) -> None:
    session = memory.session("thread-7")
    assert_type(session, simonides.Session)
    said = {"role": "user", "content": "Never suggest brand X.", "name": "Ana"}
    report = session.add(said, at=None, me="Ana", wait=False)
    assert_type(report, simonides.AddReport)
    session.add(["Hello.", simonides.Message("assistant", "Hi.")])
    session.add({"role": "tool", "name": "search", "content": json.dumps({"hits": 3})})
    assert_type(session.note("Brand Y.", importance="high"), types.LoggedEntry)
    assert_type(session.messages(), simonides.Page[types.LoggedEntry])
    assert_type(session.recall("brand", limit=5, layer="session"), simonides.Recall)
    assert_type(session.checkpoint(), types.SessionEndReport)
    assert_type(session.end(), types.SessionEndReport)
    assert_type(memory.sessions(), simonides.Page[types.OpenSession])
    takes: simonides.Memory = session
    del takes


async def sessions_awaited(memory: simonides.AsyncMemory) -> None:
    session = memory.session("thread-7")
    assert_type(session, simonides.AsyncSession)
    assert_type(await session.add("Hello."), simonides.AddReport)
    assert_type(await session.end(), types.SessionEndReport)


def blocking() -> None:
    with simonides.open("memory.db", mode="local") as store:
        memory = store.memory(user="alice", org="acme", agent=None, purpose=None).session("s")
        outcome = memory.remember(
            Draft(
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
        )
        assert_type(outcome, simonides.Outcome)
        assert_type(outcome.kind, simonides.OutcomeKind)
        assert_type(memory.privacy.pause_recall(), types.ConsentChange)
        assert_type(store.admin(actor="root").metrics(), dict[str, Any])
        event = memory.audit.record_safety("threat", severity="low", done="", note="", at=None)
        assert_type(event, types.SafetyRecord)
        given = memory.audit.record_feedback("helpful", source="user", score=1, comment="", at=None)
        assert_type(given, types.FeedbackRecord)
        admin = store.admin(actor="root")
        assert_type(admin.safety_events(), simonides.Page[types.SafetyRecord])
        assert_type(admin.feedback(user="alice"), simonides.Page[types.FeedbackRecord])
        assert_type(admin.purge_safety(everything=True), types.RecordsPurged)
        many = memory.remember_many([simonides.Draft("x", kind="episodic", metadata={})])
        assert_type(many, simonides.Outcomes)
        hits = memory.recall(
            "where?",
            limit=5,
            filter={"kind": "semantic"},
            kinds=["semantic"],
            layer="l2",
            known_at=None,
            valid_at=None,
            min_relevance=None,
        )
        assert_type(memory.data.erase(confirm="alice"), types.ErasureReceipt)
        assert_type(memory.data.erase(confirm="bob", user="bob").state, types.ErasureState)
        assert_type(memory.data.erasure(), types.ErasureReceipt | None)
        assert_type(hits, simonides.Recall)
        assert_type(hits[0], simonides.Hit)
        assert_type(hits[0].record.content, str)
        assert_type(hits.receipt, simonides.Receipt)
        asked = {"tags": {"$in": ["ops"]}}
        digest = memory.digest("where?", min_relevance=None, filter=asked, max_chars=600)
        assert_type(digest, simonides.Digest)
        assert_type(digest.text, str)
        assert_type(digest.receipt, simonides.Receipt)
        assert_type(memory.receipts.verify("answer", digest.receipt), types.Verification)
        replayed = memory.receipts.replay(digest.receipt)
        assert_type(replayed, simonides.Digest | simonides.Recall)
        assert_type(memory.receipts.list(limit=5), simonides.Page[simonides.Receipt])
        assert_type(hits[0].warnings, tuple[str, ...])
        assert_type(Prompting(memory).push("deploy"), simonides.Digest)
        assert_type(Prompting(memory).search("deploy", "l2", 5), simonides.Digest)
        assert_type(memory.tools("search").all[0], types.Tool)
        assert_type(
            memory.tools("search").call("search_memory", {"query": "deploy"}),
            types.ToolReply,
        )
        documents: KnowledgeSource = simonides.FolderSource("docs", name="handbook")
        store.add_source(documents, scope="/org/acme/")
        web = simonides.HttpSource("https://x.example/?q={query}", hosts=["x.example"])
        store.add_source(web)
        assert_type(store.remove_source("handbook"), bool)
        assert_type(memory.maintenance.sources(within_s=10), simonides.Page[types.SourceReport])
        assert_type(memory.recall("deploy", layer=["l2", "l3"]), simonides.Recall)
        assert_type(memory.digest("deploy", layer="all"), simonides.Digest)
        triggers = Prompting(memory).triggers("deploy", mode="hybrid")
        assert_type(triggers, simonides.prompting.Triggers)
        assert_type(triggers.before_model(), simonides.Digest | None)
        assert_type(triggers.before_tool("deploy", {"to": "prod"}), simonides.Digest | None)
        assert_type(
            store.admin(actor="root").end_due_sessions(),
            simonides.Page[types.SessionEndReport],
        )
        assert_type(memory.get("id"), simonides.Record | None)
        must: list[str | simonides.Constraint] = [
            "Keep port 5432 open",
            simonides.Constraint("Never", simonides.Importance.CRITICAL),
        ]
        with memory.task("Upgrade", plan=["a"], constraints=must, name="up", mode="push") as task:
            assert_type(task, simonides.Task)
            assert_type(task.prompt(), str)
            assert_type(task.before_model(), str)
            assert_type(task.before_tool("deploy", {"to": "prod"}), simonides.Digest | None)
            seen = task.observe("deploy", {"ok": 1}, importance="critical", key="k", failed=False)
            assert_type(seen, simonides.Digest | None)
            assert_type(task.note("…", resolves=[task.note("…")]), int)
            assert_type(task.step_done("done"), str | None)
            assert_type(task.add({"role": "user", "content": "hello", "name": "Ana"}), types.Talk)
            assert_type(task.phase, types.TaskPhase)
            task.turn_end()
            assert_type(task.complete("what was learned"), types.TaskReport)
        memory.task(name="up")
        assert_type(memory.list(limit=10), simonides.Page[simonides.Record])
        assert_type(memory.history("deploy_region"), tuple[simonides.Record, ...])
        assert_type(memory.explain("id", "query"), simonides.Explanation)
        assert_type(memory.correct("deploy_region", "eu-west-1"), simonides.Outcome)
        assert_type(memory.forget("id"), simonides.Outcome)
        assert_type(memory.forget_many(session="s", dry_run=True), simonides.Outcome)
        assert_type(memory.promote("id", to="org"), simonides.Outcome)
        assert_type(store.admin(actor="root").grant("alice", "org_write"), types.Grant)
        assert_type(memory.data.export("a.jsonl", overwrite=True), types.ExportReport)
        assert_type(memory.data.restore("a.jsonl", user="bob"), types.RestoreReport)
        admin = store.admin(actor="root")
        assert_type(admin.export("a.jsonl", user="bob", org="acme"), types.ExportReport)
        assert_type(admin.restore("a.jsonl", user="bob"), types.RestoreReport)
        assert_type(
            store.admin(actor="root").backup("backups/", keep=3, progress=print),
            types.BackupReport,
        )
        assert_type(store.admin(actor="root").restore_backup("b.db"), types.RestoredStore)
        report = store.admin(actor="root").reindex(
            scopes=["/org/acme/"], adopt=False, progress=print
        )
        assert_type(report, types.ReindexReport)
        assert_type(report.remade, int)
        dream = memory.maintenance.consolidate(dry_run=True)
        assert_type(dream, types.Consolidation)
        assert_type(dream.left, tuple[types.ConsolidationItem, ...])
        assert_type(memory.maintenance.undo_consolidation(dream.id), types.Consolidation)
        assert_type(memory.maintenance.consolidations(limit=3), simonides.Page[types.Consolidation])
        assert_type(memory.maintenance.usage(days=7).today, types.DayUsage)


async def awaited() -> None:
    async with simonides.aopen(":memory:") as store:
        memory = store.memory(user="alice")
        assert_type(await memory.remember("x"), simonides.Outcome)
        assert_type(await memory.recall("x"), simonides.Recall)
        async with memory.task("x") as task:
            assert_type(await task.prompt(), str)
            assert_type(await task.complete(), types.TaskReport)
