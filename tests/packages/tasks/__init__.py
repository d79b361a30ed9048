"""A small real task for each package, by what it is for.

Every function stands alone: its text is a program for a cold run, and it is called as it is on a warm worker.
"""
