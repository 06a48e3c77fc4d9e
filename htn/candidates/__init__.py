"""The best plans of a hierarchical problem, one after the other.

space            what is reached, by number: a state and what is left to do
explore          all of it through which plans of up to some cost go
subsets          the same, by steps: what different decompositions of the same steps lead to is one
independent      which orders of independent steps need not be tried
decompositions   how the tasks come to the steps of a plan
iterate          plans for whoever asks for them, checked
"""
