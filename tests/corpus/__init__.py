"""Faulty mechanisms and correct counterparts, with the claims that audits must judge.

Both the fast test (test_corpus) and the full run (benchmarks/corpus.py) read the table of entries.
"""

from corpus.entries import CORPUS as CORPUS
from corpus.entries import Entry as Entry
from corpus.entries import most_false_refutations as most_false_refutations
