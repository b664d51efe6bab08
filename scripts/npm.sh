# shellcheck shell=bash
# What the full lane of the tests needs from outside Python. Sourced by scripts/test, after venv.sh:
#
#   ensure_npm ROOT     leaves ROOT/.node/node_modules with the packages of ROOT/tests/npm/package.json
#   ensure_browser      leaves a Chromium on the search path
#
# Neither stops anything: where something is missing that only the machine's owner can install, it says what to do, and the
# tests that need it are skipped by name. With CI set they fail, so that nothing is left out unnoticed.

ensure_npm() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  if cmp -s tests/npm/package.json .node/setup-finished; then
    say ".node is up to date."
    exit
  fi
  if ! command -v npm >/dev/null; then
    install_with_apt "Node.js with npm" nodejs npm || exit 0
  fi
  say "Installing the tests' npm packages into .node."
  mkdir -p .node
  cp tests/npm/package.json .node/package.json
  if (cd .node && npm install --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
    cp tests/npm/package.json .node/setup-finished # the last step: an interrupted setup starts over
  else
    say "That failed; npm says why above."
  fi
)

ensure_browser() {
  local name
  for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    ! command -v "$name" >/dev/null || return 0
  done
  # The same engine without the window of a browser: a page takes it a quarter of the time. Not every apt has it.
  install_with_apt Chromium chromium-headless-shell || install_with_apt Chromium chromium || true
}
