"""Spark's daemon of an executor, by Spark's own Python: imports once what every worker that it forks would."""

import pandas as pd  # noqa: F401 -- for its workers
import pyarrow as pa  # noqa: F401 -- as above
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
