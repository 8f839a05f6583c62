"""Many questions at once: one row per question, each with its own law, n and delta."""
