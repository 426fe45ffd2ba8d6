"""A new source is a file here with its SOURCES, and its name in MODULES of facts/open.py."""
