"""Faults on purpose: kills, mutated folders, mangled tables, little memory, full disks."""
