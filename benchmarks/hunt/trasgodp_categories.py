"""Randomized response draws from the categories that occur in the data."""

package, releases = "trasgodp", ["2.1.0"]
dependencies, requires = False, ["numpy<2.3", "pandas<3", "folium"]
claim = 1.0
like = ["a", "b", "c", "a"]
relation, domain = "change-one", {"categories": ["a", "b", "c", "d"], "size": 4}


def draw(values):
    from trasgodp.categorical import dp_randomized_response_kary_array

    # The function requires three categories, so three records are the same in every database.
    return dp_randomized_response_kary_array([*values, "a", "b", "c"], 1.0).tolist()
