"""A suite that cannot fail proves nothing: the contract fails every store that is wrong."""

import inspect

import pytest
from broken_stores import BROKEN

from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.store_contract import MemoryStoreContract

# Which test must see it, besides any others that do.
SEEN_BY = {
    "Amnesiac": "test_a_write_done_under_a_key_is_found_again",
    "BlindCondensing": "test_a_journal_that_is_not_as_it_was_is_left_alone",
    "EternalLeases": "test_a_lease_has_one_holder_until_its_end",
    "ForgetfulCondensing": "test_what_was_condensed_goes_to_whom_it_is_about",
    "SharedLeases": "test_of_those_who_ask_at_once_one_gets_the_lease",
    "BlindRenewals": "test_an_entry_is_made_anew_only_of_what_still_stands",
    "NewsOfRenewals": "test_an_entry_made_anew_changes_nothing_else",
    "ChildlessSettling": "test_who_settles_tells_what_was_derived_elsewhere",
    "DeafToStates": "test_many_states_may_be_told_without_their_memories",
    "DeafToForgetting": "test_forgetting_erases_payloads_and_the_chain_verifies",
    "EdgesGoWithParents": "test_edges_go_with_parent_and_child_but_those_to_others_stay",
    "ErasesForAll": "test_erasing_an_owner_leaves_others_as_they_were",
    "ErasesTombstones": "test_an_erased_owner_keeps_codes_and_tombstones_and_nothing_else",
    "ErasesWithoutReaders": "test_an_erased_owner_keeps_codes_and_tombstones_and_nothing_else",
    "LateJournal": "test_what_readers_did_before_an_erasure_is_not_written_after_it",
    "EternalReviews": "test_a_review_replaces_that_of_its_id",
    "ForeignEdges": "test_a_memory_is_kept_with_its_parents_of_the_same_owner",
    "ForeverPresent": "test_the_past_is_shown_as_it_stood",
    "StaleEntries": "test_a_restated_memory_may_get_another_index_entry",
    "GenerousSpending": "test_nothing_is_spent_past_a_ceiling",
    "RevivingSettlements": "test_who_is_erased_leaves_no_counts_and_settling_brings_none_back",
    "HalfWritten": "test_an_unfit_change_is_refused_and_nothing_is_written",
    "Immortal": "test_a_closed_store_refuses_every_call",
    "LeakingGets": "test_nothing_of_an_owner_is_shown_to_another",
    "LeakingSnapshots": "test_nothing_of_an_owner_is_shown_to_another",
    "LiveSizes": "test_an_owners_size_is_that_of_all_of_its_versions",
    "OldPolicies": "test_the_policy_recorded_last_is_shown_to_who_asks",
    "OutOfTurn": "test_writers_of_one_key_wait_for_each_other",
    "PrefixOwners": "test_nothing_of_an_owner_is_shown_to_another",
    "SharedOutbox": "test_nothing_of_an_owner_is_changed_by_another",
    "SilentConsents": "test_consents_come_with_all_rows_and_a_change_of_them_makes_all_come",
    "SilentRemoval": "test_forgetting_raises_the_epoch",
    "Unordered": "test_a_snapshot_has_the_live_rows_by_revision_then_id",
    "WholeDeltas": "test_since_a_head_come_the_rows_changed_after_it",
}


# Tests with further parameters are run by pytest only.
TESTS = {
    name: test
    for name, test in inspect.getmembers(MemoryStoreContract, inspect.isfunction)
    if name.startswith("test_") and list(inspect.signature(test).parameters) == ["self", "store"]
}


def fails(test, make_store):
    """Whether a kind of store does not pass a test of the contract."""
    try:
        test(MemoryStoreContract(), make_store())
    except Exception:  # noqa: BLE001 - whatever the broken store provokes
        return True
    return False


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_contract_fails_a_broken_store(broken):
    assert fails(TESTS[SEEN_BY[broken.__name__]], broken.in_memory)


def test_the_contract_passes_the_store_that_they_break():
    assert [name for name, test in TESTS.items() if fails(test, SqliteStore.in_memory)] == []
