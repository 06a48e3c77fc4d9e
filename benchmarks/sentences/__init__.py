"""Sentences to the shipped domains, with what they mean and what models may say to them: recorded, and replayed."""
