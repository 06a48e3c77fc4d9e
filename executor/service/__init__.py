"""Planning as a service: `forethought serve` answers questions about planning tasks over HTTP.

A client sends texts and limits. Processes of a pool answer, which neither a bad task nor a crash takes down for others.
"""
