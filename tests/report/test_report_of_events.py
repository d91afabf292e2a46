"""The report of an audit by events."""

import dataclasses
import datetime

import numpy as np
import pytest

import dpjax
from dpjax.report import render


def noisy(database, num_samples, seed):
    return database + np.random.default_rng(seed).laplace(size=num_samples)


@pytest.mark.parametrize("kind", [".html", ".md"])
def test_a_report_counts_each_side_and_names_what_is_there(kind):
    sizes = dpjax.Events(num_samples=4000, num_confirm=10_000)
    result = dpjax.audit(dpjax.HostMechanism(noisy), [(0.0, 1.0)], method=sizes)
    settings = {**result.settings, "confirmed": [141, 3476]}
    sided = dataclasses.replace(
        result,
        evidence=dataclasses.replace(result.evidence, settings=settings),
        witness=dataclasses.replace(result.witness, event_counts=(68, 1871)),
    )
    text = render(sided.page(kind), kind)
    assert "68 of 141 fresh draws from the database, 1871 of 3476 from the neighbor" in text
    assert "Expected bound" in text and "estimated loss" not in text.lower()
    assert "Outputs outside the region" not in text
    assert datetime.date.today().isoformat() in text
    assert f"dpjax {result.versions['dpjax']}" in text
    evidence = dataclasses.replace(result.evidence, region="[-1, 1]")
    partial = dataclasses.replace(result, evidence=evidence)
    assert "Outputs outside the region" in render(partial.page(kind), kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".html", ".md"])
def test_a_report_of_a_chain_has_an_answer_for_every_notion(kind):
    method = dpjax.Events(num_samples=4000, num_confirm=10_000)
    mechanism, claim = dpjax.HostMechanism(noisy), [(0.0, 0.1)]
    result = dpjax.audit(
        mechanism, [(0.0, 1.0)], method=method, notion=dpjax.Profile(), claim=claim
    )
    text = render(result.page(kind), kind)
    for notion in (dpjax.Epsilon(1e-5), dpjax.Gdp(), dpjax.Zcdp(), dpjax.Renyi(8)):
        stated = result.bound(notion)
        assert notion.symbol in text and f"at least {stated.lower_bound:.4f}" in text
    assert "The claim is that the privacy profile of noisy is within the curve below." in text
    # The page contains the verdict's sign, the trade-off, the outputs, and three panels.
    assert text.count("<svg") == (6 if kind == ".html" else 0)
