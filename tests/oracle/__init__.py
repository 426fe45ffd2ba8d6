"""Slow, obvious versions of what the library does fast, and random small worlds to try them on.

One file per room or model; tests take all of it from here.
"""

# ruff: noqa: F403
from oracle.evaluation import *
from oracle.evidence import *
from oracle.factorization import *
from oracle.floors import *
from oracle.graph import *
from oracle.negative_sampling import *
from oracle.suggestions import *
from oracle.t_gap import *
from oracle.targcn import *
from oracle.temp import *
from oracle.traces import *
from oracle.worlds import *
