"""Every report says, from one source of text, what no black-box audit can rule out."""

import numpy as np
import pytest

import dpjax
from dpjax.empirical import render_empirical_report
from dpjax.mechanisms import Laplace, RandomizedResponse
from dpjax.report import render_histogram_report, render_report

KINDS = [".html", ".md"]


@pytest.fixture(scope="module")
def local():
    return dpjax.audit(Laplace(1.0), num_samples=2_000, num_confirm=5_000)


@pytest.mark.parametrize("kind", KINDS)
def test_local_audit(local, kind):
    assert dpjax.blind_spot(2_000) in render_report(local, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_histogram_audit(kind):
    found = dpjax.audit_histogram(RandomizedResponse(1.0), least_probability=0.2)
    text = dpjax.blind_spot(found.plan["num_samples"])
    assert found.blind_spot == text
    assert text in render_histogram_report(found, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_empirical_privacy(kind):
    records = np.random.default_rng(0).gamma(2.0, size=(30, 5))
    found = dpjax.empirical_privacy(records, "sum", epsilon=1.0)
    text = dpjax.blind_spot(30, "databases")
    assert "mechanism" not in text and "knows the databases by the 30 that" in text
    assert text in render_empirical_report(found, kind=kind)
