"""Every public name has a docstring; estimators and mechanisms name their sources."""

import importlib
import inspect
import pkgutil

import pytest

import dpjax
from dpjax import mechanisms

PACKAGES = [part.name for part in pkgutil.walk_packages(dpjax.__path__, "dpjax.") if part.ispkg]
MODULES = [dpjax, *map(importlib.import_module, PACKAGES)]
PUBLIC = {
    f"{module.__name__}.{name}": value
    for module in MODULES
    for name, value in ((name, getattr(module, name)) for name in dir(module))
    if not name.startswith("_")
    and (inspect.isclass(value) or inspect.isfunction(value) or hasattr(value, "__wrapped__"))
    and not isinstance(value, str)
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_documented(name):
    value = PUBLIC[name]
    text = inspect.getdoc(value) or ""
    assert len(text) > 20
    if inspect.isfunction(value):
        names = [n for n in inspect.signature(value).parameters if n not in ("self", "cls")]
        # A single argument may be described in a sentence; several arguments are listed.
        if len(names) > 2:
            assert "Args:" in text or "Arguments" in text, name
            assert all(f"{n}:" in text or "Arguments" in text for n in names), name


@pytest.mark.parametrize("name", [n for n in sorted(PUBLIC) if inspect.isclass(PUBLIC[n])])
def test_methods_and_properties_are_documented(name):
    """Users read them with help(), which looks up attributes in the class."""
    cls = PUBLIC[name]
    for attribute in dir(cls):
        value = getattr(cls, attribute)
        if not attribute.startswith("_") and hasattr(type(value), "__get__"):
            assert inspect.getdoc(value) or hasattr(Exception, attribute), attribute


SOURCED = [f"dpjax.mechanisms.{cls.__name__}" for cls in mechanisms.CATALOGUE.values()]
SOURCED += ["dpjax.audit", "dpjax.truncated_kde", "dpjax.empirical_privacy"]
SOURCED += ["dpjax.truncated_frequencies", "dpjax.Local"]
SOURCED += ["dpjax.methods.local.mpl_runs", "dpjax.methods.local.dpl_runs"]


@pytest.mark.parametrize("name", SOURCED)
def test_sources_are_named(name):
    assert "References:" in inspect.getdoc(PUBLIC[name])
