"""The service between clients and analyst: sealed reports in, anonymous batches out; the only network here."""
