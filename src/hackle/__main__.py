"""`python -m hackle`: the command line."""

from hackle.cli.main import main

main()
