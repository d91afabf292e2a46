"""`python -m dpjax.cli`: the command line, where the script `dpjax` is not on the path."""

from dpjax.cli import main

main()
