"""`python -m hackathon`: the command line without the console script."""

from hackathon.cli.main import main

if __name__ == "__main__":
    main()
