"""What moot is made of, for those who have to answer for it: the list of its parts, and what is known against
them. Knows the two lock files; refuses to know where packages come from."""
