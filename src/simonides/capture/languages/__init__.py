"""Commands in nine languages other than English, read from one small data file per language.

The package reads what a user tells the assistant to do with memory and answers: remember, do not
remember, forget, "call me", always, never, "from now on", and how to answer. Facts in these
languages are not read. ``detect`` picks the languages to try for a sentence, ``load`` reads the
data files, ``commands`` reads a sentence. English has its own tables in ``capture``.
"""
