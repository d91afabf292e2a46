"""Graphs of networkx and igraph, and numbers that summarize links, whatever their order."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from numbers import Integral
from typing import Any

_FEWEST = 8
"""Smallest number of pairs that may be the edges of a graph."""

_ATTRIBUTE = "attribute "
"""Word before the name of an attribute that is also the name of a column."""

Link = tuple[str, str]
"""The texts of the two members of a pair, or of the two nodes of an edge."""


@dataclass(frozen=True)
class Graph:
    """The nodes and the edges of a graph. Graphs with equal nodes and edges are equal.

    Attributes:
        nodes: Text of each node, sorted.
        edges: Texts of the nodes of each edge, sorted. Parallel edges are repeated.
        is_directed: Whether edges have a direction.
    """

    nodes: tuple[str, ...]
    edges: tuple[Link, ...]
    is_directed: bool

    def __repr__(self) -> str:
        """Return a text that lists the edges, for the name of a label."""
        edges = ", ".join(" - ".join(edge) for edge in self.edges)
        return f"graph of {len(self.nodes)} nodes and the edges {edges or '(none)'}"


@lru_cache
def is_graph(kind: type) -> bool:
    """Return whether a type is a graph of networkx or igraph."""
    of_networkx = hasattr(kind, "adjacency") and hasattr(kind, "is_multigraph")
    return hasattr(kind, "is_directed") and (of_networkx or hasattr(kind, "get_edgelist"))


def content_of_graph(graph: Any) -> Graph | dict[str, Any]:
    """Return the content of a graph: nodes and edges; and a dict if these have attributes."""
    if hasattr(graph, "get_edgelist"):
        nodes = [(vertex.index, vertex.attributes()) for vertex in graph.vs]
        edges = [(*edge.tuple, edge.attributes()) for edge in graph.es]
        # Vertices of igraph are numbered, and may have a name.
        names = {index: repr(at.pop("name", index)) for index, at in nodes}
    else:
        nodes, edges = [*graph.nodes(data=True)], [*graph.edges(data=True)]
        names = {node: repr(node) for node, _ in nodes}
    is_directed = bool(graph.is_directed())
    ends = [_link(names[one], names[other], is_directed) for one, other, _ in edges]
    found = Graph(tuple(sorted(names.values())), tuple(sorted(ends)), is_directed)
    of_nodes = [{"node": names[node]} | _beside({"node"}, at) for node, at in nodes if at]
    of_edges = [
        {"first": link[0], "second": link[1]} | _beside({"first", "second"}, at)
        for link, (_, _, at) in zip(ends, edges, strict=True)
        if at
    ]
    if not (of_nodes or of_edges):
        return found
    return {"graph": found, "nodes": _in_order(of_nodes), "edges": _in_order(of_edges)}


def _beside(taken: Collection[str], attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return attributes whose names differ from those of the columns that name the nodes.

    A further "attribute" before such a name keeps the names of all attributes different, too.
    """
    return {
        f"{_ATTRIBUTE}{name}"
        if isinstance(name, str) and name.replace(_ATTRIBUTE, "") in taken
        else name: value
        for name, value in attributes.items()
    }


def _link(one: str, other: str, is_directed: bool) -> Link:
    return (one, other) if is_directed or one <= other else (other, one)


def _in_order(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort records by their nodes, because a graph has no order.

    A graph object does keep the order in which its nodes and edges were added, but this order is
    lost or changed by most ways to publish a graph, and most programs add them in an arbitrary
    order, in which hardly any two graphs would be equal. A mechanism that publishes an order
    returns a list, whose entries are compared by place.
    """
    return sorted(records, key=lambda record: [*map(str, record.values())])


def of_graph(graph: Graph, where: str = "") -> dict[str, float]:
    """Return the numbers that summarize a graph.

    Args:
        graph: The graph.
        where: Words after each name, such as " in answer", if the graph is only a part.
    """
    found: dict[str, float] = {f"number of nodes{where}": len(graph.nodes)}
    found |= {f"contains node {node}{where}": 1 for node in graph.nodes}
    return found | of_links(graph.edges, "edge", where)


def of_links(links: Sequence[Link], noun: str, where: str = "") -> dict[str, float]:
    """Return how often links and their members occur, which does not depend on their order."""
    degrees, sizes = Counter(chain.from_iterable(links)), Counter(links)
    found: dict[str, float] = {
        f"number of {noun}s{where}": len(links),
        f"different {noun}s{where}": len(sizes),
        f"different members of {noun}s{where}": len(degrees),
        f"largest number of {noun}s with one member{where}": max(degrees.values(), default=0),
        f"members of a single {noun}{where}": sum(degree == 1 for degree in degrees.values()),
    }
    found |= {f"{noun}s with {member}{where}": degree for member, degree in degrees.items()}
    found |= {f"{noun}s of {u} and {v}{where}": number for (u, v), number in sizes.items()}
    return found


def are_pairs(entries: Collection[Any]) -> bool:
    """Return whether entries are pairs of integers or texts, such as (1, 2)."""
    if {*map(type, entries)} not in ({tuple}, {list}) or {*map(len, entries)} != {2}:
        return False
    kinds = {*map(type, chain.from_iterable(entries))}
    return all(issubclass(kind, str | Integral) and kind is not bool for kind in kinds)


def are_edges(entries: Sequence[Any]) -> bool:
    """Return whether a sequence probably consists of edges, whose order means little.

    In other lists of pairs, such as the noisy counts of some groups, the first members are the
    groups, which are all different. Lists of lists may also be tables of noisy counts, unless they
    have the form of the edges of a simple graph.
    """
    if len(entries) < _FEWEST or not are_pairs(entries):
        return False
    if len({*map(type, chain.from_iterable(entries))}) > 1:
        return False
    firsts: set[Hashable] = {pair[0] for pair in entries}
    if type(entries[0]) is tuple:
        return len(firsts) < len(entries)
    links = {(one, other) for one, other in entries if one != other}
    return len(firsts) < len(links) == len(entries)
