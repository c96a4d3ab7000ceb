"""Everything that only small models need: short questions, additional rules, and a browser driver.

`agent.strategy` alone imports from this package.
"""
