"""The author's loop: start a domain, test it, compare its versions, generate instances, format its files.

Each command is a module with a Typer app `app`: `new`, `test`, `diff`, `generate`, `format`, `schema`.
"""
