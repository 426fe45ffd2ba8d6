"""The benchmarks behind every speed that this project claims: `python -m benchmarks --help`.

Each takes a Dataset, or the Shape of one to generate, and gives a Result. All run from a prepared
folder with torch and numpy alone, except predict and ingest, which measure what needs polars.
"""
