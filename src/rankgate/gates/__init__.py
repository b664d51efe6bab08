"""Criteria × scores → decisions: limits, the decision rule, segments, single queries, waivers, drift and power."""
