"""``python -m turnbudget``: the command line."""

from turnbudget.cli import main

if __name__ == "__main__":
    main(prog_name="turnbudget")
