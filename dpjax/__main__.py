"""`python -m dpjax`: the command line, for when the script `dpjax` is not on the path."""

from dpjax.cli import main

if __name__ == "__main__":
    main()
