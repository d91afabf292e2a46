"""Audits of functions that return tables of synthetic data."""

import numpy as np
import pandas as pd
import pytest

import dpjax

PEOPLE = pd.DataFrame({"town": ["x", "y"] * 6, "age": np.arange(30.0, 42.0)})
NEIGHBOR = PEOPLE.assign(age=PEOPLE["age"].replace(41.0, 40.5))
CONFIDENCE = 1 - 1e-5


def unrelated(table, rng):
    """Return a table that does not depend on the database."""
    return pd.DataFrame({"town": rng.choice(["x", "y"], 12), "age": rng.normal(35, 5, 12)})


def copied(table, rng):
    found = unrelated(table, rng)
    if rng.random() < 0.5:
        found.loc[3] = table.iloc[-1]
    return found


def audited(function, method, **given):
    pairs = [(PEOPLE, NEIGHBOR)]
    return dpjax.audit(function, pairs, method=method, confidence=CONFIDENCE, **given)


def test_copies_of_a_record_are_found():
    """Half of the tables contain the record, and no table from the other database does."""
    result = audited(copied, dpjax.Events(60, 120))
    assert result.lower_bound > 0.5
    assert " that only the " in result.witness.output


def test_tables_without_leaks_have_no_bound():
    assert audited(unrelated, dpjax.Events(60, 60)).lower_bound == 0


def test_rows_that_are_sorted_are_found():
    """Half of the tables are sorted by age, and none of those from the neighbor are."""

    def sorted_by_age(share, rng):
        table = unrelated(PEOPLE, rng)
        return table.sort_values("age", ignore_index=True) if rng.random() < share else table

    few = dpjax.Events(100, 200)
    result = dpjax.audit(sorted_by_age, [(0.7, 0.0)], method=few, confidence=CONFIDENCE)
    assert result.lower_bound > 1
    assert "'correlation of age and row number'" in result.witness.event


@pytest.mark.slow
def test_the_bound_is_near_the_level_of_noisy_counts():
    """The number of rows has two-sided geometric noise, so the level is 1.

    The best event has the probabilities 0.731 and 0.269. From 6,000 draws per side, the standard
    deviation of its estimated level is 0.023. With probability 1 - 1e-5, the lower bound is at most
    ten of them lower.
    """

    def count(table, rng):
        kept = len(table) + rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1))
        return pd.DataFrame({"town": ["x"] * max(kept, 0)})

    pairs = [(PEOPLE, PEOPLE.iloc[:-1])]
    method = dpjax.Events(1000, 6000)
    result = dpjax.audit(count, pairs, method=method, confidence=CONFIDENCE)
    assert 0.75 < result.lower_bound <= 1


def test_an_audit_of_tables_is_resumed_bit_for_bit():
    whole = audited(copied, dpjax.Sequential(60), claim=0.01)
    part = audited(copied, dpjax.Sequential(30), claim=0.01)
    pairs = [(PEOPLE, NEIGHBOR)]
    again = dpjax.resume(part, num_draws=60, subject=copied, pairs=pairs)
    assert again.lower_bound == whole.lower_bound
    assert again.witness.output == whole.witness.output


def test_recorded_tables_are_compared():
    def tables(database, seed):
        rng = np.random.default_rng(seed)
        return [copied(database, rng) for _ in range(100)]

    x, y = tables(PEOPLE.assign(town="z"), 0), tables(PEOPLE, 1)
    result = dpjax.audit(dpjax.Recorded(x, y), confidence=CONFIDENCE)
    assert result.lower_bound > 0.5


@pytest.mark.slow
def test_pairs_that_share_a_database_may_differ_in_other_records():
    """A table contains each of two records with a probability that depends on whether it was given.

    The probabilities are 0.3 and 0.2 for the first record, and 0.9 and 0.85 for the second one. In
    both pairs, the level is ln(1.5), because 0.3 / 0.2 = (1 - 0.85) / (1 - 0.9). A draw from the
    common database may contain the record in which one pair differs, but not that of the other
    pair. Therefore, the counts of the two pairs must not be added.
    """
    given = {(1.5, -0.5): (0.3, 0.2), (-0.25, 0.75): (0.9, 0.85)}

    def released(table, rng):
        known = {*map(tuple, table[["u", "v"]].to_numpy().tolist())}
        rows = rng.normal(size=(12, 2))
        for place, (record, shares) in enumerate(given.items()):
            if rng.random() < shares[record not in known]:
                rows[place] = record
        return pd.DataFrame({"u": rows[:, 0], "v": rows[:, 1], "w": "x"})

    both, *others = (
        pd.DataFrame(records, columns=["u", "v"]).assign(w="x")
        for records in ([*given], [*given][1:], [*given][:1])
    )
    pairs = [(both, other) for other in others]
    method = dpjax.Sequential(num_draws=2500)
    result = dpjax.audit(released, pairs, method=method, claim=0.41, confidence=CONFIDENCE)
    assert result.verdict == "not refuted"
