"""Everything that only a small model needs: small questions, rules beside the model, its browser.

`agent.strategy` alone imports from this package.
"""
