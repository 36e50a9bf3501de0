"""A study again: what its paper printed and what runs of the same tests measured, in its order."""
