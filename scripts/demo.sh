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

ask "订单服务发布出问题了，怎么退回上一个版本" --preset coding
ask "why are amounts of money stored as integers" --preset audit
ask "缓存雪崩是怎么发生的，后来怎么防" --preset qa --top 3
ask "pg_drop_replication_slot" --preset fast --top 2

cat <<'END'

Index your own notes:   .venv/bin/python rag-engine/knowledge_index.py --full ~/notes
Ask from any shell:     skills/knowledge-search/scripts/knowledge-search.sh "your question"
Give it to your agent:  bash skills/knowledge-search/scripts/install.sh --agent claude
END
