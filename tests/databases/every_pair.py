"""The pairs of a space that an audit may search."""


def every_pair(space):
    """Return the proposed pairs, and variations of their variations."""
    found = space.proposed()
    for number, pair in enumerate(found[:40]):
        varied = space.varied(pair, (1, number))
        if varied is not None:
            found.append(varied)
            again = space.varied(varied, (2, number))
            found += [] if again is None else [again]
    return found
