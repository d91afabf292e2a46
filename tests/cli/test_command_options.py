"""Options of `dpjax audit`: they match Python, and inapplicable options are rejected."""

import ast
import dataclasses
import inspect
import itertools
import re
from functools import partial
from pathlib import Path

import pytest

import dpjax
from dpjax.cli import _app, _declared
from dpjax.cli._audit_options import (
    DECLARED_METHODS,
    DECLARED_NOTIONS,
    DECLARED_SOURCES,
    METHODS,
    NOTIONS,
    OWNERS,
    SOURCES,
    TABLE,
    source_of,
)
from dpjax.cli._table import options_of

OTHER_WORDS = {"name", "batch_size", "inputs", "coins"}
"""Python arguments that a command line cannot express."""

SUBJECTS = {
    "mechanism": (),
    "function": (inspect.signature(dpjax.from_function).parameters["num_outcomes"],),
    "host": dataclasses.fields(dpjax.HostMechanism)[1:],
    "command": dataclasses.fields(dpjax.CommandMechanism)[1:],
    "samples": dataclasses.fields(dpjax.Recorded)[2:],
    "one_run": dataclasses.fields(dpjax.OneRun)[1:],
    "canary_runs": dataclasses.fields(dpjax.CanaryRuns)[1:],
    "object": dataclasses.fields(dpjax.LibraryMechanism)[1:],
}
OBJECTS = {
    "events": (dpjax.Events, dpjax.Epsilon),
    "sequential": (dpjax.Sequential, dpjax.Epsilon),
    "local": (dpjax.Local,),
    "histogram": (dpjax.Histogram,),
    "guesses": (dpjax.Guesses, dpjax.Epsilon),
}


def owned(owner):
    return {name for name, row in TABLE.items() if owner in row.owners}


@pytest.mark.parametrize("method", METHODS)
def test_options_of_a_method_are_its_arguments(method):
    fields = {f.name for kind in OBJECTS[method] for f in dataclasses.fields(kind)} - OTHER_WORDS
    assert fields - {"num_samples"} <= owned(method)
    assert owned(method) - fields <= {"bits", "blocks", "plot", "resume"}


@pytest.mark.parametrize("source", SOURCES)
def test_options_of_a_source_are_its_arguments(source):
    fields = {field.name for field in SUBJECTS[source]} - OTHER_WORDS
    audits = {"pairs", "num_samples", "num_confirm", "num_draws"}
    searched = {"like", "relation", "bounds", "size"}
    more = {
        **dict.fromkeys(("function", "host", "command"), searched),
        "mechanism": {"epsilon", "param"},
        "samples": {"column", "column_y", "by"},
        "one_run": {"score"},
    }
    assert fields <= owned(source)
    assert owned(source) - fields - audits <= more.get(source, set())
    assert (audits <= owned(source)) == (source not in ("samples", "one_run", "canary_runs"))


def test_defaults_that_are_said_are_those_of_python():
    kinds = (dpjax.CommandMechanism, dpjax.Events, dpjax.Local, dpjax.Epsilon, dpjax.Histogram)
    kinds = (*kinds, dpjax.Recorded, dpjax.Guesses)
    known = {f.name: f.default for kind in kinds for f in dataclasses.fields(kind)}
    known |= {f.name: f.default for f in dataclasses.fields(dpjax.HostMechanism)}
    for function in (dpjax.audit, dpjax.neighbors):
        known |= {name: p.default for name, p in inspect.signature(function).parameters.items()}
    said = 0
    for name, row in TABLE.items():
        for text in re.findall(r"Default: (\S+)\.$", row.text):
            said += 1
            assert text == {"bandwidth": "scott"}.get(name, str(known[name]).removesuffix(".0"))
    assert said >= 12


@pytest.mark.slow
def test_every_option_is_refused_where_it_is_foreign():
    """Test all sources with all notions and methods; the table defines which options apply."""
    for source, notion, method, name in itertools.product(SOURCES, NOTIONS, METHODS, TABLE):
        if name in SOURCES:
            continue
        owners = TABLE[name].owners
        fits = all(
            ours in owners or not any(owner in known for owner in owners)
            for known, ours in zip(OWNERS, (source, notion, method), strict=True)
        )
        written = {source: "something", name: "x", "notion": notion, "method": method}
        if fits:
            assert source_of(written) == source
        else:
            with pytest.raises(ValueError, match=r"is for .*, not for ") as error:
                source_of(written)
            assert str(error.value).startswith(options_of(TABLE)[name])


def as_imported(kind):
    """Return (name, type, default, metadata) of the option fields of a class."""
    types = {k: v for c in reversed(kind.__mro__) for k, v in inspect.get_annotations(c).items()}
    for field in dataclasses.fields(kind):
        if "option" in field.metadata:
            own = types[field.name]
            text = own.__name__ if isinstance(own, type) else str(own).replace("typing.", "")
            yield field.name, text.removesuffix(" | None"), field.default, field.metadata["option"]


def test_options_are_read_from_the_source_as_dataclasses_have_them():
    """The reader parses source code; this test imports the classes."""
    bounded = {name: kind for name, kind in dpjax.methods.METHODS.items() if kind.bounded}
    kinds = [*zip(DECLARED_METHODS.values(), bounded.values(), strict=True)]
    kinds += zip(DECLARED_NOTIONS.values(), dpjax.notions.NOTIONS.values(), strict=True)
    own = (dpjax.HostMechanism, dpjax.CommandMechanism, dpjax.Recorded, dpjax.OneRun)
    own += (dpjax.CanaryRuns, dpjax.LibraryMechanism)
    kinds += zip(DECLARED_SOURCES.values(), own, strict=True)
    assert list(DECLARED_METHODS) == list(bounded)
    assert list(DECLARED_NOTIONS) == list(dpjax.notions.NOTIONS)
    for declared, kind in kinds:
        assert kind.__doc__.startswith(declared.title) and declared.title
        missing = dataclasses.MISSING
        fields = dataclasses.fields(kind)
        needed = [f.name for f in fields if f.default is f.default_factory is missing]
        assert list(declared.required) == needed
        found = list(as_imported(kind))
        assert len(found) == len(declared.options)
        for option, (name, text, default, metadata) in zip(declared.options, found, strict=True):
            assert (option.name, option.default) == (name, default)
            own = metadata["kind"] or text.replace("<class '", "").replace("'>", "")
            assert option.kind == own
            written = {key: value for key, value in metadata.items() if key != "kind"}
            assert written == {key: getattr(option, key) for key in written}


def test_choices_are_what_is_accepted():
    """Each choice in the declaration of an option is accepted."""
    kinds = (
        dpjax.Local,
        dpjax.Histogram,
        partial(dpjax.HostMechanism, lambda database, num_samples: []),
    )
    for declared, make in zip(
        (DECLARED_METHODS["local"], DECLARED_METHODS["histogram"], DECLARED_SOURCES["host"]),
        kinds,
        strict=True,
    ):
        for option in declared.options:
            for choice in option.choices:
                make(**{option.name: choice})


DECLARED = [*DECLARED_METHODS.values(), *DECLARED_SOURCES.values(), *DECLARED_NOTIONS.values()]


def test_options_with_a_default_text_offer_choices():
    """Every option of kind str has a list of choices, which shell completion offers.

    An option without its own help text shares the text and the choices of another class.
    """
    own = [o for d in DECLARED for o in d.options if o.help and o.kind == "str"]
    texts = {option.name: option for option in own}
    assert {"kernel", "density", "objective", "bound", "special"} <= texts.keys()
    assert all(option.default in option.choices for option in texts.values())


def test_options_with_two_numbers_have_a_placeholder_for_each():
    pairs = [o for d in DECLARED for o in d.options if o.kind.startswith("tuple[float, float]")]
    assert {"region", "output_interval"} <= {option.name for option in pairs}
    assert all(len(option.metavar.split()) == 2 for option in pairs if option.help)
    # This is the width of an interval that begins at 0.
    (width,) = (o for d in DECLARED for o in d.options if o.kind == "width")
    assert width.metavar in width.help
    assert width.metavar == "INPUT_WIDTH"


def test_a_new_method_appears_without_an_edit(tmp_path, monkeypatch):
    """Register a method in a separate package, like the methods of dpjax."""
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "_table.py").write_text('METHODS = {"new": "_new:New"}\n')
    (tmp_path / "methods" / "_new.py").write_text(
        "@dataclass\nclass New:\n"
        '    """Looks again and again."""\n\n'
        "    subject: object\n"
        '    looks: int | None = option("How often.", default=7, metavar="TIMES")\n'
        '    seed: int = 3\n    name: ClassVar[str] = "new"\n\n'
        "    @property\n    def x(self):\n        y: int = option('no', default=1)\n"
    )
    monkeypatch.setattr(_declared, "_PACKAGE", tmp_path)
    _declared._source.cache_clear()
    try:
        (new,) = _declared.registered.__wrapped__("dpjax.methods")
    finally:
        _declared._source.cache_clear()
        _declared.declared.cache_clear()
    assert new[:3] == ("new", "Looks again and again.", ("subject",))
    assert [option.name for option in new.options] == ["looks"]
    assert new.options[0]._asdict() == {
        "name": "looks", "kind": "int", "default": 7, "help": "How often.", "metavar": "TIMES",
        "choices": (), "flag": "", "only": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("laplace", "--lipschitz", 1), "--lipschitz is for --method histogram, not for --method"),
        (("laplace", "--order", 2), "--order is for --method histogram"),
        (("laplace", "--bandwidth", "scott"), "--bandwidth is for --method local, not for"),
        (("laplace", "--method", "local", "--delta", 0.1), "--delta is for --method events"),
        (("laplace", "--method", "histogram", "--plot", "x.png"), "--plot is for --method events"),
        (("laplace", "--method", "histogram", "--num-confirm", 9), "--num-confirm is for --method"),
        (("laplace", "--continuous"), "--discrete is for --samples, not for NAME"),
        (("laplace", "--one-by-one"), "--one-by-one is for --host, not for NAME"),
        (
            ("a/b.py", "--like", "[1]"),
            "name a function or a library object in a/b.py, as a/b.py:NA",
        ),
        (("laplace", "--workers", 2), "is for --host, --command and --object, not for NAME"),
        (("laplace", "--num-outcomes", 2), "--num-outcomes is for --function, not for NAME"),
        (("--function", "math:sin", "--epsilon", 1), "--epsilon is for NAME, not for --function"),
        (
            ("--samples", "x.npy", "y.npy", "--timeout", 1),
            "--timeout is for --host, --command and --object, not for --samples",
        ),
        (("--command", "a", "--one-by-one"), "--one-by-one is for --host, not for --command"),
        (("--samples", "x.npy", "y.npy", "--num-samples", 9), "and --object, not for --samples"),
        (
            ("--samples", "x.npy", "y.npy", "--pairs", "p"),
            "--pairs is for NAME, --function, --host",
        ),
    ],
)
def test_foreign_options_on_the_command_line(refused, arguments, sentence):
    assert sentence in refused("audit", *arguments)


def test_the_help_shows_the_options_of_each_method_together(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    done = run("audit", "--help")
    panels = dict(re.findall(r"^Options of (.+):\n((?:  .*\n)+)", done.output, re.MULTILINE))
    assert done.exit_code == 0 and "--guarantee" not in done.output
    assert (
        "--lipschitz" in panels["--method histogram"] and "--bandwidth" in panels["--method local"]
    )
    assert (
        "--timeout" in panels["--host, --command and --object"]
        and "--column" in panels["--samples"]
    )
    assert "--region" in panels["--method events and local"]
    assert "JSON such as '[[0, 1]]'" in panels["NAME, --function, --host, --command and --object"]
    search = run("search-pairs", "--help").output
    assert "--region" in search and "--host" not in search and "--method" not in search


def test_no_function_of_the_command_line_has_many_arguments():
    for path in Path(_app.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                arguments = node.args
                count = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
                assert count <= 10, f"{path.name}:{node.lineno}"
