"""The service behind everything that speaks HTTP: one app, one port, closed to whoever has no business there.

Import its parts by their modules: the keys and the token are for the command line too, which needs no server for them.
"""
