# shellcheck shell=bash
# What the tests need from outside Python. Sourced by scripts/test, after venv.sh:
#
#   ensure_npm ROOT     leaves ROOT/.node/node_modules with the packages of ROOT/tests/npm/package.json; up to date, it
#                       is left alone
#   ensure_browser      leaves a Chromium on the search path
#
# Neither stops anything: where this machine lacks something that only its owner can install, it says what to do, and the
# tests that need it are skipped by name. With CI set they fail, so that nothing is left out unnoticed.

NPM_STAMP=.node/setup-finished # the checksum of package.json

is_there() { # COMMAND...
  local name
  for name; do
    ! command -v "$name" >/dev/null || return 0
  done
  return 1
}

# The stamp is written last: an interrupted setup starts over.
ensure_npm() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  exec 9<.
  take_turns .node

  checksum=$(cksum <tests/npm/package.json)
  if [[ -d .node/node_modules && -f $NPM_STAMP && $(<"$NPM_STAMP") == "$checksum" ]]; then
    say ".node is up to date."
    exit
  fi
  without="Until then, the tests that need npm's packages are skipped."
  if ! is_there npm; then
    say "There is no npm, and some tests need packages of it."
    install_with_apt "Node.js with npm" nodejs npm || { say "$without" && exit; }
  fi

  say "Installing the tests' npm packages into .node."
  mkdir -p .node
  rm -f "$NPM_STAMP"
  cp tests/npm/package.json .node/package.json
  if ! (cd .node && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
    say "That failed; npm says why above. Started again, it tries anew." "$without"
    exit
  fi
  printf '%s\n' "$checksum" >"$NPM_STAMP"
)

ensure_browser() {
  is_there chromium chromium-browser google-chrome && return
  say "There is no Chromium, and some tests look at comments in one."
  install_with_apt Chromium chromium || say "Until then, the tests that need a browser are skipped."
}
