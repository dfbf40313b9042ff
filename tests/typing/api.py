"""The promised API as types: checked by mypy, never run."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type

import memstrata
from memstrata.adapters.embedding_minilm import MiniLMEmbedder
from memstrata.adapters.embedding_multilingual import MultilingualEmbedder
from memstrata.adapters.embedding_openai import OpenAIEmbedder
from memstrata.adapters.embedding_static import StaticEmbedder
from memstrata.adapters.reranking_http import HttpReranker
from memstrata.ports import Capability, Embedder, QueryEmbedder, Reranker


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
        triggers = memory.triggers("deploy", mode="hybrid")
        assert_type(triggers, memstrata.Triggers)
        assert_type(triggers.before_model(), memstrata.Digest | None)
        assert_type(triggers.before_tool("deploy", {"to": "prod"}), memstrata.Digest | None)
        assert_type(memory.get("id"), memstrata.Memory | None)
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
