"""The noise for users who may count several times at one place grows too slowly."""

package, releases = "inf-tda", ["0.1"]
requires = ["numpy<2.3", "pandas<3", "opendp==0.12.1"]
claim, delta = 1.0, 0.001
# One user moves 500 counts from one place to another.
pairs = [([1000, 1000, 1000, 1000], [1000, 500, 1000, 1500])]


def draw(counts):
    import pandas as pd
    from InfTDA import inf_tda

    places = pd.MultiIndex.from_product([["a", "b"], ["x", "y"]])
    table = pd.Series(counts, index=places)
    noisy = inf_tda(table, (1.0, 0.001), 500, distinct_tuples=False)
    return [float(noisy.get(place, 0)) for place in places]
