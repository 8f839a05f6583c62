"""One family of mechanisms per file; the registry finds them by name, so that only what is asked for is loaded."""
