"""Pages that open from disk with no network: the report of a check, and the dashboard of a history."""
