#!/usr/bin/env bash
# Finds a Python for install_action.py beside it. Called by action.yml; not for people. Nothing that lies in the checkout is
# run: a Python there does not count, and neither does what another one would import from there at its start (-I, -S).
set -euo pipefail

unset CDPATH
shopt -s nocasematch # as the file systems of macOS and Windows
workspace=$(cd -P -- "${GITHUB_WORKSPACE:?is set by the runner}" && pwd)
cd -- "${RUNNER_TEMP:?is set by the runner}" # what the search path says relative to the checkout leads nowhere

for name in python3 python python3.14 python3.13 python3.12 python3.11; do
  while IFS= read -r found; do
    where=$(cd -P -- "${found%/*}/" && pwd)/
    if [[ $where != "$workspace"/* ]] &&
      "$found" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      exec "$found" -I -S "$GITHUB_ACTION_PATH/scripts/install_action.py"
    fi
  done < <(type -aP "$name")
done
echo "::error title=rankgate::Python 3.11 or newer is needed outside of the checkout; add actions/setup-python before this step"
exit 2
