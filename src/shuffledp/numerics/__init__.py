"""The one formula: shuffled pairs, the curves and families made of them, their solver and their composition."""
