"""The same declarations without Python: YAML 1.2 and JSON, read and written, by one schema."""

from planner.language.documents.document_reader import Documents, read_documents
from planner.language.documents.document_writer import write_json, write_yaml
from planner.language.documents.schema import json_schema

__all__ = ["Documents", "json_schema", "read_documents", "write_json", "write_yaml"]
