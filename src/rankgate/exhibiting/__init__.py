"""From matched queries to what pages and `explain` show. Pure: nothing is read again."""
