"""The composition root: reads settings, opens a store and its providers, builds the runtime.

Only this package and the test kit name a store or a provider.
"""
