"""Are the minutes of a roundtable true to it? Decisions that were made, and by whom; none that was not.

Thirty short discussions, written and labelled by hand line by line: decisions in plain words ("B it is,
then."), and what only sounds like one (reported, conditional, asked, postponed). The discussion is put into a
roundtable as if it had been held, and moot has it looked through and its minutes taken as always, so that
what is scored is what a person would read.

Shows whether decisions are found, invented, or put into the wrong mouth, and whether who contradicted whom is
kept. Cannot show whether the words of the minutes are well chosen: a decision counts as found where its
key words are in it. Discussions are short; minutes of an hour are harder.
"""
