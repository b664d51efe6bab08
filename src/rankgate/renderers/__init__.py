"""From a report to something that people or machines read: one module an output, one row each in `base`."""
