"""Editors: a language server for YAML, JSON, PDDL and HDDL.

    text ─▶ pddl_names | yaml_names ─▶ index (where names stand, outline) ─▶ workspace (files of one domain) ─▶ answers
                                                                                   server ◀─ diagnostics ◀─┘

The index of a text is made of tokens alone, so that it is there while a file is unfinished; diagnostics come from
`forethought check`.
"""
