"""The noise of a count is never negative."""

package, releases = "diffpriv-pure", ["0.1.0"]
claim = 1.0
like = 5
relation, domain = ("within", 1.0), {"bounds": (0, 100)}


def draw(count):
    from diffpriv_pure import private_count

    return private_count(count, 1.0)
