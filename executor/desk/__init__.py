"""The desk of authors: pages that show plans and runs, checks while one types, and the loop of writing a domain.

One folder is one thing that an author does. The desk reads what the other packages say, and nothing imports it.
"""
