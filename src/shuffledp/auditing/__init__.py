"""Black-box audits of running randomizers: draw reports, find an event that distinguishes inputs, prove it on new ones.

``run`` draws and decides, ``reading`` makes arrays of whatever a randomizer returns, ``events`` looks for an event
that distinguishes two inputs, ``confidence`` bounds its probabilities, ``law`` compares with a claimed law (``layout``
finds the column of a report in it), ``result`` says it in words.  ``foreign`` prints values and errors of code whose
``repr`` may do anything.
"""
