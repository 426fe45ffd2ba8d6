"""Faults on purpose: kills, mutated folders, mangled tables, full disks."""
