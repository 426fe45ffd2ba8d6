"""`make torture`; see pool.py."""

from torture.pool import main

if __name__ == "__main__":
    main()
