"""make_laplace_threshold reports too small a delta."""

package = "opendp"
claim, delta = 1.0, 0.004925833956035741
like = ["a", "b", "a"]
relation = "add-remove"
draws = 60_000
reported = "opendp/opendp issue 2922"

_made = []


def draw(records):
    import opendp.prelude as dp

    if not _made:
        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
        count = dp.t.make_count_by(*space, TV=int)
        _made.append(count >> dp.m.then_laplace_threshold(scale=1.0, threshold=5))
    return _made[0](records)
