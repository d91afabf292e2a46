"""Bisection finds every change with few audits, even if some versions cannot be audited."""

import itertools
import math
from types import SimpleNamespace

import pytest

from dpjax.hunting import bisect, versions_of


@pytest.mark.parametrize("count", [2, 3, 7, 16])
@pytest.mark.parametrize("refuted_first", [False, True])
def test_every_change_is_found_with_few_audits(count, refuted_first):
    for change in range(1, count):
        asked = []

        def refuted(index, change=change, asked=asked):
            asked.append(index)
            return (index < change) == refuted_first

        found = bisect(count, refuted)
        assert (found.before, found.after) == (change - 1, change)
        assert found.refuted is refuted_first and not found.skipped
        assert len(asked) == len(set(asked)) <= 2 + math.ceil(math.log2(count))


def test_versions_that_cannot_be_audited_are_passed_over():
    """Test all 64 subsets of six versions with every position of the change."""
    for missing in itertools.product([False, True], repeat=6):
        left = [index for index in range(6) if not missing[index]]
        for change in range(1, 6):
            found = bisect(6, lambda i, m=missing, c=change: None if m[i] else i < c)
            if len(left) < 2:
                assert found.refuted is None
            elif left[0] >= change or left[-1] < change:
                assert found.before is None and found.refuted is (left[-1] < change)
            else:
                before = max(index for index in left if index < change)
                after = min(index for index in left if index >= change)
                assert (found.before, found.after) == (before, after)
                assert found.skipped == tuple(range(before + 1, after))


def test_words():
    versions = ["1.0", "1.1", "1.2", "2.0"]
    found = bisect(4, lambda index: [True, None, False, False][index])
    assert found.words(versions) == (
        "The claim is refuted in 1.0, and not refuted in 1.2. Versions in between that could not "
        "be audited: 1.1."
    )
    assert bisect(4, lambda index: False).words(versions) == (
        "In the oldest and in the newest version, the claim is not refuted."
    )
    assert bisect(4, lambda index: True if index in (1, 2) else None).words(versions) == (
        "In the oldest and in the newest version that could be audited, the claim is refuted. "
        "Versions that could not be audited: 1.0, 2.0."
    )
    assert bisect(4, lambda index: None).words(versions) == (
        "Fewer than two versions could be audited."
    )


@pytest.mark.parametrize("name", ["--index-url=http://x", "../folder", "a @ http://x"])
def test_nothing_but_names_is_looked_up(name):
    with pytest.raises(ValueError, match="packages must be PACKAGE==VERSION"):
        versions_of(name)


def test_versions_are_listed_from_old_to_new(monkeypatch):
    listed = "a 1.10 (1.10)\nAvailable versions: 1.10, 1.9, 1.0\n  INSTALLED: 1.0\n"
    done = SimpleNamespace(stdout=listed, stderr="")
    monkeypatch.setattr("dpjax.hunting._bisect.subprocess.run", lambda *words, **options: done)
    assert versions_of("a") == ["1.0", "1.9", "1.10"]
    done.stdout, done.stderr = "", "WARNING: old pip\nERROR: no such package\n"
    with pytest.raises(ValueError, match=r"versions of a are unknown \(ERROR: no such package\)"):
        versions_of("a")
