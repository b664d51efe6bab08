# shellcheck shell=bash
# What the full lane of the tests needs for a Spark cluster. Sourced by scripts/test, after venv.sh:
#
#   ensure_spark ROOT     leaves ROOT/.spark, a Python environment with Spark's programs, and a Java on the search path
#
# The cluster's Python has to be that of the driver, and its Spark the version of the client in .venv. As in npm.sh, where
# something cannot be installed it is said, and the tests that need it are skipped by name; with CI set they fail.

ensure_spark() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  if ! command -v java >/dev/null; then
    install_with_apt "Java" default-jre-headless || exit 0 # 17 or newer, as Debian has it
  fi
  version=$(.venv/bin/python -c 'import importlib.metadata as m; print(m.version("pyspark-client"))')
  wanted=$(printf '%s\n' "$PWD" "$version" "$(cksum <pyproject.toml)")
  if [[ $(cat .spark/setup-finished 2>/dev/null || true) == "$wanted" ]]; then
    say ".spark is up to date."
    exit
  fi
  say "Installing Spark $version, 450 MB, into .spark. This takes a minute."
  rm -rf .spark
  python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
  if make_venv "$python" .spark && # the first time all of it, later from a cache
    install_into .spark "pyspark[sql]==$version" -e .; then
    printf '%s\n' "$wanted" >.spark/setup-finished # the last step: an interrupted setup starts over
  else
    say "That failed; pip says why above."
  fi
)
