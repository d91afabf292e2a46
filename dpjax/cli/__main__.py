"""`python -m dpjax.cli` runs the command line, even if the script `dpjax` is not on the path."""

from dpjax.cli import main

main()
