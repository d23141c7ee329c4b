#!/usr/bin/env bash
# Sets everything up, indexes examples/notes and asks a question with each preset. The index lies
# in .demo/ beside the scripts, your own one is not touched. A second run reuses everything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh

index=$PWD/.demo/index
wrapper=skills/knowledge-search/scripts/knowledge-search.sh
unset VIRTUAL_ENV

echo "== Index examples/notes"
.venv/bin/python rag-engine/knowledge_index.py --update examples/notes --db-path "$index"

ask() {
  echo
  printf '== %s' "$wrapper"
  printf ' %q' "$@"
  echo
  "$wrapper" "$@" --db-path "$index"
}

