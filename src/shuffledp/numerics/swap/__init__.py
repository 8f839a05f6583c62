"""The swap bound (docs/swap.md): the others hide the victim with their whole laws, not with their common part only."""
