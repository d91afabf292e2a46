"""Numbers of draws of an audit in a test."""

import time

import jax
import numpy as np
import pytest

from dpjax import HostMechanism
from dpjax.core.numerics import MAX_BLOCK
from dpjax.testing import assert_private
from dpjax.testing._budget import Sizes, audit_within, fewest_sizes, sizes_of


def test_draws_are_split_over_pairs():
    assert sizes_of(1_000_000, 10) == Sizes(20_000, 300_000)
    assert sizes_of(10, 3) == Sizes(200, 400)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("fixed", [0.05, 1.0])
def test_a_budget_of_time_is_spent(monkeypatch, compiled, fixed):
    """With a simulated clock: 2 s to compile each block size, 1e6 draws per second."""
    now, seen, programs = [0.0], [], set()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def audit(sizes, key):
        blocks = tuple(min(size, MAX_BLOCK) if size % MAX_BLOCK == 0 else size for size in sizes)
        compilation = 2.0 if compiled and blocks not in programs else 0.0
        now[0] += sizes.draws(1) / 1e6 + fixed + compilation
        programs.add(blocks)
        seen.append((sizes, key))
        return sizes

    last = audit_within(30.0, 1, audit, 7, compiled=compiled)
    assert 20.0 < now[0] < 30.0
    assert last == seen[-1][0] == max(sizes for sizes, _ in seen)
    assert len(programs) == 1 or not compiled
    # At least half of the time goes to the audit that counts.
    assert last.draws(1) > 12e6
    # It has the given key, and its pilots have another one.
    assert seen[-1][1] == 7
    assert {int(word) for _, key in seen[:-1] for word in jax.random.key_data(key)}.isdisjoint(
        (0, 7)
    )
    seen.clear()
    now[0] = 0.0
    shortest = audit_within(0.05, 1, audit, 7, compiled=compiled)
    assert shortest == seen[-1][0] == fewest_sizes(1, compiled=compiled)
    # If the pilot compiles the smallest audit, it is that audit.
    assert len(seen) == (1 if compiled else 2)


def test_no_draw_of_a_pilot_is_drawn_again():
    """The audit equals one with the same seed and sizes but no time, draw for draw."""
    seeds = []

    def release(count, num_samples, seed):
        seeds.append(seed)
        return count + np.random.default_rng(seed).laplace(size=num_samples)

    # No single event bounds this notion, so its sizes are planned.
    arguments = {"pairs": [(0.0, 1.0)], "key": 7, "zcdp": 0.6}
    timed = assert_private(HostMechanism(release), seconds=0.3, **arguments)
    of_both = seeds.copy()
    seeds.clear()
    again = assert_private(
        HostMechanism(release),
        num_samples=timed.num_samples,
        num_confirm=timed.num_confirm,
        **arguments,
    )
    assert again.witness == timed.witness
    assert of_both[-len(seeds) :] == seeds
    pilots = of_both[: -len(seeds)]
    assert pilots and set(pilots).isdisjoint(seeds)


def test_what_is_compiled_has_whole_blocks():
    assert fewest_sizes(3, compiled=True) == Sizes(MAX_BLOCK, MAX_BLOCK)
    assert fewest_sizes(1, compiled=False) == sizes_of(20_000, 1)
    sizes = sizes_of(1_000_000, 10, whole_blocks=True)
    assert sizes == Sizes(2 * MAX_BLOCK, 36 * MAX_BLOCK)
    assert sizes.draws(10) == 2 * (20 + 36) * MAX_BLOCK


def test_an_audit_leaves_time_for_its_fixed_cost(monkeypatch):
    """At 1 s an audit and 1e6 draws per second, the last audit spends 85% of the time left."""
    now, last = [0.0], [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def audit(sizes, key):
        last[0] = now[0]
        now[0] += 1 + sizes.draws(1) / 1e6

    audit_within(30.0, 1, audit, 7, compiled=False)
    assert 0.84 * (30 - last[0]) < now[0] - last[0] <= 0.85 * (30 - last[0])


def test_a_later_pilot_is_at_least_twice_as_large(monkeypatch):
    """At 1 ms a draw, two pilots of 2,000 draws leave 7 of 11 s, enough for 5,950 draws."""
    now, seen = [500.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def audit(sizes, key):
        now[0] += sizes.draws(1) / 1000
        seen.append(tuple(sizes))
        return sizes

    assert audit_within(11.0, 1, audit, 7, compiled=False) == fewest_sizes(1, compiled=False)
    # The root of 5,950 / 2,000 is only 1.7. Of the 3 s that are left, 85% are for the audit.
    assert seen[:3] == [(400, 600), (400, 600), (800, 1200)] and len(seen) == 4
