"""Topk."""
