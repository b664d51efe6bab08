"""The values that flow from step to step, all frozen: gold, runs, scores, and the report with its parts."""
