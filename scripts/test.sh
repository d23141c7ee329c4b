#!/usr/bin/env bash
# Installs what tests need, then formats, lints, type-checks and tests. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/setup.sh --dev
export PATH="$PWD/.venv/bin:$PATH"

config=rag-engine/pyproject.toml
ruff format --check --config "$config" rag-engine tests scripts
ruff check --config "$config" rag-engine tests scripts
mypy --config-file "$config"
shellcheck scripts/*.sh .ci/run skills/knowledge-search/scripts/*.sh
pytest -c "$config" --rootdir rag-engine --dist loadgroup -n "${TEST_WORKERS:-2}" "$@" tests
