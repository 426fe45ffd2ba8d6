"""Dated facts: read from any source, given ids and ticks, kept as columns."""
