"""Wrong premises: is something false contradicted with what the evidence or the code says?

The person takes for granted what a lease, a README or a function's body says otherwise: a number, a date,
who pays, what a function does, where orders are kept. Scored: whether the reply names the right value, and
whether it says where that stands (a citation that holds, or the file). Two cases have a premise that is
true, and count as right where nothing contrary is said.

Shows whether models check what they are told against what they were given. Cannot show whether the
contradiction is put well, or comes first; and a model that recites the right value without noticing that it
contradicts the person counts as right.
"""
