"""Several rounds over the same users: the accountant, its ledger, and the bridge to dp-accounting."""
