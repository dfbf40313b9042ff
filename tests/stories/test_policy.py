"""What an operator sets in a policy file reaches prompts, tasks and agents."""

import openai
import pytest

import simonides
from simonides import Draft
from simonides.testing import ScriptedModel
from simonides.testing.model_server import ModelServer, saying

RULES = """
digest:
  fact_keys: [tier]
  tags: [vip]
  facts: {items: 2, chars: 400}
  lines: 10
  kinds: {procedural: {items: 1, chars: 400}}
task: {push_items: 1, observations: 2, observation_chars: 20, scratchpad_chars: 30}
agents:
  terse: {digest: {lines: 1}, denied_keys: [colour]}
orgs:
  acme:
    quotas: {rules: 2}
    agents:
      terse: {digest: {fact_keys: []}}
"""


WHAT = ("logs", "metrics", "backups", "reports")


@pytest.fixture
def store(open_store, rules):
    return open_store(settings=rules(RULES))


def lines(digest, part):
    return [item.line for item in digest.items if item.part == part]


def test_chosen_keys_and_tags_stand_in_every_prompt_within_their_budget(store):
    ana = store.memory(user="ana")
    ana.remember("The customer tier is gold", key="tier")
    ana.remember(Draft("Her assistant is called Tom", tags=["vip"]))
    ana.remember("The desk is green", key="desk")
    shown = "\n".join(lines(ana.digest(), "core"))
    assert "gold" in shown
    assert "Tom" in shown
    assert "green" not in shown
    ana.remember(Draft("Her driver is called Eva", tags=["vip"]))
    digest = ana.digest()
    assert len(lines(digest, "core")) == 2
    assert ana.status()["hidden"] == digest.receipt.hidden == {"facts": 1}
    ana.forget("tier")
    assert "gold" not in ana.digest().text
    assert len(lines(ana.digest(), "core")) == 2


def test_an_inference_is_no_chosen_fact(store):
    ana = store.memory(user="ana")
    ana.remember(Draft("The customer tier is gold", key="tier", source="agent_inferred"))
    assert lines(ana.digest(), "core") == []


def test_a_kind_has_a_budget_of_its_own(store):
    ana = store.memory(user="ana", org="other")
    for place in ("Bern", "Rome", "Oslo"):
        ana.remember(Draft(f"To book a train to {place} ask the travel desk", kind="procedural",
                           category="fact"))  # fmt: skip
    digest = ana.digest("How do I book a train?")
    shown = [item for item in digest.items if "travel desk" in item.line]
    assert len(shown) == 1
    assert len(ana.recall("How do I book a train?")) == 3


def test_a_task_prompt_has_the_lengths_of_the_policy(store):
    ana = store.memory(user="ana")
    for n in range(4):
        ana.remember(f"The user service runs on host {n}")
    task = ana.task("Upgrade the user service")
    for n in range(3):
        task.observe("probe", f"reading {n} " + "x" * 60, verified=True)
    for n in range(3):
        task.note(f"note {n} of some length")
    prompt = task.prompt()
    observed = prompt.split("[RECENT_OBSERVATIONS]")[1].split("[CONSTRAINTS]")[0]
    assert len(observed.strip().splitlines()) == 2
    assert max(map(len, observed.strip().splitlines())) <= 23
    assert prompt.split("[SCRATCHPAD]")[1].strip().endswith("note 2 of some length")
    assert "note 1" not in prompt
    assert prompt.count("runs on host") == 1


def test_an_agent_has_the_rules_of_its_organisation_and_then_its_own(store):
    ana = store.memory(user="ana", org="acme")
    for n in range(4):
        ana.remember(f"The user service writes its {WHAT[n]} to a bucket")
    ana.remember("The customer tier is gold", key="tier")
    terse = store.memory(user="ana", org="acme", agent="terse")
    about = "Where does the user service write?"
    assert len(ana.digest(about).items) > 2
    assert len(lines(terse.digest(about), "relevant")) == 1
    assert "gold" in ana.digest().text
    assert "gold" not in terse.digest().text
    assert "gold" in store.memory(user="ana", org="acme", agent="other").digest().text
    refused = terse.remember("Green", key="colour")
    assert not refused
    assert ana.remember("Green", key="colour")


def test_an_error_in_the_rules_of_an_agent_names_its_line(open_store, rules):
    with pytest.raises(simonides.PolicyInvalid) as caught:
        open_store(settings=rules("agents:\n  terse: {digest: {lins: 1}}\n"))
    assert (caught.value.line, "did you mean 'lines'?" in str(caught.value)) == (2, True)
    with pytest.raises(simonides.PolicyInvalid):
        open_store(settings=rules("agents: [terse]\n"))


def test_the_weights_of_the_composite_decide_its_order(open_store, rules):
    text = "recall: {weights: {vector: 0, keyword: 0, recency: 0, importance: 1}}"
    settings = rules(text).model_copy(update={"fusion": "weighted"})
    ana = open_store(settings=settings).memory(user="ana")
    ana.remember("The boat is blue", importance="critical")
    ana.remember("The harbour of the boat is in Genoa")
    hits = ana.recall("Where is the harbour of the boat?")
    assert hits[0].content == "The boat is blue"


def test_the_user_takes_a_rule_of_an_operators_category_back(open_store, rules):
    text = "categories: {house: {directive: true, rank: prohibition}}"
    ana = open_store(settings=rules(text)).memory(user="ana")
    ana.remember("Never deploy on Fridays", category="house")
    assert "Never deploy on Fridays" in ana.digest().text
    ana.add("You can deploy on Fridays again.")
    assert "Never deploy on Fridays" not in "".join(lines(ana.digest(), "core"))


def test_an_operator_lets_sensitive_memories_into_digests(open_store, rules):
    settings = rules("digest: {sensitivities: [public, private, sensitive]}\n")
    ana = open_store(settings=settings).memory(user="ana")
    ana.remember(Draft("My bank balance is twelve euros", sensitivity="sensitive"))
    assert "twelve euros" in ana.digest("What is my bank balance?").text


def proposing(**item):
    return ScriptedModel({"items": [item]})


def test_an_operator_lets_agents_store_a_key_that_is_denied_at_first(open_store, rules):
    model = proposing(key="declared_tier", value="enterprise")
    for text, stored in (("{}", None), ("execution: {denied_keys: []}", "enterprise")):
        store = open_store(settings=rules(text))
        ana = store.memory(user="ana")
        store.agent(ana, model=model).run("I am enterprise tier.")
        model = proposing(key="declared_tier", value="enterprise")
        kept = ana.get("declared_tier")
        assert (kept and kept.content) == stored


def test_an_operator_lets_agents_write_for_the_organisation(open_store, rules):
    store = open_store(settings=rules("execution: {allowed_scopes: [user, workspace]}\n"))
    store.admin("root").grant("ana", "org_write", org="acme")
    model = proposing(key="language", value="English", scope="workspace")
    run = store.agent(store.memory(user="ana", org="acme"), model=model).run("We write in English.")
    assert (run.stop_reason, run.blocked) == ("success", ())
    assert store.memory(user="ben", org="acme").get("language").content == "English"
    assert store.memory(user="ana", org="other").get("language") is None


def test_a_request_is_sent_as_it_is_where_digests_are_switched_off(open_store, rules):
    ana = open_store(settings=rules("digest: {enabled: false}\n")).memory(user="ana")
    ana.add("Never deploy on Fridays.")
    messages = [{"role": "user", "content": "When may I deploy?"}]
    with ModelServer(answers=lambda _: saying("On Mondays.")) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)
        for each in (client, simonides.wrap(client, ana.session("now"))):
            each.chat.completions.create(model="m", messages=messages)
    plain, wrapped = server.received
    assert plain.raw == wrapped.raw
