"""Options of `dpjax audit`, including the options that sources, methods and notions declare."""

from collections.abc import Iterable
from pathlib import Path

from dpjax.cli._declared import Declared, Option, registered
from dpjax.cli._options import (
    AS_JSON,
    JUNIT,
    PLOT,
    QUIET,
    REPORT,
    SARIF,
    integer_or_text,
    number_or_text,
)
from dpjax.cli._table import (
    Given,
    Row,
    Table,
    Value,
    argument,
    option,
    option_of,
    options_of,
)
from dpjax.core.errors import nearest
from dpjax.core.wording import listed

DECLARED_SOURCES = {
    source.name: source for source in registered("dpjax.sources") if source.asked[0]
}
DECLARED_METHODS = {method.name: method for method in registered("dpjax.methods") if method.bounded}
DECLARED_NOTIONS = {notion.name: notion for notion in registered("dpjax.notions")}

_NAMED = ("function", *DECLARED_SOURCES)
SOURCES = {"mechanism": "NAME", **{name: option_of(name) for name in _NAMED}}
_GIVEN = [source.name for source in DECLARED_SOURCES.values() if not source.takes_pairs]
"""Names of sources, such as recordings, for which the user passes no pairs of databases."""

_SEARCHED = ("function", "host", "command")
"""Names of sources for which `dpjax.neighbors` makes pairs from an example."""

_GUESSED = [
    option_of(source.name)
    for source in DECLARED_SOURCES.values()
    if source.usual_method == "guesses"
]
"""Options of sources whose default method is `guesses`. For all others, it is `events`."""

METHODS = {name: f"--method {name}" for name in DECLARED_METHODS}
NOTIONS = {name: f"--notion {name}" for name in DECLARED_NOTIONS}
OWNERS = SOURCES, NOTIONS, METHODS
"""Maps from the names of sources, notions and methods to the options that select them."""

FUNCTION = "FILE.py:NAME"
_KINDS = {
    "bool": (bool, None),
    "float": (float, None),
    "int": (int, None),
    "str": (str, None),
    "width": (float, None),
    "tuple[float, float]": (tuple[float, float], None),
    "float | str": (str, number_or_text),
    "int | str": (str, integer_or_text),
}
"""Map from the annotation of an option's field to the Python type and parser of its value."""


def _in_panel(row: Row) -> Row:
    """Move an option to a separate help panel if only some sources, notions or methods have it."""
    for known in OWNERS:
        of = [known[owner] for owner in known if owner in row.owners]
        if 0 < len(of) < len(known):
            row = row._replace(panel=f"Options of {_together(of)}")
    return row


def _together(options: list[str]) -> str:
    """Join options into a phrase such as "--method events and local", without repeating a flag."""
    flags = {option.rpartition(" ")[0] for option in options}
    if len(flags) > 1 or "" in flags:
        return listed(options)
    return f"{flags.pop()} {listed([option.rpartition(' ')[2] for option in options])}"


def _declared_row(fields: dict[str, Option]) -> Row:
    """Return the table row of an option that one or more classes declare.

    Args:
        fields: Map from the command-line name of each class to the field that declares the option.
            The first field with a help text determines the option's type, flag and metavar.
    """
    first = next(field for field in fields.values() if field.help)
    kind, parser = _KINDS[first.kind]
    text = " ".join(field.help for field in fields.values() if field.help)
    defaults = {
        owner: str(field.default).removesuffix(".0")
        for owner, field in fields.items()
        if not (field.default is None or isinstance(field.default, bool))
    }
    if defaults and "Default:" not in text:
        of = {known: name for group in OWNERS for known, name in group.items()}
        each = [f"{default} for {of[owner]}" for owner, default in defaults.items()]
        same = len({*defaults.values()}) == 1 and len(defaults) == len(fields)
        text += f" Default: {next(iter(defaults.values())) if same else ', '.join(each)}."
    only = [owner for field in fields.values() for owner in field.only]
    return option(
        kind,
        text,
        first.flag,
        owners=tuple(dict.fromkeys([*fields, *only])),
        metavar=first.metavar or None,
        choices=first.choices,
        parser=parser,
    )


def _naming_row(text: str, metavar: str) -> Row:
    """Return the table row of an option that selects a kind of source, such as `--samples`.

    If the metavar consists of two words, the option takes two values.
    """
    kind = tuple[str, str] if " " in metavar else str
    return option(kind, text, metavar=metavar or None)


def _declared_rows() -> Table:
    """Return the table rows for all options of sources, notions and methods, by field name."""
    found: dict[str, dict[str, Option]] = {}
    for owner, kind in (DECLARED_SOURCES | DECLARED_NOTIONS | DECLARED_METHODS).items():
        for field in kind.options:
            found.setdefault(field.name, {})[owner] = field
    return {name: _declared_row(fields) for name, fields in found.items()}


def _said(method: Declared) -> str:
    return f"{method.name}: {method.title[:1].lower()}{method.title[1:].rstrip('.')}"


def _mechanisms() -> Iterable[str]:
    from dpjax.mechanisms import CATALOGUE

    return CATALOGUE


_NAMED_NOTIONS = [
    ":".join([notion.name, *(name.upper() for name in notion.required)])
    for notion in DECLARED_NOTIONS.values()
]

# The rows contain no defaults, because `dpjax.audit` and the classes that declare the options
# provide them.
_ROWS: Table = {
    "mechanism": argument(
        str,
        "A built-in mechanism, which `dpjax mechanisms` lists, or a Python function or library "
        "object as FILE.py:NAME or MODULE:NAME; with --by, a file of outputs.",
        required=False,
        metavar="NAME",
        words=_mechanisms,
    ),
    "function": option(
        str,
        "A JAX function (key, database) -> output, as FILE.py:NAME or MODULE:NAME.",
        metavar=FUNCTION,
    ),
    **{name: _naming_row(*source.asked) for name, source in DECLARED_SOURCES.items()},
    "method": option(
        str,
        "; ".join(map(_said, DECLARED_METHODS.values()))
        + f". Default: events, and guesses for {listed(_GUESSED)}.",
        choices=METHODS,
    ),
    "claim": option(
        str,
        "The claimed level, a number in the unit of the notion. For epsilon, profile and "
        "trade-off, a claimed curve is also accepted: its points as JSON, [[epsilon, delta], "
        "...] (for trade-off: [[level, error], ...]), or a file with such JSON.",
        metavar="NUMBER|JSON|FILE",
        parser=number_or_text,
    ),
    "notion": option(
        str,
        f"The privacy notion, epsilon by default: {', '.join(_NAMED_NOTIONS)}.",
        choices=[name.partition(":")[0] + ":" * (":" in name) for name in _NAMED_NOTIONS],
    ),
    "distance": option(
        int,
        "Number of records in which the databases of each pair differ; dpjax converts the bounds "
        "into bounds for databases that differ in one record. Default: 1.",
    ),
    "confidence": option(
        float,
        "Confidence with which the bounds of all --num-claims audits hold simultaneously. "
        "Default: 0.999.",
    ),
    "num_claims": option(
        int,
        "Number of audits whose bounds hold simultaneously, with the stated confidence. "
        "Default: 1.",
    ),
    "key": option(int, "Seed for all draws; the same key gives the same result. Default: 0."),
    "as_json": AS_JSON,
    "report": REPORT,
    "junit": JUNIT,
    "sarif": SARIF,
    "quiet": QUIET,
    "epsilon": option(float, "The mechanism's epsilon parameter.", owners=("mechanism",)),
    "param": option(
        list[str],
        "Another parameter of the mechanism; may be repeated.",
        metavar="NAME=VALUE",
        owners=("mechanism",),
    ),
    "num_outcomes": option(
        int,
        "Number of outcomes of a function that returns integers from 0 to NUM_OUTCOMES - 1.",
        owners=("function",),
    ),
    "pairs": option(
        str,
        "Neighboring databases: JSON such as '[[0, 1]]', a file with such JSON, an npz file, or "
        "pairs in Python, as FILE.py:NAME or MODULE:NAME. A Python function gets the tables in csv "
        "or Parquet files if all databases are names of such files.",
        metavar="JSON|FILE",
        owners=tuple(name for name in SOURCES if name not in _GIVEN),
    ),
    "like": option(
        str,
        "Example of a database, as JSON, or as a JSON, csv or Parquet file; the audit searches for "
        "the pair of neighbors with the largest privacy loss (`dpjax guide neighbors`).",
        metavar="JSON|FILE",
        owners=_SEARCHED,
    ),
    "relation": option(
        str,
        "Which databases are neighbors: add-remove, change-one, any, within:DISTANCE or "
        "within:DISTANCE:NORM. Default: add-remove.",
        owners=_SEARCHED,
    ),
    "bounds": option(
        str,
        "Smallest and largest number in a database that is made from --like.",
        metavar="LOW,HIGH",
        owners=_SEARCHED,
    ),
    "size": option(
        int,
        "Number of records in each database that is made from --like, if the claim holds only for "
        "this number.",
        owners=_SEARCHED,
    ),
    "column": option(
        list[str],
        "The column of the outputs, by name or by index from 0; multiple columns, separated by "
        "commas, form a vector.",
        metavar="NAME,...",
        owners=("samples",),
    ),
    "column_y": option(
        str,
        "The column of the outputs in Y, if it differs from the column in X.",
        metavar="NAME,...",
        owners=("samples",),
    ),
    "by": option(
        str,
        "The column that names the database of each output, if one file contains the outputs for "
        "both: dpjax audit FILE --by COLUMN. By default, --method events audits these outputs; "
        "sequential and local apply, too. If a fair coin chose the database of each row, --method "
        "guesses also applies, and the outputs may depend on earlier ones.",
        metavar="COLUMN",
        owners=("samples",),
    ),
    "resume": option(
        Path,
        "File with the sequential audit to continue: the JSON that `--json` printed, or the "
        "report. "
        "The claim, the key and other terms stay the same.",
        owners=("sequential",),
    ),
    "score": option(
        str,
        "The column of the scores, by name or by index from 0; or multiple columns, separated by "
        "commas, from which a score is learned.",
        metavar="NAME,...",
        owners=("one_run",),
    ),
    "included": option(
        str,
        "The column that marks each canary as included (1 or true) or not (0 or false).",
        owners=("one_run",),
    ),
    "num_canaries": option(
        int,
        "Number of canaries of the function, at least 20.",
        owners=("canary_runs",),
    ),
    "plot": PLOT._replace(owners=("events", "sequential", "local", "guesses")),
    **_declared_rows(),
}
TABLE: Table = {name: _in_panel(row) for name, row in _ROWS.items()}


def source_of(written: dict[str, Value]) -> str:
    """Return the source named on the command line; if no method is named, set the default method.

    Raises:
        ValueError: If the command line names no source or multiple sources, if a method or notion
            is unknown, or if an option does not belong to the chosen source, method or notion.
    """
    named = [source for source in SOURCES if source in written]
    if any(str(file).startswith("--") for file in written.get("samples", ())):
        raise ValueError(f"{option_of('samples')} needs two files, X and Y.")
    if len(named) > 1:
        several = " and ".join(
            f"NAME ({written[name]})" if name == "mechanism" else SOURCES[name] for name in named
        )
        raise ValueError(f"name only one thing to audit, but not {several}.")
    if not named:
        *others, last = [SOURCES[name] for name in _NAMED]
        raise ValueError(f"name one thing to audit: a mechanism, {', '.join(others)} or {last}.")
    usual = DECLARED_SOURCES[named[0]].usual_method if named[0] in DECLARED_SOURCES else "events"
    method = written.setdefault("method", usual)
    notion = written.get("notion", "epsilon").partition(":")[0]
    for name, value, known in (("method", method, METHODS), ("notion", notion, NOTIONS)):
        if value not in known:
            raise ValueError(f"{option_of(name)} {value!r} is not known; {nearest(value, known)}")
    for name in written:
        for known, ours in zip(OWNERS, (named[0], notion, method), strict=True):
            owners = [owner for owner in known if owner in TABLE[name].owners]
            if owners and ours not in owners:
                right = listed([known[owner] for owner in owners])
                file = written.get("mechanism", "")
                if file.endswith(".py"):
                    raise ValueError(
                        f"name a function or a library object in {file}, as {file}:NAME."
                    )
                raise ValueError(
                    f"{options_of(TABLE)[name]} is for {right}, not for {known[ours]}."
                )
    return named[0]


def declared_values(kind: Declared, written: Given) -> dict[str, Value]:
    """Return the values that the user passed for a class's options, by field name."""
    from dpjax.core import validate

    values = {}
    for field in kind.options:
        if field.name in written:
            value = written[field.name]
            if field.kind == "width":
                validate.positive(**{field.name: value})
                value = (0.0, value)
            values[field.name] = value
    return values
