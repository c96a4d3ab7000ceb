"""Runs inside the sandbox, as modules beside a program: opens attached files and tells what they hold.

These modules import each other and libraries, nothing else of the project: the rest is not there.
"""
