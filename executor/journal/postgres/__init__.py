"""Keep the events of runs in a PostgreSQL database, which processes on several hosts share.

`postgres_journal.py` has the interface of every journal. `schema.py` has the tables with their migrations,
`connection.py` a connection that is made anew when it is lost, `leases.py` the life signs of processes, and
`sharing.py` locks, rates and reservations.
"""
