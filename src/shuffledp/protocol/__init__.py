"""The collection: a plan that everybody shares, the client, the shuffler and the collector."""
