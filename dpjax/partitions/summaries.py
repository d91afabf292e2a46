"""Summaries of outputs of any kind by numbers with names.

Two texts, sets or tables are hardly ever equal, so their probabilities cannot be counted. An audit
therefore compares numbers that are computed from each output: how often words occur, the entries
of a list, or the statistics of a table. The bounds of the audit are valid for the outputs because
a function of an output reveals no more than the output.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any

import numpy as np

from dpjax.core.wording import BadValue
from dpjax.partitions._fields import Fields, fields_of, has_fields
from dpjax.partitions._graphs import Graph, are_pairs, is_graph, of_graph, of_links
from dpjax.partitions._key_order import places_of
from dpjax.partitions._metadata import unused_categories
from dpjax.partitions._records import as_records, columns_of, number_of, unit_of
from dpjax.partitions._sequences import MOST_PLACES, of_entries, of_numbers, of_text, text_of
from dpjax.partitions._summary import Summary, Targets
from dpjax.partitions.missing import Raised, entries, has_entries, is_array, is_table
from dpjax.partitions.tables import summary_of_output, summary_of_table

_DEEPEST = 4
"""Number of levels of nested parts that are summarized. Deeper parts count as labels."""


def summarize(output: Any, targets: Sequence[Any] = ()) -> Summary:
    """Summarize an output by numbers with names, which audits compare name by name.

    dpjax summarizes the outputs of a function, a program or a file if hardly any two of them are
    equal, and data frames with at least ten rows, unless each row seems to stand for a group of
    records. It looks for the records in which the two databases differ. To summarize other
    outputs, or to look for other records, call `summarize` in the audited function, and return the
    result, to which you may add numbers.

    - Text: the number of characters, capitals and words, the numbers in the text, how often each
      word and each pair of adjacent words occurs, and the first 64 words. In a text without spaces,
      characters are compared instead of words. JSON is read, and summarized like its content.
    - Sequence (list, tuple, array): the number of entries; the first 64 entries; statistics of
      numbers; how often each label and each pair of adjacent labels occurs.
    - Set: the number of members, the members, and statistics of numbers.
    - Sequence of pairs of integers or texts, such as the edges of a graph, and graph of networkx or
      igraph: the number of pairs, how often each pair occurs, and how many contain each member.
    - Table of records: the number of rows, of different rows, and of rows in the largest group of
      equal rows. For each column of labels, the number of rows with each label. For each numeric
      column, the mean, the standard deviation, the extremes, five quantiles, the number of
      different values, the number of rows with the most frequent value, the number of rounded
      values, and the correlation with the row number. The first and the last entry of each column,
      and the number of rows that equal the row before. If labels name the rows, as in the answer to
      a query with GROUP BY, the numbers of each group by its name. For two columns, the number of
      rows with two labels, the mean square contingency of two labels, the fraction of the variance
      of numbers that the labels explain, or the correlation of two numbers. A column of texts is
      also summarized like a text. In a column of pandas categories, each category without rows.
    - Dict, dataclass, or sequence of other objects: the summary of each part. If the keys of a dict
      are not sorted, the place of each key.
    - Number or date: its value; a date is converted to days since 1970-01-01, and a duration to
      days.

    Args:
        output: A text, a sequence, a set, a dict, a graph, or a table: a table of pandas, Polars or
            Arrow, a dict of columns, a list of records (dicts or tuples of one length), a
            structured array, or an array of the shape [rows, columns]. A dict with a single list of
            texts counts as this list.
        targets: Records to look for, such as the record in which two databases differ. In a text, a
            target is a text, or a record that contains texts; the summary contains the number of
            its occurrences, the number of words that the text has in common with it, and the length
            of its longest run of words in the text. In a sequence or a set, a target is an entry,
            and its occurrences are counted. In a table, a target is a dict, a tuple with one entry
            per column, or a pandas Series. For each target, the summary contains the number of rows
            that are equal to the target, the largest number of entries that a row has in common
            with the target, the number of rows that have two entries in common with it, for each
            two of the first six columns, and the place and the distance of the nearest row. The
            distance is the sum of the absolute differences of numbers, each divided by the column's
            standard deviation, plus the number of labels that differ.

    Raises:
        TypeError: If `output` is a table, and a target is not a record.
        ValueError: If columns of a table have equal names, or if a target lacks a column.
    """
    named = {f"target {number}": target for number, target in enumerate(targets)}
    if _is_table(output):
        return summary_of_table(output, named) | _of_columns(output, named) | _of_pairs(output)
    return summarize_parts(output, named)


def summarize_parts(output: Any, targets: Targets) -> Summary:
    """Return the same as `summarize`, but ignore targets that tables cannot contain."""
    return Summary(_parts(output, targets))


def summary_of_frame(
    output: Any, targets: Callable[[], Targets], *, of_records: bool = False
) -> Summary | None:
    """Return the summary of a data frame if its rows have no meaning of their own, else None.

    If `of_records` is True, the rows of every frame are regarded as records.
    """
    found = summary_of_output(output, targets, of_records=of_records)
    return None if found is None else found | _of_columns(output, targets())


def _is_table(output: Any) -> bool:
    """Return whether an output consists of records: rows or columns of equal length."""
    if is_table(type(output)) or (isinstance(output, np.ndarray) and output.dtype.names):
        return True
    if is_array(type(output)):
        return output.ndim == 2
    if isinstance(output, Mapping):
        columns = [*output.values()]
        if len(columns) == 1 and _has_texts(columns[0]):
            return False  # A list of words has an order, which tables do not compare.
        return bool(columns) and _have_one_length(columns) and not any(map(are_pairs, columns))
    if not isinstance(output, Sequence) or isinstance(output, str | bytes) or not output:
        return False
    if all(isinstance(row, Mapping) for row in output):
        return True
    return len(output) > 1 and _have_one_length(output)


def _has_texts(column: Any) -> bool:
    if isinstance(column, np.ndarray) and column.dtype.kind in "UO":
        column = column.tolist()
    return isinstance(column, list | tuple) and any(isinstance(entry, str) for entry in column)


def _have_one_length(parts: Sequence[Any]) -> bool:
    are_rows = all(
        (isinstance(part, list | tuple) or is_array(type(part))) and getattr(part, "ndim", 1) == 1
        for part in parts
    )
    return are_rows and len({len(part) for part in parts}) == 1 and len(parts[0]) > 0


def _parts(part: Any, targets: Targets, name: str = "", depth: int = 0) -> dict[str, float]:
    """Return the numbers that summarize a part of an output.

    Args:
        part: The part.
        targets: Records to look for.
        name: Path of the part, such as "answer", or "" for the whole output.
        depth: Number of the parts that contain this part.
    """
    where, part = f" in {name}" if name else "", as_records(part)
    if isinstance(part, Raised):
        return {f"{name or 'value'} is {part}": 1}
    part = fields_of(part) or part
    if isinstance(part, Fields) and part.kind:
        own = {f"{name or 'value'} is a {part.kind}": 1.0}
        return _parts(dict(part), targets, name, depth) | own
    number = None if _is_collection(part) else number_of(part)
    if number is not None and np.isfinite(number):
        unit = unit_of(part)
        return {f"{name or 'value'} in {unit}" if unit else name or "value": number}
    if depth < _DEEPEST and not isinstance(part, str | bytes) and _is_table(part):
        try:
            found = summary_of_table(part, targets, strict=False) | _of_columns(part, targets)
            return {f"{key}{where}": value for key, value in found.items()} | _of_pairs(part, where)
        except BadValue:  # Some names of columns are equal as text.
            pass
    if has_entries(type(part)):
        part = entries(part)
    if isinstance(part, Graph):
        return of_graph(part, where)
    if isinstance(part, str):
        content = _content_of_json(part)
        return of_text(part, targets, where) if content is None else _parts(content, targets, name)
    if isinstance(part, bytes):
        return of_numbers([*part], "byte", where)
    if depth < _DEEPEST and isinstance(part, Mapping):
        inside = {f"{name}.{key}" if name else str(key): inner for key, inner in part.items()}
        found, places = _of_parts(inside, targets, depth), places_of([*inside])
        # A key may be named "place of b" itself.
        return found | {name: place for name, place in places.items() if name not in found}
    if isinstance(part, Sequence | Set):
        found = of_entries(part, targets, where)
        if depth < _DEEPEST and isinstance(part, Sequence) and any(map(is_nested, part)):
            parts = enumerate(part[:MOST_PLACES])
            found |= _of_parts({f"entry {n}{where}": inner for n, inner in parts}, targets, depth)
        return found
    return {f"{name or 'value'} is {text_of(part)}": 1}


def _of_columns(table: Any, targets: Targets) -> dict[str, float]:
    """Return numbers of the texts of several words and of the categories in a table's columns."""
    columns = columns_of(table)
    found = unused_categories(columns)
    for name, column in columns.items():
        if isinstance(column, np.ndarray) and column.dtype.kind not in "OU":
            continue
        texts = [text for text in column if isinstance(text, str)]
        if any(map(is_nested, texts)):
            found |= of_text("\n".join(texts), targets, f" in {name}")
    return found


def _of_pairs(table: Any, where: str = "") -> dict[str, float]:
    """Return numbers of the pairs in a list of pairs, both by place and whatever their order."""
    if not isinstance(table, Sequence) or not are_pairs(table):
        return {}
    links = [(text_of(one), text_of(other)) for one, other in table]
    found = of_links(links, "pair", where)
    for place, pair in enumerate(table[: MOST_PLACES // 2]):
        for side, member in enumerate(pair):
            if isinstance(member, str):
                found[f"member {side} of pair {place} is {links[place][side]}{where}"] = 1
            else:
                found[f"member {side} of pair {place}{where}"] = int(member)
    return found


def _of_parts(parts: Mapping[str, Any], targets: Targets, depth: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, inner in parts.items():
        found |= _parts(inner, targets, name, depth + 1)
    return found


def is_nested(part: Any) -> bool:
    """Return whether a part is a collection or a text of several words."""
    if isinstance(part, str):
        return len(part.split()) > 1
    if isinstance(part, Graph) or is_graph(type(part)) or has_fields(type(part)):
        return True
    return _is_collection(part) and not isinstance(part, bytes)


def _is_collection(part: Any) -> bool:
    return isinstance(part, Collection) and getattr(part, "ndim", 1) > 0


def _content_of_json(text: str) -> Any:
    """Return the dict, list or text that a text represents as JSON, or None."""
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(content, str) and content[:1] in ("{", "[", '"'):
        return None  # A text in a text may be nested too deeply.
    return content
