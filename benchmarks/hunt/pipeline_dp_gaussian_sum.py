"""A sum with Gaussian noise reveals its input in the lowest bits of its outputs."""

package, releases = "pipeline-dp", ["0.3.1"]
claim, delta = 1.0, 0.001
like = [1.0, 2.5, 3.0]
relation, domain = "add-remove", {"bounds": (0, 10)}
bits = "lowest"
draws = 100_000


def draw(values):
    import pipeline_dp as p

    budget = p.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=0.001)
    limits = {"max_partitions_contributed": 1, "max_contributions_per_partition": 1}
    noise = {"metrics": [p.Metrics.SUM], "noise_kind": p.NoiseKind.GAUSSIAN}
    asked = p.AggregateParams(**noise, **limits, min_value=0.0, max_value=10.0)
    parts = p.DataExtractors(lambda row: row[0], lambda row: "all", lambda row: row[1])
    engine = p.DPEngine(budget, p.LocalBackend())
    # Add the same record to every database, because the engine rejects an empty collection.
    rows = list(enumerate([1.0, *values]))
    found = engine.aggregate(rows, asked, parts, public_partitions=["all"])
    budget.compute_budgets()
    ((_, metrics),) = found
    return metrics.sum
