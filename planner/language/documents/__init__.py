"""The same declarations without Python: YAML 1.2 and JSON, read and written, by one schema."""

from planner.language.documents.reader import Documents, read_documents
from planner.language.documents.schema import json_schema
from planner.language.documents.writer import write_json, write_yaml

__all__ = ["Documents", "json_schema", "read_documents", "write_json", "write_yaml"]
