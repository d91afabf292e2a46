"""`python -m dpjax`: the command line, where its script is not on the path."""

from dpjax.cli import main

if __name__ == "__main__":
    main()
