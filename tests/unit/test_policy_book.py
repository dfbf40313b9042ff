"""Which policy is in force for an org, and what happens when its file changes."""

from pathlib import Path

import pytest

from simonides.domain.errors import InvalidScope, PolicyInvalid
from simonides.policy.policy import DEFAULT_POLICY
from simonides.policy.registry import PolicyBook


def write(path: Path, text: str) -> None:
    """Replace a file as editors do: the inode changes even if time and size do not."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def test_without_a_path_the_built_in_policy_holds_for_everyone() -> None:
    assert PolicyBook().policy_for("acme") is DEFAULT_POLICY
    assert PolicyBook().policy_for() is DEFAULT_POLICY


def test_one_file_holds_for_every_org(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    write(path, "version: a")

    book = PolicyBook(path)

    assert book.policy_for("acme").version == "a"
    assert book.policy_for("globex") is book.policy_for("acme")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    write(path, "version: a")
    book = PolicyBook(str(path))
    assert book.policy_for().version == "a"

    write(path, "version: b")

    assert book.policy_for().version == "b"
    assert book.problems() == ()


def test_a_broken_reload_keeps_the_last_good_policy_and_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    write(path, "version: a")
    book = PolicyBook(path)

    write(path, "version: b\nbudgetz: {}")

    assert book.policy_for().version == "a"
    assert [str(problem) for problem in book.problems()] == [
        f"{path}:2: budgetz: is not known; did you mean 'budgets'?"
    ]

    write(path, "version: c")

    assert book.policy_for().version == "c"
    assert book.problems() == ()


def test_a_file_that_vanishes_keeps_the_last_good_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    write(path, "version: a")
    book = PolicyBook(path)

    path.unlink()

    assert book.policy_for().version == "a"
    assert "cannot be read" in str(book.problems()[0])


def test_a_broken_first_load_raises(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    write(path, "version: [")

    with pytest.raises(PolicyInvalid, match="is not YAML"):
        PolicyBook(path)
    with pytest.raises(PolicyInvalid, match="No such file"):
        PolicyBook(tmp_path / "missing.yaml")


def test_an_org_has_its_own_file_laid_over_the_default_one(tmp_path: Path) -> None:
    write(tmp_path / "default.yaml", "version: all\nbudgets: {top_k: 3}")
    write(tmp_path / "acme.yml", "version: acme\nbudgets: {seconds: 5}")

    book = PolicyBook(tmp_path)

    acme = book.policy_for("acme")
    assert (acme.version, acme.budgets.top_k, acme.budgets.seconds) == ("acme", 3, 5)
    assert book.policy_for("globex").version == "all"
    assert book.policy_for("default").version == "all"


def test_a_changed_default_reaches_the_orgs_laid_over_it(tmp_path: Path) -> None:
    write(tmp_path / "default.yaml", "budgets: {top_k: 3}")
    write(tmp_path / "acme.json", '{"version": "acme"}')
    book = PolicyBook(tmp_path)
    assert book.policy_for("acme").budgets.top_k == 3

    write(tmp_path / "default.yaml", "budgets: {top_k: 2}")

    assert book.policy_for("acme").budgets.top_k == 2


def test_a_file_may_come_and_go_while_the_process_runs(tmp_path: Path) -> None:
    book = PolicyBook(tmp_path)
    assert book.policy_for("acme") is DEFAULT_POLICY

    write(tmp_path / "acme.yaml", "version: acme")
    assert book.policy_for("acme").version == "acme"

    (tmp_path / "acme.yaml").unlink()
    assert book.policy_for("acme") is DEFAULT_POLICY


def test_a_directory_that_vanishes_keeps_the_last_good_policies(tmp_path: Path) -> None:
    directory = tmp_path / "policies"
    directory.mkdir()
    write(directory / "acme.yml", "version: acme")
    book = PolicyBook(directory)
    assert book.policy_for("acme").version == "acme"

    directory.rename(tmp_path / "elsewhere")

    assert book.policy_for("acme").version == "acme"
    assert book.policy_for() is DEFAULT_POLICY
    assert len(book.problems()) == 2
    with pytest.raises(PolicyInvalid, match="cannot be read"):
        book.policy_for("never-seen")

    (tmp_path / "elsewhere").rename(directory)

    assert book.policy_for("acme").version == "acme"
    assert book.problems() == ()


def test_one_broken_org_does_not_disturb_the_others(tmp_path: Path) -> None:
    write(tmp_path / "acme.yaml", "version: [")
    book = PolicyBook(tmp_path)

    with pytest.raises(PolicyInvalid):
        book.policy_for("acme")
    assert book.policy_for("globex") is DEFAULT_POLICY


@pytest.mark.parametrize(
    "org", ["../secret", "..", ".", "a/b", "a\\b", "", "a\0b", "*", " ", "x" * 129]
)
def test_no_name_of_an_org_leaves_the_directory(tmp_path: Path, org: str) -> None:
    directory = tmp_path / "policies"
    directory.mkdir()
    write(tmp_path / "secret.yaml", "version: secret")
    book = PolicyBook(directory)

    with pytest.raises(InvalidScope):
        book.policy_for(org)


def test_an_org_whose_name_is_too_long_for_a_file_has_none(tmp_path: Path) -> None:
    assert PolicyBook(tmp_path).policy_for("界" * 128) is DEFAULT_POLICY


def test_a_file_that_cannot_be_looked_at_does_not_pass_for_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "acme.yaml").symlink_to(tmp_path / "acme.yaml")

    with pytest.raises(PolicyInvalid, match="cannot be read"):
        PolicyBook(tmp_path).policy_for("acme")
