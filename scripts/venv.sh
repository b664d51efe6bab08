# shellcheck shell=bash
# The project's own Python environment, in .venv at the repository root. Sourced by the scripts beside it:
#
#   ensure_venv ROOT [EXTRA]
#
# leaves ROOT/.venv with the project installed as editable, with that extra. One that is in order is left alone; delete
# .venv to choose another Python. Exits 2 and names what to do where something is missing that only the machine's owner
# can install.

# To standard error, so that what was asked for stands alone on standard output.
say() {
  printf '%s\n' "$@" >&2
}

install_with_apt() ( # WHAT PACKAGE...
  what=$1
  shift
  exec 8<"${BASH_SOURCE[0]}"
  flock 8 2>/dev/null || true # apt-get refuses to run twice at once
  if ! command -v apt-get >/dev/null; then
    say "Install $what, then start again."
    return 2
  elif (($(id -u) != 0)); then
    say "Run this line, then start again:" "  sudo apt-get install -y $*"
    return 2
  fi
  say "Installing $* with apt-get."
  if ! log=$({ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y "$@"; } 2>&1); then
    say "$log" "That failed. Once this line works, start again:" "  apt-get install -y $*"
    return 2
  fi
)

# Prints the first that is new enough: the one behind an activated environment, which may be the one to be replaced.
find_python() {
  local name
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    "$name" -c 'import sys; sys.version_info < (3, 11) and sys.exit(1); print(sys._base_executable)' 2>/dev/null && return
  done
  say "rankgate needs Python 3.11 or newer, as python3, python3.14, python3.13, python3.12 or python3.11."
  return 2
}

# uv takes a tenth of the time of venv and pip, which do the work where it is not there, or does not reach what pip reaches.
find_uv() {
  command -v uv || { [[ -x .venv/bin/uv ]] && echo .venv/bin/uv; }
}

make_venv() { # PYTHON VENV
  local uv
  if ! uv=$(find_uv) || ! "$uv" venv --quiet --seed --python "$1" "$2" 2>/dev/null; then
    "$1" -m venv "$2"
  fi
}

install_into() { # VENV WORD...
  local venv=$1 uv
  shift
  if ! uv=$(find_uv) || ! "$uv" pip install --quiet --python "$venv" "$@" 2>/dev/null; then
    PIP_USER=0 "$venv/bin/python" -m pip install --disable-pip-version-check -q "$@" >&2
  fi
}

ensure_venv() ( # ROOT [EXTRA]
  set -euo pipefail
  unset PYTHONHOME PYTHONPATH # a package found there would not be installed
  cd -P "$1"
  extra=${2:-}
  exec 9<.
  flock 9 2>/dev/null || true # two setups at once take turns, where there are locks

  stamp=.venv/setup-finished # its lines: where .venv was made, the checksum of pyproject.toml, the extra
  wanted=$(printf '%s\n%s' "$PWD" "$(cksum <pyproject.toml)")
  found=$(cat "$stamp" 2>/dev/null || true)
  [[ -n $extra || $found != "$wanted"$'\n'* ]] || found=$wanted # more than what is asked for will do
  if [[ $found == "$wanted${extra:+$'\n'$extra}" ]] && .venv/bin/python -c 'import rankgate' 2>/dev/null; then
    say ".venv is up to date."
    exit
  fi

  if [[ $found != "$PWD"$'\n'* ]] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    say "Making .venv with $python."
    rm -rf .venv
    if ! "$python" -m venv .venv >/dev/null 2>&1; then # Debian packs the module's other half apart
      install_with_apt "the modules venv and ensurepip of $python" "$(basename "$python")-venv"
      "$python" -m venv .venv
    fi
  fi
  rm -f "$stamp" # an interrupted setup starts over
  say "Installing the project${extra:+ ($extra)} into .venv. This can take a minute."
  [[ -z $extra ]] || install_into .venv uv || true # an extra has a hundred packages; the project itself has a few
  if ! install_into .venv -e ".${extra:+[$extra]}"; then
    say "Setting up .venv failed; pip says why above. Started again, it begins anew."
    exit 2
  fi
  printf '%s\n' "$wanted" "$extra" >"$stamp"
)
