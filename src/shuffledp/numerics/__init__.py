"""The one formula of the library and its evaluators; this package knows no mechanism.  Start reading at pair.py."""
