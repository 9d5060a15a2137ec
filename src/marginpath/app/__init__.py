"""The command line: tables, model files, the report page, the demonstration."""
