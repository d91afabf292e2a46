"""Locations get the same noise in every call, since the seed is 42 by default."""

package, releases = "trasgodp", ["2.1.0"]
# The noise needs none of the packages for maps that the package requires.
dependencies, requires = False, ["numpy<2.3", "pandas<3", "folium"]
claim = 1.0
like = [40.0, 3.0]
# Epsilon is 0.01 per meter, and 0.0008 degrees of latitude are 89 meters.
relation, domain = ("within", 0.0008, "l2"), {"bounds": (0, 60)}


def draw(place):
    import pandas as pd
    from trasgodp.geoindis import metric_privacy

    frame = pd.DataFrame([place], columns=["lat", "lon"])
    return metric_privacy(frame, "lat", "lon", 0.01)[["lat", "lon"]].to_numpy()[0].tolist()
