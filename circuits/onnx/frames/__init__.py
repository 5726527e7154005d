"""Models of tables with names, words, categories and missing values, as networks of numbers.

``template.py`` makes rows as a fitted model takes them, ``asking.py`` asks its preparation what it makes of
each column, ``folded.py`` and ``added.py`` write that into the network, and ``exported.py`` chooses between
them.
"""
