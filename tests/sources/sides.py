"""Outputs of one side, as sources remember them."""

from dpjax.sources._side_values import SideValues


def values(outputs, rows=2**18):
    """What is remembered of outputs that come in chunks of `rows`."""
    side = SideValues()
    for start in range(0, len(outputs), rows):
        side.add(outputs[start : start + rows])
    return side
