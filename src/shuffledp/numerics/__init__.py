"""The one formula of the library and its evaluators; nothing here knows a mechanism.  Start reading at pair.py."""
