"""A programme: all rounds over the same users, written down in a file and checked against one budget."""
