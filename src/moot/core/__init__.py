"""What every format runs on: flows, the runner, sessions and their logs, limits and the meter.

Refuses to know any format.
"""
