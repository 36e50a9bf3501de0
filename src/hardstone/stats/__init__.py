"""What may be said about measured distributions. Pure: in goes the model, out come figures.

histogram: the bucket layout. quantiles: quantiles with conservative intervals.
exceedance: how often a value is exceeded, and the bound for what was never seen.
summary: one line for people. trust: how far a whole run may be believed. Import the module
that is needed: numpy and scipy are slow to load, and `trust` and `identity` do without them.
Functions import scipy.special themselves: it takes 0.2 s, and most commands never call one.
"""
