"""The bounded, attributed block of memories that goes into a prompt (DI).

``compose`` chooses under budgets, ``text`` writes lines that cannot pose as anything else,
``citing`` finds what an answer refers to.
"""
