"""Command-line options that dataclass fields declare, read from source code without imports.

To read the options with `dataclasses.fields`, the command line would have to import the classes and
all of their dependencies, which takes longer than printing the help.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGE = Path(__file__).parent.parent
_END_OF_HEAD = re.compile(r"^(?:    def |    @|\S)", re.M)
_END_OF_IMPORTS = re.compile(r"^(?:class |def |@)", re.M)
_CLASS = re.compile(r"^class (\w+).*\n", re.M)
_PLACE = re.compile(r'"([\w.]+):(\w+)"')


class Option(NamedTuple):
    """A command-line option, as declared on a dataclass field by `dpjax.core.options.option`."""

    name: str
    kind: str
    default: object
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    flag: str = ""
    only: tuple[str, ...] = ()


class Declared(NamedTuple):
    """The options and other facts that a dataclass declares in its source code.

    Attributes:
        name: Name of the class on the command line and in recipes, or "" if the class has no such
            name.
        title: First line of the class's docstring.
        required: Names of the fields that have no default.
        options: Options that the class declares, in order. If a class declares no options,
            `options` contains the options of its base classes.
        bounded: Whether the class is a method that provides a lower bound.
        asked: Help text and metavar of the option that selects the source, or two empty strings if
            no option selects the source.
        usual_method: Name of the default method, if the class is a source.
        takes_pairs: Whether the user passes pairs of databases, if the class is a source.
    """

    name: str
    title: str
    required: tuple[str, ...]
    options: tuple[Option, ...]
    bounded: bool = False
    asked: tuple[str, str] = ("", "")
    usual_method: str = "events"
    takes_pairs: bool = True


@cache
def _source(module: str) -> str:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text("utf-8")


def _imported(module: str) -> dict[str, tuple[str, str]]:
    """Map each imported name of a module to the module that defines it and to its name there."""
    source = _source(module)
    # For speed, parse only the lines above the first class or function.
    end = _END_OF_IMPORTS.search(source)
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(ast.parse(source[: end.start() if end else None]))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def registered(package: str) -> tuple[Declared, ...]:
    """Return the declarations of all classes in a package's table, in the order of the table."""
    places = _PLACE.findall(_source(f"{package}._table"))
    return tuple(declared(f"{package}.{module}", name) for module, name in places)


@cache
def declared(module: str, name: str) -> Declared:
    """Return the options and other facts that a class declares."""
    source = _source(module)
    start = next((each for each in _CLASS.finditer(source) if each[1] == name), None)
    if start is None:
        return declared(*_imported(module)[name])
    # For speed, parse only the docstring and the fields of the class, which are a small part of
    # most files.
    end = _END_OF_HEAD.search(source, start.end())
    (body,) = ast.parse(source[start.start() : end.start() if end else None]).body
    assert isinstance(body, ast.ClassDef)
    title = (ast.get_docstring(body) or "").partition("\n")[0]
    own, required, options = "", [], []
    more: dict[str, Any] = {}
    for node in body.body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        field, kind, value = node.target.id, ast.unparse(node.annotation), node.value
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "option":
            options.append(_option(field, kind, value))
        elif isinstance(value, ast.Constant) and field in ("name", "kind"):
            own = str(value.value)
        elif value is not None and field in Declared._field_defaults:
            more[field] = ast.literal_eval(value)
        elif value is None and not kind.startswith("ClassVar"):
            required.append(field)
    if not options:
        places = _imported(module)
        bases = [base.id for base in body.bases if isinstance(base, ast.Name) and base.id in places]
        options = [option for base in bases for option in declared(*places[base]).options]
    return Declared(own, title, tuple(required), tuple(options), **more)


def _option(field: str, kind: str, call: ast.Call) -> Option:
    given = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    given.pop("static", None)
    given["kind"] = given.get("kind") or kind.removesuffix(" | None")
    return Option(field, help=ast.literal_eval(call.args[0]), **given)
