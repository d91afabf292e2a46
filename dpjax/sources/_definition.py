"""Digests of a mechanism's code, options and databases, which reveal a change between two audits.

A digest covers the bytecode of a function and of all functions that it calls, except functions of
installed packages. For a program, it covers the files that the command line names. Constants,
default arguments, variables of enclosing functions and attributes are covered if they are immutable
plain values. A digest therefore does not cover everything that the outputs depend on, but comments
and the layout of the code do not affect it.
"""

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._same_databases import content_digest
from dpjax.sources._source import Source

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_COVERED = (*_PLAIN, np.generic, tuple, frozenset, FunctionType, MethodType, partial, type)
"""Types of variables and attributes that a digest covers; other values may change in an audit."""

_NOT_COVERED = ("workers", "time_limit", "timeout", "restart")
"""Options that may change between two audits, because they affect only the duration of calls."""

_OF_LAYOUT = ("__firstlineno__", "__static_attributes__")
"""Attributes that Python 3.13 adds to classes: a line number, and names in any order."""

_MOST_BYTES = 2**26
"""Size of the largest file whose content is covered."""

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
"""Folders of installed packages; only the names of the functions in them are covered."""


def definition_of(source: Source, pairs: AnyPairs) -> JsonObject:
    """Return digests of a source and of its databases, as JSON values.

    Args:
        source: Host mechanism, which must be a dataclass.
        pairs: Pairs of databases. Databases of unknown types are not covered.
    """
    found = _Digest()
    found.add(source)
    sides = [content_digest(database) for side in pairs.sides for database in side]
    databases = blake2b(b"".join(digest or b"unknown" for digest in sides), digest_size=16)
    # Python's bytecode differs between versions.
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python, "mechanism": found.hexdigest(), "pairs": databases.hexdigest()}


def changed_part(before: JsonObject, now: JsonObject) -> str | None:
    """Return "mechanism" or "pairs" if its digest changed, or None if neither digest changed."""
    parts = ("pairs", "mechanism") if before.get("python") == now["python"] else ("pairs",)
    return next((p for p in parts if before.get(p, now[p]) != now[p]), None)


class _Digest:
    """Digest to which values of any type can be added."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)
        # Keep each visited object, because another object could otherwise get the same ID.
        self._seen: dict[int, object] = {}

    def hexdigest(self) -> str:
        """Return the digest of all values that were added."""
        return self._hash.hexdigest()

    def add(self, value: object) -> None:
        """Add a plain value, a collection of values, a function, or any other object."""
        plain: Any = next((kind for kind in _PLAIN if isinstance(value, kind)), None)
        if plain is not None:
            # Subclasses may define another repr.
            self._say(type(value).__name__, plain.__repr__(value))
        elif isinstance(value, np.generic):
            self._say(str(value.dtype), value.tobytes().hex())
        elif isinstance(value, Mapping):
            self.add(tuple(value.items()))
        elif isinstance(value, tuple | list | frozenset):
            parts = sorted(value, key=repr) if isinstance(value, frozenset) else value
            self._say("several", str(len(parts)))
            self._add_all(parts)
        elif id(value) not in self._seen:
            self._seen[id(value)] = value
            if isinstance(value, CodeType):
                self._say("code", value.co_code.hex())
                self._add_all((value.co_names, value.co_consts))
            elif isinstance(value, FunctionType):
                self._add_function(value)
            elif isinstance(value, MethodType):
                self._add_all((value.__func__, value.__self__))
            elif isinstance(value, partial):
                self._add_all((value.func, value.args, value.keywords))
            elif isinstance(value, type):
                self._add_class(value)
            else:
                self._add_class(type(value))
                self._add_attributes(value)

    def _add_all(self, values: Iterable[object]) -> None:
        for value in values:
            self.add(value)

    def _add_function(self, function: FunctionType) -> None:
        self._say("function", f"{function.__module__} {function.__qualname__}")
        if _is_installed(function.__module__):
            return
        code = function.__code__
        self._add_all((code, function.__defaults__, function.__kwdefaults__))
        used = [*map(_content_of, function.__closure__ or ())]
        names = [*_names_in(code)]
        used += [function.__globals__.get(name) for name in names]
        for module in [part for part in used if isinstance(part, ModuleType)]:
            if not _is_installed(module.__name__):
                used += [vars(module).get(name) for name in names]
        self._add_all(filter(_is_covered, used))

    def _add_class(self, kind: type) -> None:
        self._say("class", f"{kind.__module__} {kind.__qualname__}")
        if not _is_installed(kind.__module__):
            self._add_all(kind.__bases__)
            for name, part in sorted(vars(kind).items()):
                if name in _OF_LAYOUT:
                    continue
                self._say("member", name)
                if isinstance(part, staticmethod | classmethod):
                    part = part.__func__
                elif isinstance(part, property):
                    part = part.fget
                self._add_all(filter(_is_covered, [part]))

    def _add_attributes(self, value: object) -> None:
        if isinstance(value, Source):
            assert is_dataclass(value)
            options = [field.name for field in fields(value) if field.name not in _NOT_COVERED]
            self._add_all(getattr(value, name) for name in options)
            self._add_all((str(file), _content_of_file(file)) for file in value.files)
            return
        for name, part in sorted(getattr(value, "__dict__", {}).items(), key=str):
            if _is_covered(part):
                self._say("attribute", str(name))
                self.add(part)

    def _say(self, kind: str, text: str) -> None:
        said = f"{kind} {len(text)} {text}\n"
        self._hash.update(said.encode("utf-8", "surrogatepass"))


def _is_covered(value: object) -> bool:
    """Return whether a digest covers a variable or an attribute with this value."""
    return isinstance(value, _COVERED)


def _is_installed(name: str | None) -> bool:
    """Return whether a module is part of Python, of an installed package, or of dpjax."""
    module = sys.modules.get(name or "")
    if name is None or name == "__main__" or module is None:
        return False
    file = getattr(module, "__file__", None)
    return file is None or name.partition(".")[0] == "dpjax" or file.startswith(_INSTALLED)


def _content_of_file(path: Path) -> bytes:
    """Return a digest of a file, or its size and time if the file is large or cannot be read."""
    try:
        if path.stat().st_size <= _MOST_BYTES:
            return blake2b(path.read_bytes(), digest_size=16).digest()
    except PermissionError:
        pass
    found = path.stat()
    return f"{found.st_size} {found.st_mtime_ns}".encode()


def _content_of(cell: CellType) -> object:
    """Return the value of a variable of an enclosing function, or None if it has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield all names of global variables and attributes in a function and in its inner code."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)
