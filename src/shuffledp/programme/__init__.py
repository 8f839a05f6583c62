"""A programme: all rounds over the same users, written down in a file and held against one budget."""
