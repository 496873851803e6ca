"""How real models behave, measured outside the tests: each evaluation is a package that can be run."""
