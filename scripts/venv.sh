# shellcheck shell=bash
# The project's own Python environment, in .venv at the repository root. Sourced by the scripts beside it:
#
#   ensure_venv ROOT [EXTRA...]
#
# leaves ROOT/.venv with the project installed as editable, with those extras. An environment in order is left alone,
# one that lacks an extra or saw another pyproject.toml is added to, and a broken one is made anew. An environment
# keeps the Python that it was made with; to choose another, delete .venv.
#
# Exits 2 and names what to do where this machine lacks something that only its owner can install.

MINIMUM_PYTHON=3.11 # requires-python in pyproject.toml
STAMP=.venv/setup-finished # its lines: ROOT, the Python's version, the checksum of pyproject.toml, the extras

# Answers with a version and the interpreter to use; runs under any Python, however old. In an activated environment
# the Python behind it is meant, for the active one may be the very .venv that is about to be replaced.
PYTHON_FACTS='
import sys
inside = getattr(sys, "base_prefix", sys.prefix) != sys.prefix
print("%d.%d.%d %s" % (sys.version_info[:3] + (inside and getattr(sys, "_base_executable", "") or sys.argv[1],)))
'

# Answers with the version, or fails with what is wrong: pip is gone, or an installed package has lost a file. The
# records are read as they are, for importlib.metadata leaves missing files out since Python 3.12.
VENV_FACTS='
import csv, os, sys
from importlib.metadata import distributions
import pip
for package in distributions():
    for file, *_ in csv.reader((package.read_text("RECORD") or "").splitlines()):
        if not file.endswith(".pyc") and not os.path.exists(package.locate_file(file)):
            sys.exit(f"{file} is missing")
print("%d.%d.%d" % sys.version_info[:3])
'

# To standard error, so that what was asked for stands alone on standard output.
say() {
  printf '%s\n' "$@" >&2
}

is_new_enough() { # VERSION
  [[ $(printf '%s\n' "$MINIMUM_PYTHON" "$1" | sort -V | head -n 1) == "$MINIMUM_PYTHON" ]]
}

# Debian's python3 can import ensurepip, or a part of it, and still fail to make an environment: only trying tells.
can_make_venv() ( # PYTHON
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  "$1" -m venv "$scratch/venv" && "$scratch/venv/bin/python" -c 'import pip'
) >/dev/null 2>&1

install_with_apt() { # WHAT PACKAGE...
  local what=$1 log
  shift
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
}

# Prints the Python to make an environment with.
find_python() {
  local name found facts version too_old="" incapable=""
  for name in python3 python3.13 python3.12 python3.11; do
    found=$(command -v "$name") || continue
    facts=$("$found" -c "$PYTHON_FACTS" "$found" 2>/dev/null) || continue # a pyenv name may have nothing behind it
    version=${facts%% *} found=${facts#* }
    if ! is_new_enough "$version"; then
      too_old+="${too_old:+, }$name is $version"
    elif can_make_venv "$found"; then
      echo "$found"
      return
    else
      incapable=${incapable:-$name $version $found}
    fi
  done

  if [[ -z $incapable ]]; then
    say "rankgate needs Python $MINIMUM_PYTHON or newer, as python3, python3.13, python3.12 or python3.11."
    say "Found: ${too_old:-none of them}."
    return 2
  fi
  read -r name version found <<<"$incapable"
  say "$name is $version, which is new enough, but it cannot make virtual environments."
  install_with_apt "what it lacks (the modules venv and ensurepip)" "$name-venv" || return
  if ! can_make_venv "$found"; then
    say "It still cannot. This shows why:" "  $found -m venv ${TMPDIR:-/tmp}/try"
    return 2
  fi
  echo "$found"
}

# Two setups at once take turns. Where there is no flock, or the file system has no locks, they do not.
take_turns() { # WHAT
  local status=0
  command -v flock >/dev/null || return 0
  flock --nonblock 9 2>/dev/null || status=$?
  if ((status == 1)); then
    say "Waiting for another setup of $1 to finish."
    flock 9
  fi
}

# Prints why the .venv of the current directory has to be made anew, or nothing.
venv_problem() { # ROOT and VERSION as the stamp has them
  local facts
  if [[ ! -e .venv ]]; then
    echo "there is none yet"
  elif [[ -z $2 ]]; then
    echo "its setup was not finished"
  elif [[ $1 != "$PWD" ]]; then
    echo "the one here was made in $1"
  elif [[ ! -x .venv/bin/python ]]; then
    echo "its Python is gone"
  elif ! facts=$(.venv/bin/python -I -c "$VENV_FACTS" 2>&1); then
    echo "it is broken (${facts##*$'\n'})"
  elif [[ $facts != "$2" ]]; then
    echo "its Python was $2 and is now $facts"
  fi
}

ensure_venv() ( # ROOT [EXTRA...]
  set -euo pipefail
  unset PYTHONHOME PYTHONPATH # a package found there would not be installed
  cd -P "$1"
  shift
  exec 9<.
  take_turns .venv

  made_in="" made_with="" checksum_then="" extras_then=""
  if [[ -f $STAMP ]]; then
    { IFS= read -r made_in && read -r made_with && read -r checksum_then && read -r extras_then; } <"$STAMP" || made_with=""
  fi
  problem=$(venv_problem "$made_in" "$made_with")
  if [[ -n $problem ]]; then
    python=$(find_python)
    say "Making .venv with $python, because $problem."
    rm -rf .venv
    "$python" -m venv .venv
    checksum_then="" extras_then=""
  fi

  checksum=$(cksum <pyproject.toml)
  extras=$(printf '%s\n' "$@" "$extras_then" | tr ',' '\n' | sed '/^$/d' | sort -u | paste -sd, -)
  if [[ $checksum_then == "$checksum" && $extras_then == "$extras" ]]; then
    say ".venv is up to date."
    exit
  fi

  rm -f "$STAMP" # from here on, an interrupted setup starts over
  say "Installing the project${extras:+ ($extras)} into .venv. This can take a minute."
  if ! PIP_USER=0 .venv/bin/python -m pip install --disable-pip-version-check -q -e ".${extras:+[$extras]}" >&2; then
    say "Setting up .venv failed; pip says why above. Started again, it begins anew."
    exit 2
  fi
  version=$(.venv/bin/python -I -c "$VENV_FACTS")
  printf '%s\n' "$PWD" "$version" "$checksum" "$extras" >"$STAMP.new"
  mv "$STAMP.new" "$STAMP"
)
