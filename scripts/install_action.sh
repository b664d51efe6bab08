#!/usr/bin/env bash
# Installs this very checkout of the action into an environment of its own, so that a hash-pinned action is its own
# version and a Python that its system manages stays as it is. Called by action.yml; not for people.
set -euo pipefail

tell() { # the reason, as an error of the job
  printf '::error title=rankgate::%s\n' "$1"
  exit 2
}

home=${RUNNER_TEMP:?is set by the runner}/rankgate
environment=$home/venv
unset PYTHONHOME PYTHONPATH # and -I below, so that no module of the checkout is taken for one of Python's own

find_python() {
  local name
  for name in python3 python python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  return 1
}

inside() { # the environment's Python; Windows keeps it elsewhere
  if [[ -e $environment/Scripts/python.exe ]]; then
    echo "$environment/Scripts/python.exe"
  else
    echo "$environment/bin/python"
  fi
}

# A second gate in the same job finds the first one's.
if [[ ! -e $environment/installed ]] || [[ $(<"$environment/installed") != "$GITHUB_ACTION_PATH" ]]; then
  python=$(find_python) || tell "Python 3.11 or newer is needed; add actions/setup-python before this step"
  rm -rf "$environment"
  mkdir -p "$home"
  if ! log=$("$python" -I -m venv "$environment" 2>&1); then
    printf '%s\n' "$log" >&2
    tell "$python cannot make a virtual environment; on Debian: apt-get install python3-venv"
  fi
  if ! PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 "$(inside)" -I -m pip install --quiet "$GITHUB_ACTION_PATH"; then
    tell "rankgate could not be installed; pip says why above"
  fi
  printf '%s\n' "$GITHUB_ACTION_PATH" >"$environment/installed"
fi
printf 'python=%s\n' "$(inside)" >>"$GITHUB_OUTPUT"
