"""`python -m dpjax.cli`: the command line if the script `dpjax` is not on the path."""

from dpjax.cli import main

main()
