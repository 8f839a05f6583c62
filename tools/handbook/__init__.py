"""The site of the documentation: pages that run, notebooks of the tutorials, and a reference from the code."""
