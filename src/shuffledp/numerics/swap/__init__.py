"""The swap bound (docs/swap.md): the others hide the victim with their whole laws, not only with their common part."""
