"""The same declarations without Python: YAML 1.2 and JSON, read and written, by one schema."""

from planner.documents.reader import Documents, read_documents
from planner.documents.schema import json_schema
from planner.documents.writer import write_json, write_yaml

__all__ = ["Documents", "json_schema", "read_documents", "write_json", "write_yaml"]
