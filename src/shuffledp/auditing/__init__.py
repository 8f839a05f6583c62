"""Black-box audits of running randomizers: draw reports, find what gives inputs apart, prove it on fresh reports.

``run`` draws and decides, ``reading`` makes arrays of whatever a randomizer returns, ``events`` looks for a telling
event, ``confidence`` bounds its probabilities, ``law`` compares with a claimed law (``layout`` finds the column of a
report in it), ``result`` says it in words.
"""
