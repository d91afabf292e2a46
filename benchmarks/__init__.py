"""What is measured of dpjax, and the figures and tables of the papers (see README.md)."""
