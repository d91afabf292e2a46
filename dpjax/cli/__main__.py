"""`python -m dpjax.cli`: the command line without the script `dpjax` on the path."""

from dpjax.cli import main

main()
