"""Files to clean documents."""

import os

# Daft, unless told otherwise before it is imported, reports each import and each run to its makers over the
# network, and writes a name and a bar for each run between the lines of whoever uses it.
os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
os.environ.setdefault("DAFT_SHOW_QUERY_ID", "0")
os.environ.setdefault("DAFT_PROGRESS_BAR", "0")
