"""Random mutants: small changes of the package's syntax tree in randomly drawn lines.

Each change replaces the text of one node and leaves the rest of the file unchanged. Docstrings,
annotations, type variables, messages of errors, stubs and blocks for type checkers are not changed.
A change that compiles to the same bytecode is drawn again. The same seed and package lead to the
same changes.
"""

import ast
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENTS = ROOT / "scripts" / "equivalents.toml"

COMPARISONS = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"),
    ast.Eq: ("!=",), ast.NotEq: ("==",), ast.In: ("not in",), ast.NotIn: ("in",),
    ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
EXTREMES = ("min max", "minimum maximum", "fmin fmax", "argmin argmax", "nanmin nanmax",
            "floor ceil", "any all", "cumsum cumprod")  # fmt: skip
SIDES = ("database neighbor", "lower upper", "low high", "left right", "first second",
         "smaller larger", "x y", "p q")  # fmt: skip
_ABOVE = 3
"""Maximum number of preceding lines that distinguish a change from equal changes in its file."""
_SMALL = 10
"""Largest integer that is changed by one."""
GUARDS = ("strict", "stacklevel")
"""Keyword arguments that do not affect a correct program."""
SYMMETRIC = frozenset(
    "min max minimum maximum fmin fmax logaddexp logical_or logical_and union1d array_equal "
    "hypot add multiply".split()
)
"""Functions whose arguments may be exchanged."""
LIBRARIES = ("np", "jnp", "jax", "scipy", "math", "lax")
"""Modules whose keyword arguments have defaults."""


def _both_ways(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return a map from each word to its opposite."""
    words = [pair.split() for pair in pairs]
    return dict(words) | {second: first for first, second in words}


OPPOSITE, OTHER_SIDE = _both_ways(EXTREMES), _both_ways(SIDES)


@dataclass(frozen=True)
class Change:
    """A change that replaces bytes `start` to `end` of a file with `new`."""

    file: str
    kind: str
    line: int
    start: int
    end: int
    new: str

    def made(self, text: str) -> str:
        """Return the text of the file after the change."""
        content = text.encode()
        return (content[: self.start] + self.new.encode() + content[self.end :]).decode()

    def lines(self, text: str) -> tuple[str, str]:
        """Return the complete changed lines before and after the change, stripped."""
        content = text.encode()
        begin = content.rfind(b"\n", 0, self.start) + 1
        stop = content.find(b"\n", self.end)
        old = content[begin:stop].decode()
        new = (content[begin : self.start] + self.new.encode() + content[self.end : stop]).decode()
        return old.strip(), new.strip()

    def forms(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield tuples (file, lines before the change, lines after the change).

        The first tuple contains only the changed lines. The next tuples add one, two or more
        preceding lines, which distinguish lines that occur more than once in the file.
        """
        above = stripped(text.encode()[: self.start].decode()).split("\n")[:-1]
        old, new = map(stripped, self.lines(text))
        for number in range(_ABOVE + 1):
            head = "".join(f"{line}\n" for line in above[max(len(above) - number, 0) :])
            yield self.file, head + old, head + new


class _File:
    """A module and its possible changes."""

    def __init__(self, file: str, text: str, defaults: dict[str, list[set[str]]]):
        self.file, self.content, self.defaults = file, text.encode(), defaults
        self.starts = [0]
        for line in self.content.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(text)

    def at(self, node: ast.AST) -> tuple[int, int]:
        """Return the position of the first byte of a node and of the byte after the node."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        start, end = self.at(node)
        return self.content[start:end].decode()

    def change(self, kind: str, node: ast.AST, new: str) -> Change:
        """Return the change that replaces a node."""
        return Change(self.file, kind, node.lineno, *self.at(node), new)

    def between(self, kind: str, before: ast.AST, after: ast.AST, old: str, new: str) -> Change:
        """Return the change that replaces the operator between two nodes."""
        start, end = self.at(before)[1], self.at(after)[0]
        found = re.search(
            rb"\s+".join(map(re.escape, old.encode().split())), self.content[start:end]
        )
        if found is None:
            raise ValueError(f"no {old} in line {before.end_lineno} of {self.file}")
        line = before.end_lineno
        return Change(self.file, kind, line, start + found.start(), start + found.end(), new)

    def changes(self) -> Iterator[Change]:
        """Yield all possible changes of the file."""
        yield from self._within(self.tree, frozenset(), in_function=False)

    def _within(
        self, node: ast.AST, names: frozenset[str], *, in_function: bool
    ) -> Iterator[Change]:
        if isinstance(node, ast.FunctionDef):
            if _is_stub(node):
                return
            names = frozenset(_names(node))
            in_function = True
        elif isinstance(node, ast.ClassDef) and any("Protocol" in self.text(b) for b in node.bases):
            return
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in self.text(node.test):
            return
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.JoinedStr)):
            return
        elif isinstance(node, ast.keyword) and node.arg in GUARDS:
            return
        elif isinstance(node, ast.Call) and self.text(node.func).endswith("TypeVar"):
            return
        elif isinstance(node, ast.Raise):
            yield self.change("statement dropped", node, "pass")
            return
        of_types = not in_function and isinstance(node, (ast.BinOp, ast.Subscript))
        if not of_types:
            yield from self._of(node, names)
        for field, child in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for item in child if isinstance(child, list) else [child]:
                if isinstance(item, ast.AST) and not _is_docstring(item):
                    yield from self._within(item, names, in_function=in_function)

    def _of(self, node: ast.AST, names: frozenset[str]) -> Iterator[Change]:
        """Yield the changes of one node, without those of its child nodes."""
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                for before, operator, after in zip([left, *others], ops, others, strict=False):
                    for new in COMPARISONS[type(operator)]:
                        old = _SIGNS[type(operator)]
                        yield self.between("comparison", before, after, old, new)
            case ast.Constant(value=bool() as value):
                yield self.change("constant", node, str(not value))
            case ast.Constant(value=int() as value):
                # Double or halve large numbers, because a change by one is hardly a mistake.
                moved = (value + 1, value - 1) if value <= _SMALL else (2 * value, value // 2)
                for new in moved if value else moved[:1]:
                    yield self.change("constant", node, str(new))
            case ast.Constant(value=float() as value) if value:
                yield self.change("constant", node, f"{value * 2!r}")
                yield self.change("constant", node, f"{value / 2!r}")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                yield self.change("sign", node, self.text(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self.change("condition negated", node, f"bool({self.text(operand)})")
            case ast.BinOp(left=left, op=operator, right=right):
                if type(operator) in OPERATORS and not isinstance(left, (ast.JoinedStr, ast.List)):
                    old, new = _SIGNS[type(operator)], OPERATORS[type(operator)]
                    yield self.between("sign", left, right, old, new)
                yield self.change("term dropped", node, f"({self.text(left)})")
                yield self.change("term dropped", node, f"({self.text(right)})")
                if isinstance(operator, (ast.Sub, ast.Div, ast.Pow)):
                    swapped = f"({self.text(right)}) {_SIGNS[type(operator)]} ({self.text(left)})"
                    yield self.change("side swapped", node, swapped)
            case ast.BoolOp(values=values):
                for value in values:
                    rest = [f"({self.text(other)})" for other in values if other is not value]
                    word = " and " if isinstance(node.op, ast.And) else " or "
                    yield self.change("term dropped", node, f"({word.join(rest)})")
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield self.change("condition negated", test, f"(not ({self.text(test)}))")
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield self.change("condition negated", test, f"(not ({self.text(test)}))")
            case ast.Subscript(slice=index):
                yield from self._index(index)
            case ast.Attribute(value=value, attr=name):
                if new := OPPOSITE.get(name) or OTHER_SIDE.get(name):
                    kind = "min for max" if name in OPPOSITE else "side swapped"
                    yield self.change(kind, node, f"{self.text(value)}.{new}")
            case ast.Name(id=name, ctx=ast.Load()):
                if name in OPPOSITE:
                    yield self.change("min for max", node, OPPOSITE[name])
                elif OTHER_SIDE.get(name) in names:
                    yield self.change("side swapped", node, OTHER_SIDE[name])
            case ast.Call():
                yield from self._call(node)
            case ast.Expr() | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Delete():
                yield self.change("statement dropped", node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self.change("statement dropped", node, "pass")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
                    yield self.change("statement dropped", node, "pass")

    def _index(self, index: ast.AST) -> Iterator[Change]:
        """Yield changes that move an index or an end of a slice by one."""
        for part in index.elts if isinstance(index, ast.Tuple) else [index]:
            ends = [part.lower, part.upper] if isinstance(part, ast.Slice) else [part]
            for end in filter(None, ends):
                if isinstance(part, ast.Slice) or isinstance(end, ast.BinOp):
                    yield self.change("index", end, f"{self.text(end)} + 1")
                    yield self.change("index", end, f"{self.text(end)} - 1")
            if isinstance(part, ast.Slice) and part.lower is not None and part.upper is None:
                yield self.change("index", part.lower, "")

    def _call(self, node: ast.Call) -> Iterator[Change]:
        """Yield changes that drop an argument with a default, or exchange adjacent arguments."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        root = self.text(node.func).split(".")[0]
        known = self.defaults.get(name)
        arguments = [*node.args, *node.keywords]
        for keyword in node.keywords:
            optional = all(keyword.arg in d for d in known) if known else root in LIBRARIES
            if keyword.arg in (None, *GUARDS) or not optional:
                continue
            at, (start, end) = arguments.index(keyword), self.at(keyword)
            if at:
                start = self.at(arguments[at - 1])[1]
            elif len(arguments) > 1:
                end = self.at(arguments[1])[0]
            yield Change(self.file, "argument dropped", keyword.lineno, start, end, "")
        if name in SYMMETRIC:
            return
        for one, two in zip(node.args, node.args[1:], strict=False):
            if type(one) is type(two) and isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
                start, end = self.at(one)[0], self.at(two)[1]
                middle = self.content[self.at(one)[1] : self.at(two)[0]].decode()
                new = f"{self.text(two)}{middle}{self.text(one)}"
                yield Change(self.file, "arguments exchanged", one.lineno, start, end, new)


_SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.Add: "+",
    ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
}  # fmt: skip


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_stub(node: ast.FunctionDef) -> bool:
    """Return whether a function is an overload, or has no body except NotImplementedError."""
    body = [part for part in node.body if not _is_docstring(part)]
    missing = [isinstance(p, ast.Raise) and "NotImplemented" in ast.dump(p) for p in body]
    return all(missing) or any("overload" in ast.dump(d) for d in node.decorator_list)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names of a function's arguments and variables."""
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _defaults(trees: list[ast.Module]) -> dict[str, list[set[str]]]:
    """Return the names of arguments with defaults, for all functions and classes of each name."""
    found: dict[str, list[set[str]]] = {}
    for node in (part for tree in trees for part in ast.walk(tree)):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            last = given.args[len(given.args) - len(given.defaults) :]
            pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
            names = {a.arg for a in last} | {a.arg for a, default in pairs if default}
        elif isinstance(node, ast.ClassDef):
            fields = (part for part in node.body if isinstance(part, ast.AnnAssign) and part.value)
            names = {field.target.id for field in fields if isinstance(field.target, ast.Name)}
        else:
            continue
        found.setdefault(node.name, []).append(names)
    return found


@cache
def _of_package() -> dict[str, list[set[str]]]:
    """Return the names of arguments with defaults of the whole package."""
    return _defaults([ast.parse(text) for text in sources([]).values()])


def _shape(code: object) -> object:
    """Return the parts of a code object that determine what it does, without line numbers."""
    if not hasattr(code, "co_code"):
        return repr(code)
    constants = tuple(_shape(constant) for constant in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable


def does_nothing(change: Change, text: str) -> bool:
    """Return whether a change leads to the same bytecode or to invalid code."""
    try:
        made = _compiled(change.made(text), change.file)
    except (SyntaxError, ValueError):
        return True
    return made == _unchanged(text, change.file)


def _compiled(text: str, file: str) -> object:
    return _shape(compile(text, file, "exec", dont_inherit=True, optimize=2))


_unchanged = cache(_compiled)
"""The bytecode of a module without a change, which is compared with many changes."""


def sources(rooms: list[str]) -> dict[str, str]:
    """Return the text of each module of the given subpackages (rooms); all if empty."""
    paths = sorted((ROOT / "dpjax").rglob("*.py"))
    names = [
        (path, path.relative_to(ROOT / "dpjax").parts[0].removesuffix(".py")) for path in paths
    ]
    if unknown := set(rooms) - {room for _, room in names}:
        raise ValueError(f"no such room: {', '.join(sorted(unknown))}")
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path, room in names
        if not rooms or room in rooms
    }


def possible(rooms: list[str]) -> list[Change]:
    """Return all possible changes of subpackages, ordered by file and position."""
    texts, defaults = sources(rooms), _of_package()
    return [c for file in texts for c in _File(file, texts[file], defaults).changes()]


def draw(count: int, seed: int, rooms: list[str]) -> list[Change]:
    """Draw changes of different lines.

    For each change, a line is drawn, then a kind of change, then a change of this kind.
    """
    texts, lines = sources(rooms), {}
    for change in possible(rooms):
        lines.setdefault((change.file, change.line), []).append(change)
    generator, drawn = random.Random(seed), []
    places = sorted(lines)
    while places and len(drawn) < count:
        here = lines[places.pop(generator.randrange(len(places)))]
        while here:
            kind = generator.choice(sorted({change.kind for change in here}))
            change = generator.choice([change for change in here if change.kind == kind])
            if not does_nothing(change, texts[change.file]):
                drawn.append(change)
                break
            here = [other for other in here if other is not change]
    return drawn


def stripped(text: str) -> str:
    """Strip every line of a text."""
    return "\n".join(line.strip() for line in text.split("\n"))


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return the reasons why changes are equivalent; the keys are those of `Change.forms`."""
    entries = tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8"))["equivalent"]
    return {(file, stripped(old), stripped(new)): reason for file, old, new, reason in entries}


def tests_of(file: str) -> list[list[str]]:
    """Return tests of a module, tests of its subpackage, and tests of the layers above."""
    tests = ROOT / "tests"
    *_, room, name = Path(file).with_suffix("").parts
    parts = Path(file).parts
    room = parts[1].removesuffix(".py")
    folder = tests / room
    near = sorted(folder.rglob(f"test_{name.strip('_')}*.py"))
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    defined = [n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, defined))})\b") if defined else None
    if pattern and not near:
        times = {p: len(pattern.findall(p.read_text())) for p in sorted(tests.rglob("test_*.py"))}
        # Prefer tests of the same subpackage, because common names such as `run` also occur in
        # tests of other subpackages.
        nearest = sorted(times, key=lambda path: (folder not in path.parents, -times[path], path))
        near = [path for path in nearest if times[path]][:4]
    source = (tests / "test_layers.py").read_text(encoding="utf-8")
    layers = ast.literal_eval(re.search(r"^LAYERS = (\{.*?\})", source, re.M | re.S)[1])
    above = sorted((p for p in layers if layers[p] > layers[room]), key=layers.get)
    folders = [tests / part for part in above if (tests / part).is_dir()]
    whole = [tests / "test_contract.py", tests / "test_audit.py", *folders]
    mine = [folder] if folder.is_dir() else sorted(tests.glob(f"test_{room}*.py"))
    named = [near, mine, whole]
    return [[path.relative_to(ROOT).as_posix() for path in group] for group in named]
