"""Black-box audits of running randomizers: draw reports, find an event that distinguishes the
inputs, prove it on fresh reports.

``run`` draws and decides, ``reading`` makes arrays of whatever a randomizer returns, ``events`` looks for a telling
event, ``confidence`` bounds its probabilities, ``law`` compares with a claimed law (``layout`` finds the column of a
report in it), ``result`` says it in words.  ``foreign`` shows values and errors of code that may do anything when it is
looked at; ``apart`` runs such code in a process of its own, where ``child`` is what runs.
"""
