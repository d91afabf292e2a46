"""Lists of edges and graphs: numbers that are counted by hand, and audits."""

from types import SimpleNamespace

import pytest

import dpjax
from dpjax.partitions._graphs import Graph, are_edges, content_of_graph, of_graph
from dpjax.partitions._nested import Label, Nested, form_of
from dpjax.partitions.summaries import summarize


class OfNetworkx:
    """An object with the attributes of a graph of networkx that dpjax reads."""

    def __init__(self, nodes=(), edges=(), *, is_directed=False):
        self._nodes = {node: {} for pair in edges for node in pair[:2]} | dict(nodes)
        self._edges = [(*edge, {})[:3] for edge in edges]
        self._is_directed = is_directed

    def nodes(self, data):
        return [*self._nodes.items()]

    def edges(self, data):
        return self._edges

    def is_directed(self):
        return self._is_directed

    def is_multigraph(self):
        return False

    def adjacency(self):
        raise NotImplementedError


class OfIgraph:
    """An object with the attributes of a graph of igraph that dpjax reads."""

    def __init__(self, names, edges):
        self.vs = [
            SimpleNamespace(index=index, attributes=lambda name=name: {"name": name})
            for index, name in enumerate(names)
        ]
        self.es = [SimpleNamespace(tuple=edge, attributes=dict) for edge in edges]

    def is_directed(self):
        return False

    def get_edgelist(self):
        return [edge.tuple for edge in self.es]


def test_pairs_are_summarized_whatever_their_order():
    found = summarize([(1, 2), (2, 5), (1, 2)])
    expected = {
        "number of pairs": 3, "different pairs": 2, "different members of pairs": 3,
        "largest number of pairs with one member": 3, "members of a single pair": 1,
        "pairs with 1": 2, "pairs with 2": 3, "pairs with 5": 1,
        "pairs of 1 and 2": 2, "pairs of 2 and 5": 1,
        "member 0 of pair 1": 2, "member 1 of pair 1": 5, "rows": 3,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    texts = summarize({"links": [("ann", "bob")] * 2})
    assert texts["pairs of 'ann' and 'bob' in links"] == 2
    assert texts["member 1 of pair 0 is 'bob' in links"] == 1


def test_pairs_with_other_members_have_no_links():
    for pairs in ([(1.5, 2), (1.5, 3)], [(1, 2, 3)] * 2, [(True, 1)] * 2, [[None, 1]] * 2):
        assert "number of pairs" not in summarize(pairs)


EDGES = [(1, n) for n in range(2, 9)] + [(2, 3)]


def test_lists_of_edges_are_told_from_vectors():
    assert are_edges(EDGES) and are_edges([*map(list, EDGES)])
    assert are_edges([(str(one), str(other)) for one, other in EDGES])
    assert not are_edges(EDGES[:7])
    assert not are_edges([(group, 5) for group in range(12)])  # Counts of groups.
    assert not are_edges([[5, 5], [5, 6]] * 6)  # A table of counts.
    assert not are_edges([("a", 5), ("a", 6)] * 6)
    assert form_of([*map(list, EDGES)]) == form_of(EDGES) == Label(tuple(EDGES))
    assert isinstance(form_of([(1, 2), (1, 3)]), Nested)


def test_numbers_of_a_graph():
    found = of_graph(content_of_graph(OfNetworkx({"d": {}}, [("b", "a"), ("b", "c")])))
    expected = {
        "number of nodes": 4, "number of edges": 2, "contains node 'd'": 1, "edges with 'b'": 2,
        "edges of 'a' and 'b'": 1, "edges of 'b' and 'c'": 1, "members of a single edge": 2,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_graphs_of_both_libraries_are_equal_if_nodes_and_edges_are():
    one = content_of_graph(OfNetworkx(edges=[("a", "b"), ("c", "b")]))
    other = content_of_graph(OfNetworkx(edges=[("b", "c"), ("a", "b")]))
    assert one == other == content_of_graph(OfIgraph("abc", [(1, 0), (1, 2)]))
    directed = [
        content_of_graph(OfNetworkx(edges=[edge], is_directed=True)) for edge in ("ab", "ba")
    ]
    assert directed[0] != directed[1]
    assert str(one) == "graph of 3 nodes and the edges 'a' - 'b', 'b' - 'c'"
    assert "(none)" in str(content_of_graph(OfNetworkx()))


def test_attributes_of_nodes_and_edges_are_part_of_a_graph():
    """If they were left out, a fixed graph with noisy weights would not look random."""
    graphs = [OfNetworkx({1: {"age": age}}, [(1, 2, {"weight": 0.5})]) for age in (30, 40)]
    forms = [form_of(graph) for graph in graphs]
    assert [one.numbers for one in forms] == [(0.5, 30), (0.5, 40)]
    assert forms[0].entries == ("['edges'][0]['weight']", "['nodes'][0]['age']")
    found = summarize(graphs[0])
    assert found["mean of weight in edges"] == 0.5 and found["edges of 1 and 2 in graph"] == 1


def test_attributes_with_the_names_of_columns_leave_the_names_of_nodes():
    of_edge = {"first": 5, "attribute first": 6, "second": 7, "kind": 8}
    graph = OfNetworkx({1: {"node": "x"}, 2: {3: "y"}}, [(1, 2, of_edge)])
    found = content_of_graph(graph)
    assert found["nodes"] == [{"node": "1", "attribute node": "x"}, {"node": "2", 3: "y"}]
    assert found["edges"] == [
        {"first": "1", "second": "2", "attribute first": 5, "attribute attribute first": 6,
         "attribute second": 7, "kind": 8},
    ]  # fmt: skip


@pytest.mark.parametrize("graph", [OfNetworkx(edges=[(1, 2)]), OfIgraph("ab", [(0, 1)])])
def test_a_graph_within_an_output(graph):
    one = form_of({"graph": graph, "count": 3})
    assert one.numbers == (3,) and "graph of 2 nodes" in one.structure
    assert isinstance(form_of(graph).value, Graph)
    assert summarize({"it": graph})["number of edges in it"] == 1


def drawn(share, rng):
    """Return 40 random edges of 60 nodes, and one of two edges, in a random order."""
    edges = rng.integers(0, 60, (40, 2)).tolist()
    edges.append([7, 9] if rng.random() < share else [8, 9])
    rng.shuffle(edges)
    return [tuple(edge) for edge in edges]


KINDS = {
    "pairs": drawn,
    "different numbers": lambda share, rng: drawn(share, rng)[: rng.integers(38, 42)],
    "nested": lambda share, rng: {"edges": drawn(share, rng), "mean": rng.normal()},
    "graph": lambda share, rng: OfNetworkx(edges=drawn(share, rng)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_one_edge_is_found_whatever_the_order(kind):
    """The edge (7, 9) has the probability 0.05 or 0.7: the level is ln(14) = 2.6.

    Entry by entry, nothing is found. The confidence is 1 - 1e-5.
    """
    few = dpjax.Events(200, 400)
    result = dpjax.audit(KINDS[kind], [(0.05, 0.7)], method=few, confidence=1 - 1e-5)
    assert 1 < result.lower_bound <= 2.7
    assert "Hardly any two outputs are equal" in result.notes[0]


def test_a_graph_that_every_call_modifies_and_returns():
    graph = OfNetworkx()

    def modified(share, rng):
        graph._edges = [(*edge, {}) for edge in drawn(share, rng)]
        graph._nodes = {node: {} for node in range(60)}
        return graph

    few = dpjax.Events(60, 100)
    result = dpjax.audit(modified, [(0.05, 0.7)], method=few, confidence=1 - 1e-5)
    assert result.verdict == "no claim" and result.lower_bound > 0


def test_equal_graphs_are_labels():
    """A small graph occurs with the probability 0.2 or 0.6, so the level is ln(3)."""

    def small(share, rng):
        return OfNetworkx(edges=[(1, 2)] if rng.random() < share else [(1, 3)])

    few = dpjax.Events(200, 1000)
    result = dpjax.audit(small, [(0.2, 0.6)], method=few, confidence=1 - 1e-5)
    assert 0.5 < result.lower_bound <= 1.1
    assert "graph of 2 nodes" in result.witness.event
