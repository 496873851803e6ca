"""Reviews: does a reviewer find what is wrong with a plan, point by point against its design?

Seven plans with seventeen defects that were put in by hand: a requirement of the design, or of the person's
own words, that the plan has not, a sentence that contradicts the design or another file, a task that nobody
asked for, a requirement without a task, a THEN that nobody can observe. Two plans are sound. Scored: a defect
is found where one issue has its words; a High issue is true where it is one of the defects; a sound plan is
to be approved. Of each point of a design, which the program lists, what the review says became of it is
compared with what did.

Shows what gets past a reviewer, and what it makes up. Cannot show whether the advice is good, and counts a
true defect that nobody put in as made up: read those that are listed.
"""
