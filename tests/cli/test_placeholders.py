"""Placeholders of values in the help, and words that shell completion offers, for every command."""

from types import SimpleNamespace

import pytest

from dpjax.cli import _app
from dpjax.cli._declared import registered
from dpjax.cli._table import chosen, option_of, written_of
from dpjax.core.wording import listed
from dpjax.methods import METHODS

PLACEHOLDERS = {
    "audit": {
        "mechanism": "[NAME]", "claim": "NUMBER|JSON|FILE", "param": "NAME=VALUE",
        "pairs": "JSON|FILE", "column": "NAME,...", "column_y": "NAME,...", "by": "COLUMN",
    },
    "empirical": {"bandwidth": "RULE|NUMBER"},
    "hunt": {"packages": "[PACKAGE==VERSION...]", "bisect": "all|VERSION,..."},
    "rerun": {"allow_import": "MODULE"},
    "sweep": {"allow_import": "MODULE", "more": "N", "shard": "I/K", "dask": "ADDRESS"},
    "watch": {
        "folder": "FOLDER", "claim": "NUMBER", "column": "NAME,...", "column_y": "NAME,...",
    },
}  # fmt: skip

CHOICES = {
    ("audit", "method"): [name for name, method in METHODS.items() if method.bounded],
    ("audit", "notion"): [
        "epsilon", "profile", "trade-off", "gdp", "zcdp", "renyi:", "total-variation",
    ],
    ("audit", "kernel"): ["gaussian", "laplace", "epanechnikov", "biweight"],
    ("audit", "density"): ["binned", "direct", "auto"],
    ("audit", "objective"): ["lower-bound", "loss"],
    ("audit", "special"): ["outcomes", "error"],
    ("empirical", "kernel"): ["laplace", "gaussian", "likelihood", "ecdf"],
    ("empirical", "missing"): ["error", "drop"],
    ("plan", "bound"): ["all-intervals", "published"],
    ("watch", "notion"): ["epsilon", "gdp", "total-variation"],
}  # fmt: skip


def parameters(command):
    return {each.name: each for each in _app.application().commands[command].params}


@pytest.mark.parametrize("command", PLACEHOLDERS)
def test_placeholders_of_values(command):
    found = parameters(command)
    for name, placeholder in PLACEHOLDERS[command].items():
        assert found[name].metavar == placeholder, name


@pytest.mark.parametrize(("command", "name"), CHOICES)
def test_words_that_are_offered(command, name):
    found = parameters(command)[name]
    words = CHOICES[command, name]

    def offered(start):
        return [item.value for item in found.shell_complete(SimpleNamespace(params={}), start)]

    assert sorted(offered("")) == sorted(words)
    for word in words:
        assert offered(word) == [each for each in words if each.startswith(word)]
        assert word in offered(word[:2])
    assert offered("zz") == []


def test_values_that_were_given():
    given = {"a": None, "b": [], "c": (), "d": 0, "e": False, "f": "", "g": [1]}
    assert written_of(given) == {"d": 0, "e": False, "f": "", "g": [1]}
    assert chosen(given, ("a", "b", "d", "z")) == {"b": [], "d": 0}
    assert option_of("num_confirm") == "--num-confirm"
    assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip


def test_a_hunt_tells_which_release_it_installs(monkeypatch, tmp_path):
    from dpjax.cli._hunt_run import HuntRun

    said, case = [], SimpleNamespace(requires=("numpy",), dependencies=False, path="case.py")

    def environment(spec, requires, folder, *, dependencies):
        assert (requires, folder, dependencies) == (("numpy",), tmp_path / "environments", False)
        if spec == "p==2":
            raise ValueError("no release 2")
        return spec

    monkeypatch.setattr("dpjax.hunting.environment_of", environment)
    run = HuntRun({"case.py": ["p==1", "p==2", "p==3"]}, tmp_path, {}, quiet=True)
    run._progress = SimpleNamespace(update=said.append)
    assert run._environments(case) == ["p==1", "p==3"]
    assert [(each.spec, each.failure) for each in run._absent] == [("p==2", "no release 2")]
    assert said == [f"p=={n}: installing it unless it is already installed" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        ("pure-ldp==1.0", True), ("Pure_LDP", True), ("pure-ldp[extra]==2", True),
        ("pure.ldp==1.0", True), ("PURE-_-ldp==1.0", True), ("pureldp==1.0", False),
        ("pure==1.0", False), ("pure-ldp2==1", False),
    ],
)  # fmt: skip
def test_names_of_packages_are_compared_as_installers_do(spec, same):
    from dpjax.cli._hunt import _is_of, _named

    case = SimpleNamespace(package="pure_ldp", releases=("1.0", "2.0"))
    assert _is_of(spec, case) is same
    assert _named(case, [spec]) == ([spec] if same else [])
    assert _named(case, []) == ["pure_ldp==1.0", "pure_ldp==2.0"]


FORMS = {  # kind of value, placeholder, and flag where it is not the name with dashes
    ("events", "region"): ("tuple[float, float]", "LOW HIGH", ""),
    ("events", "also"): ("bool", "", "--also"),
    ("sequential", "seconds"): ("float", "", ""),
    ("local", "region"): ("tuple[float, float]", "", ""),
    ("local", "bandwidth"): ("float | str", "RULE|NUMBER", ""),
    ("local", "floor"): ("float", "", ""),
    ("local", "num_nodes"): ("int", "", ""),
    ("histogram", "input_interval"): ("width", "INPUT_WIDTH", "--input-width"),
    ("histogram", "output_interval"): ("tuple[float, float]", "LOW HIGH", ""),
    ("histogram", "order"): ("float", "", ""),
    ("guesses", "reveal_fraction"): ("float", "", ""),
    ("host", "batched"): ("bool", "", "/--one-by-one"),
    ("host", "bits"): ("int | str", "lowest|K", ""),
    ("host", "time_limit"): ("float", "", ""),
    ("host", "restart"): ("bool", "", "--restart"),
    ("samples", "discrete"): ("bool", "", "--discrete/--continuous"),
    ("samples", "independent"): ("bool", "", "--independent"),
    ("samples", "blocks"): ("int", "", ""),
    ("one_run", "fair_coins"): ("bool", "", "--fair-coins"),
    ("epsilon", "delta"): ("float", "", ""),
}


@pytest.mark.parametrize(("owner", "name"), FORMS)
def test_forms_of_options(owner, name):
    packages = ("dpjax.methods", "dpjax.sources", "dpjax.notions")
    every = [kind for package in packages for kind in registered(package)]
    (found,) = (o for kind in every if kind.name == owner for o in kind.options if o.name == name)
    assert (found.kind, found.metavar, found.flag) == FORMS[owner, name]


DEFAULTS = {
    "search-pairs": {"budget": 1_000_000}, "plan": {"bound": "all-intervals"},
    "empirical": {"database": "database", "individual": "individual", "kernel": "laplace",
                  "bandwidth": "likelihood", "missing": "error"},
    "audit": {}, "rerun": {}, "watch": {}, "hunt": {}, "sweep": {},
}  # fmt: skip


@pytest.mark.parametrize("command", DEFAULTS)
def test_options_that_are_left_out(command):
    """Options have default numbers and words; flags are off by default."""
    given = {name: each.default for name, each in parameters(command).items()}
    said = {name: value for name, value in given.items() if type(value) in (int, float, str)}
    assert said == DEFAULTS[command]
    assert not [name for name, value in given.items() if value is True]
