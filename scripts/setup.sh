#!/usr/bin/env bash
# Makes .venv with what the engine needs; with --dev also what tests and development need.
# Does nothing where that is there already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

requirements=rag-engine/requirements.txt
if [ "${1:-}" = --dev ]; then
  requirements=requirements.txt
fi

find_python() {
  local candidate
  for candidate in python3.13 python3.12 python3.11 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  {
    echo "Python 3.11 or newer is needed (3.10 has reached its end of life)."
    echo "Found: $(python3 --version 2>&1 || echo 'no python3')."
    echo "Install it, for example: apt install python3.11, brew install python@3.12, or uv python install 3.12"
  } >&2
  exit 1
}

if [ -x .venv/bin/python ] && ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "The environment .venv has no working Python 3.11 or newer; it is made anew." >&2
  rm -rf .venv
fi
if [ ! -x .venv/bin/python ]; then
  python=$(find_python)
  echo "Making .venv with $("$python" --version) ..." >&2
  "$python" -m venv .venv || {
    echo "Python's venv module does not work; on Debian and Ubuntu: apt install python3-venv" >&2
    rm -rf .venv
    exit 1
  }
fi

# The stamp holds the requirements that were installed; another content installs again.
stamp=.venv/installed-${requirements//\//-}
if ! cat rag-engine/requirements.txt "$requirements" | cmp -s - "$stamp"; then
  echo "Installing $requirements; this takes a minute or two ..." >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cat rag-engine/requirements.txt "$requirements" >"$stamp"
fi
