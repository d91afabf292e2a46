"""Beside a noisy location stands its distance to the true one."""

package, releases = "trasgodp", ["2.1.0"]
dependencies, requires = False, ["numpy<2.3", "pandas<3", "folium"]
claim = 1.0
# Epsilon is 0.01 per meter, and 0.0008 degrees of latitude are 89 meters.
pairs = [([40.0, 3.0], [40.0008, 3.0])]


def draw(place):
    import secrets

    import pandas as pd
    from trasgodp.geoindis import metric_privacy

    frame = pd.DataFrame([place], columns=["lat", "lon"])
    seed = secrets.randbelow(2**32)
    return metric_privacy(frame, "lat", "lon", 0.01, seed=seed).to_numpy()[0].tolist()
