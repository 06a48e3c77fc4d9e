"""The matrix: every door through which runs begin, under every fault, judged by every promise.

`bank` is the world, outside all processes. `faults` says what goes wrong, `scenes` what there is to do and who is
asked. A door (`registry`) is what a host drives; `story` lets somebody ask, answer, restart and ask again, and
`promises` judges what the bank saw. `cells` puts them together.
"""
