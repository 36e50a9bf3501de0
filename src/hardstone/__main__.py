"""`python -m hardstone` is `hardstone`."""

from hardstone.cli.main import main

if __name__ == "__main__":
    main()
