"""`python -m hackle`: the command line."""

from hackle.cli import main

main()
