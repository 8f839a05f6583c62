"""More than 600 questions with the answers that were given before: nothing sound may become looser unnoticed.

``questions.py`` lists them, ``asking.py`` asks one through the public names alone, ``answers.json`` holds what came
back, ``judging.py`` compares, ``looser.json`` names the answers that a change made looser on purpose, with the reason.
``PYTHONPATH=tests python -m stored.make`` answers the questions that are new.
"""
