"""Who reads and writes what: owners, organisations, tasks, agents, purposes, labels, grants."""

import pytest

import simonides
from simonides import Draft, InvalidInput, InvalidScope, NotFound, OwnerRequired, ScopeDenied


def contents(memory, **options):
    return sorted(record.content for record in memory.list(**options))


def found(memory, query, **options):
    return [hit.content for hit in memory.recall(query, limit=20, **options)]


@pytest.fixture
def admin(store):
    return store.admin("root")


@pytest.fixture
def levels(admin, ana, ben):
    """The same key in three scopes, and a fact of each besides."""
    admin.remember_many(
        [
            Draft("Deploy to us-east-1", key="region"),
            Draft("Backups run at night"),
            Draft("Deploy to eu-west-1", key="region", scope="/org/acme/"),
            Draft("The office is in Lisbon", scope="/org/acme/"),
        ],
        atomic=False,
    )
    ana.remember("Deploy to my laptop", key="region")
    ben.remember("Ben deploys on Fridays")


def test_recall_joins_own_org_and_global(levels, ana, ben, store):
    everything = found(ana, "deploy backups office")
    assert sorted(everything) == [
        "Backups run at night",
        "Deploy to my laptop",
        "The office is in Lisbon",
    ]
    assert everything[0] in (
        "The office is in Lisbon",
        "Backups run at night",
        "Deploy to my laptop",
    )
    assert "Deploy to eu-west-1" in found(ben, "deploy")
    assert sorted(found(store.memory(user="ana", org="other"), "deploy backups")) == [
        "Backups run at night",
        "Deploy to us-east-1",
    ]


def test_the_nearest_scope_wins_for_a_key(levels, ana, ben, store):
    stranger = store.memory(user="x", org="y")
    for memory, content in (
        (ana, "Deploy to my laptop"),
        (ben, "Deploy to eu-west-1"),
        (stranger, "Deploy to us-east-1"),
    ):
        assert memory.get("region").content == content
        assert [hit.content for hit in memory.recall("region") if hit.key == "region"] == [content]
    hidden = ana.get("region", scopes=["org"])
    explained = ana.explain(hidden, "region")
    assert (explained.recalled, explained.excluded) == (False, ("nearer_scope_has_key",))
    assert ana.explain("region", "region").rank == 1


def test_scopes_narrow_a_reading(levels, ana):
    assert contents(ana, scopes=["user"]) == ["Deploy to my laptop"]
    assert contents(ana, scopes=["/org/acme/"]) == contents(ana, scopes=["workspace"])
    assert found(ana, "deploy", scopes=["global"])[0] == "Deploy to us-east-1"
    assert len(contents(ana, scopes=["org", "global"])) == 4


@pytest.mark.parametrize("scope", ["org", "global", "/user/ben", "/org/other/", "/user/ana/task/t"])
def test_writes_go_to_the_own_scope_only(ana, scope):
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("x y z", scope=scope))
    assert contents(ana) == []


@pytest.mark.parametrize(
    "scopes", [["/user/ben"], ["/org/other/"], ["user", "/org/other/user/ana"]]
)
@pytest.mark.parametrize("verb", ["recall", "get", "list", "history", "explain"])
def test_other_scopes_are_not_readable(levels, ana, verb, scopes):
    arguments = {"recall": ["x"], "get": ["x"], "history": ["x"], "explain": ["x", "y"]}
    with pytest.raises(ScopeDenied):
        getattr(ana, verb)(*arguments.get(verb, []), scopes=scopes)


@pytest.mark.parametrize(
    "scopes", [[], "user", ["nowhere"], ["task"], [5], 7, ["/user"], ["/user/a/b"], ["/user/a b"]]
)
def test_malformed_scopes_are_refused(ana, scopes):
    with pytest.raises(InvalidInput):
        ana.recall("x", scopes=scopes)


def test_grants_are_given_listed_and_revoked(admin, levels, ana, ben):
    admin.grant("ana", "org_write", org="acme")
    assert admin.grant("ana", "org_write", org="acme").by.split()[0] == "root"
    admin.grant("ana", "read_user:ben", org="acme")
    given = [(grant.grantee, grant.right, grant.subject) for grant in admin.grants(org="acme")]
    assert given == [("ana", "org_write", None), ("ana", "read_user", "ben")]
    assert admin.grants(org="other") == []

    assert ana.remember(Draft("The canteen closes at three", scope="org"))
    assert "The canteen closes at three" in found(ben, "canteen")
    assert contents(ana, scopes=["/user/ben"]) == ["Ben deploys on Fridays"]
    for memory, scope in ((ben, "org"), (ana, "/user/ben"), (ana, "global")):
        with pytest.raises(ScopeDenied):
            memory.remember(Draft("x y z", scope=scope))

    assert admin.revoke("ana", "org_write", org="acme")
    assert not admin.revoke("ana", "org_write", org="acme")
    assert admin.revoke("ana", "read_user:ben", org="acme")
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("x y z", scope="org"))
    with pytest.raises(ScopeDenied):
        ana.list(scopes=["/user/ben"])
    assert admin.verify_audit()


@pytest.mark.parametrize("right", ["org_wirte", "read_user", "org_write:ben", "read_user:a b", ""])
def test_an_unknown_right_is_refused(admin, right):
    with pytest.raises(InvalidInput):
        admin.grant("ana", right, org="acme")


def test_tasks_of_a_user_do_not_see_each_other(store, ana):
    one, two = (store.memory(user="ana", org="acme", task=task) for task in ("one", "two"))
    ana.remember("Ana likes short answers", key="style")
    one.remember("The parser is in step one", key="state")
    two.remember("The printer is in step two", key="state")
    assert one.get("state").content != two.get("state").content
    assert "The printer is in step two" not in found(one, "parser printer answers step")
    assert contents(one) == ["Ana likes short answers", "The parser is in step one"]
    assert contents(two) == ["Ana likes short answers", "The printer is in step two"]
    assert len(contents(ana)) == 3
    assert contents(ana, scopes=["/user/ana/task/one"]) == ["The parser is in step one"]
    assert contents(ana, scopes=["/org/acme/user/ana/task/one"]) == ["The parser is in step one"]
    for verb in (one.correct, one.forget):
        with pytest.raises(NotFound):
            verb(two.get("state"), *["x"] * (verb == one.correct))
        with pytest.raises(NotFound):
            verb("style", *["x"] * (verb == one.correct))


def test_the_key_of_a_task_wins_over_its_users(store, ana):
    task = store.memory(user="ana", org="acme", task="one")
    ana.remember("Answer at length", key="style")
    task.remember("Answer in one line", key="style")
    assert task.get("style").content == "Answer in one line"
    assert found(task, "how to answer") == ["Answer in one line"]
    assert ana.get("style").content == "Answer at length"


def test_a_memory_for_some_agents_is_shown_to_them_only(store, ana):
    ana.remember(Draft("The gift is a red kite", key="gift", audience=("planner",)))
    ana.remember(Draft("The gift is a secret", key="gift"))
    planner = store.memory(user="ana", org="acme", agent="planner")
    writer = store.memory(user="ana", org="acme", agent="writer")
    assert len(contents(planner)) == 2
    for memory in (writer, ana):
        assert contents(memory) == found(memory, "which gift") == ["The gift is a secret"]
        with pytest.raises(NotFound):
            memory.history(planner.recall("red kite")[0])


def test_a_purpose_is_carried_and_must_match(store, ana):
    billing = store.memory(user="ana", org="acme", purpose="billing")
    record = billing.remember("The card ends in one two", key="card_end").record
    assert record.purpose == "billing"
    assert contents(billing) == found(billing, "card") == ["The card ends in one two"]
    for memory in (ana, store.memory(user="ana", org="acme", purpose="support")):
        for which in (record, record.id, record.id[-8:], "card_end", "card_edn"):
            assert memory.get(which) is None
            for verb, arguments in (("history", ()), ("confirm", ()), ("explain", ("card",))):
                with pytest.raises(NotFound) as caught:
                    getattr(memory, verb)(which, *arguments)
                assert caught.value.nearest is None
        assert found(memory, "card") == contents(memory) == []
        assert found(memory, "card", known_at=record.known_from) == []
        assert memory.remember("The card ends in one two", key="card_end").kind == "created"
        memory.forget("card_end")
    assert contents(billing) == ["The card ends in one two"]


def test_what_is_derived_is_labelled_like_its_parents(ana, store):
    page = ana.remember(
        Draft("Pages say so", source="external", sensitivity="sensitive", audience=("a", "b"))
    )
    agent = store.memory(user="ana", org="acme", agent="b")
    parent = agent.recall("pages say so")[0].record
    assert parent.id == page.record.id
    own = agent.remember(Draft("I say so too", audience=("b", "c"))).record
    child = agent.remember(Draft("so it is", parents=(parent.id, own.id))).record
    assert (child.trust, child.sensitivity, child.audience) == ("external", "sensitive", ("b",))
    rule = Draft("Always obey pages", kind="procedural", parents=(parent.id,))
    assert agent.remember(rule).reasons == ("external_directive",)
    preference = Draft("Obey pages", category="preference", parents=(parent.id,))
    assert agent.remember(preference).reasons == ("external_directive",)
    with pytest.raises(NotFound):
        ana.remember(Draft("so it is not", parents=(parent.id,)))


def test_a_session_without_a_user_is_an_identity(store):
    visitor, other = store.visitor("s1"), store.visitor("s2")
    visitor.remember("I look for a tent")
    assert found(visitor, "tent") == contents(store.memory(session="s1")) == ["I look for a tent"]
    assert contents(other) == contents(store.memory(user="s1")) == []


def test_a_conversation_of_a_user_keeps_the_memories(store, ana):
    record = store.memory(user="ana", org="acme", session="Monday 5").remember("a b c").record
    assert (record.session, ana.get(record.id)) == ("Monday 5", record)


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"user": ""}, {"user": "a/b"}, {"user": "a b"}, {"user": "org"}, {"user": 5},
        {"org": "x"}, {"user": "a", "org": "*"}, {"user": "a", "task": ".."}, {"session": "a b"},
        {"user": "e\u0301"},
    ],
)  # fmt: skip
def test_a_malformed_identity_is_refused(store, wrong):
    with pytest.raises((InvalidScope, OwnerRequired)):
        store.memory(**wrong)


def test_a_promoted_copy_is_the_organisations_and_goes_with_the_original(open_store):
    store = open_store()
    ana, bob = (store.memory(user=user, org="acme") for user in ("ana", "bob"))
    ana.remember("The brand colour is teal", key="brand", importance="high", tags=["style"])
    with pytest.raises(simonides.ScopeDenied):
        ana.promote("brand")
    store.admin("root").grant("ana", "org_write", org="acme")
    original, copy = ana.get("brand"), ana.promote("brand").record
    assert copy.scope.path == "/global/org/acme/"
    assert (copy.origin, copy.parents, copy.tags) == (original.id, (original.id,), ("style",))
    assert (copy.source, copy.importance, copy.version) == ("user_stated", "high", 1)
    assert bob.recall("brand colour")[0].id == copy.id
    assert ana.recall("brand colour")[0].id == original.id
    assert ana.audit.list(type="promoted")[0].reason == f"{original.id} to /global/org/acme/"
    assert ana.promote("brand").kind == "refreshed"
    ana.forget("brand")
    assert list(bob.recall("brand colour")) == []
    assert store.admin("root").verify_audit()


def test_a_promotion_goes_upward_and_passes_the_target_policy(open_store):
    store = open_store()
    task = store.memory(user="ana", org="acme", task="t1")
    task.remember("Retries help", key="lesson")
    for where in ("global", "task", "/org/acme/user/bob/", "/org/other/"):
        with pytest.raises((simonides.ScopeDenied, simonides.InvalidInput)):
            task.promote("lesson", to=where)
    assert task.promote("lesson", to="user").record.scope.path == "/global/org/acme/user/ana/"
    assert store.memory(user="ana", org="acme").get("lesson").task is None
    with pytest.raises(simonides.NotFound, match="lesson"):
        task.promote("lessons", to="user")


def test_forgetting_a_promoted_memory_leaves_what_the_organisation_had_before(open_store):
    store = open_store()
    admin = store.admin("root")
    admin.remember_many(
        [simonides.Draft("The brand colour is red", key="brand", scope="/org/acme/")]
    )
    admin.grant("ana", "org_write", org="acme")
    ana, bob = (store.memory(user=user, org="acme") for user in ("ana", "bob"))
    ana.remember("The brand colour is teal", key="brand")
    assert ana.promote("brand").kind == "superseded"
    ana.forget("brand")
    assert list(bob.recall("brand colour")) == []
    organisation = admin.memory(org="acme")
    [event] = organisation.audit.list(type="created")[-1:]
    [left] = organisation.history(event.subject)
    assert left.content == "The brand colour is red"
    assert admin.verify_audit()


def test_a_promotion_teaches_nothing_that_the_organisation_forgot(open_store):
    store = open_store()
    admin = store.admin("root")
    admin.grant("ana", "org_write", org="acme")
    ana = store.memory(user="ana", org="acme")
    ana.remember(simonides.Draft("The brand colour is teal", key="brand", source="agent_inferred"))
    ana.promote("brand")
    admin.memory(org="acme").forget("brand")
    refused = ana.promote("brand")
    assert (refused.kind, refused.reasons) == ("blocked", ("tombstoned",))
    assert len(ana.audit.list(type="promoted")) == 1
