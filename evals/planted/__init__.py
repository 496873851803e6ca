"""Planted facts: is what was said or written at one place used later, where only that can answer?

In every format a fact that nobody can guess is put at one place (an answer, a remark, feedback, a
roundtable, a challenge, evidence, the README, a function's body), other things are talked about, and then
comes something that only the fact answers: a question, a brief, a design, a proposal. Scored by the exact
words.

Shows whether memory reaches its use: that the program carries the fact, or offers a tool behind which it is
found, and that the model takes it from there. Where a share is low, the requests say which of the two it was;
the program's own part has tests (`tests/*/test_planted.py`). Cannot show whether a fact is weighed well, nor
what happens beyond a model's window: these sessions are short.
"""
