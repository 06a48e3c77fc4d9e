"""Load domains and problems from files, folders and shipped domains."""
