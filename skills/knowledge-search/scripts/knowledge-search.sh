#!/usr/bin/env bash
# Search the local knowledge base: find the engine and a Python, and hand the arguments over.
#
#   knowledge-search.sh "query" [--preset coding|audit|qa|fast] [--mode vector|fts|hybrid] [--top N]
#       [--scope S] [--tags A,B] [--author A] [--after YYYY-MM-DD] [--db-path PATH] [--kb NAME]
#       [--debug] [--version] [--help]
#
# stdout: one JSON object (references/json-contract.md). Errors: one JSON object on stderr, stdout empty.
# Exit: 0 done, 1 unexpected, 2 usage, 3 no index, 4 index not usable; 1 and 2 may be this script's own.
#
# Pure Bash, 3.2 and newer. The query is never escaped here: it goes to Python as it came.

# Functions and aliases of the caller (exported, or from BASH_ENV) must not stand in for what is
# called below. In POSIX mode, which the variable alone turns on, `unset` is found before a function.
POSIXLY_CORRECT=${POSIXLY_CORRECT-off}
\unset -f break cd continue exec exit local printf read readlink readonly return set shopt true type \
    unalias unset
\unalias -a
if [[ $POSIXLY_CORRECT == off ]]; then unset POSIXLY_CORRECT; fi

set -euo pipefail +ak
shopt -u nocasematch
shopt -s execfail

readonly QUERY_LIMIT=32768 # bytes
readonly ENGINE_FILE=knowledge_search.py
readonly RECORD_FILE=~/.config/knowledge-search/engine # written by install.sh

# fail CODE TEXT: one error object, then exit. TEXT is fixed text of this file, so it is valid JSON.
fail() {
    printf '{"schema_version": "1.0", "error": "%s"}\n' "$2" >&2 || true
    exit "$1"
}

# --- arguments -----------------------------------------------------------------------------------

# Whether TEXT is over the limit in bytes. Counting bytes takes a subshell (the caller's locale stays
# as it is), so it is done only where the number of characters leaves it open.
over_limit() {
    if [[ ${#1} -gt $QUERY_LIMIT ]]; then return 0; fi
    if [[ ${#1} -le $((QUERY_LIMIT / 6)) ]]; then return 1; fi # no character has more than 6 bytes
    (
        LC_ALL=C
        [[ ${#1} -gt $QUERY_LIMIT ]]
    )
}

# Find the query and refuse what no engine should be started for. Values, and options that are not
# known here, are judged by Python: `settled` says whether this script can tell that a query is missing.
check_arguments() {
    local argument options=yes value_follows=no found=no settled=yes
    for argument in "$@"; do
        if [[ $value_follows == yes ]]; then
            value_follows=no
            continue
        fi
        if [[ $options == yes ]]; then
            case $argument in
                --)
                    options=no
                    continue
                    ;;
                --preset | --mode | --top | --scope | --tags | --author | --after | --db-path | --kb)
                    value_follows=yes
                    continue
                    ;;
                --preset=* | --mode=* | --top=* | --scope=* | --tags=* | --author=* | --after=* | \
                    --db-path=* | --kb=* | --debug)
                    continue
                    ;;
                --help | --version | -?*)
                    settled=no
                    continue
                    ;;
            esac
        fi
        if over_limit "$argument"; then
            fail 2 "The query is over 32 KiB. Shorten it to what you want to know."
        fi
        if [[ -z $argument && $found == no && $settled == yes ]]; then
            fail 2 "The query is empty. Give it as the first argument, in quotes."
        fi
        found=yes
    done
    if [[ $found == no && $settled == yes && $value_follows == no ]]; then
        fail 2 "There is no query. Give one in quotes, or --help for the options."
    fi
}

# --- engine and Python ---------------------------------------------------------------------------

# Print the physical folder of the file that PATH leads to through any links, with a final slash
# (which keeps line breaks at the end of its name). Run it in $( ): it changes the folder.
real_folder() {
    local path=$1 target
    case $path in /*) ;; *) path=./$path ;; esac
    while [[ -L $path ]]; do
        target=$(readlink "$path" 2>/dev/null) || break
        case $target in
            /*) path=$target ;;
            *) path=${path%/*}/$target ;;
        esac
    done
    CDPATH='' cd -P "${path%/*}/" >/dev/null && printf '%s/' "${PWD%/}"
}

# Set `engine` to PATH, or to the engine's file in it if it is a folder; whether there is such a file.
engine_at() {
    if [[ -d $1 ]]; then
        engine=${1%/}/$ENGINE_FILE
    else
        engine=$1
    fi
    [[ -f $engine ]]
}

# Set `engine` to the engine's file: the one that was named, the repository's, or the recorded one.
find_engine() {
    local folder recorded=''
    if [[ -n ${KNOWLEDGE_SEARCH_PY:-} ]]; then
        if engine_at "$KNOWLEDGE_SEARCH_PY"; then return; fi
        fail 1 "KNOWLEDGE_SEARCH_PY names no file. Set it to the path of rag-engine/knowledge_search.py, or unset it."
    fi
    if folder=$(real_folder "${BASH_SOURCE[0]}" 2>/dev/null); then
        if engine_at "${folder%/*/*/*/}/rag-engine"; then return; fi
    fi
    if [[ -f $RECORD_FILE && -r $RECORD_FILE ]]; then
        IFS='' read -r recorded <"$RECORD_FILE" || true # no line break at the end is fine
    fi
    if [[ -z $recorded ]]; then
        fail 1 "The search engine was not found. Run scripts/install.sh of this skill in its repository, or set KNOWLEDGE_SEARCH_PY to the path of rag-engine/knowledge_search.py."
    fi
    if engine_at "$recorded"; then return; fi
    fail 1 "The search engine is no longer where ~/.config/knowledge-search/engine says. Run scripts/install.sh again in the repository, or set KNOWLEDGE_SEARCH_PY to the path of rag-engine/knowledge_search.py."
}

# Set `python`: the active virtual environment's, the repository's, or the one on PATH.
find_python() {
    local folder
    python=${VIRTUAL_ENV:-}/bin/python
    if [[ -n ${VIRTUAL_ENV:-} && -f $python && -x $python ]]; then return; fi
    if folder=$(real_folder "$engine" 2>/dev/null); then
        python=${folder%/*/}/.venv/bin/python
        if [[ -f $python && -x $python ]]; then return; fi
    fi
    python=python3
    if type -P python3 >/dev/null; then return; fi
    fail 1 "Python was not found. Install Python 3.11 or newer, or run scripts/setup.sh in the repository."
}

# --- the resident server -------------------------------------------------------------------------

readonly ENDPOINTS=~/.cache/knowledge-search/endpoint # the server's; further ones have a number behind
readonly FIRST_LINE_SECONDS=10                        # to connect and answer; a cold model takes 3

# Set `url` to the options as a query string and `query` to the query; whether a server can be asked.
# What is not plain (help, debug, odd arguments) is Python's business.
read_request() {
    local argument name='' options=yes found=no
    url='' query=''
    for argument in "$@"; do
        if [[ -n $name ]]; then
            add_option "$name" "$argument"
            name=''
        elif [[ $options == no ]]; then
            if [[ $found == yes ]]; then return 1; fi
            found=yes query=$argument
        else
            case $argument in
                --) options=no ;;
                --preset | --mode | --top | --scope | --tags | --author | --after | --db-path | --kb)
                    name=${argument#--}
                    ;;
                --preset=* | --mode=* | --top=* | --scope=* | --tags=* | --author=* | --after=* | \
                    --db-path=* | --kb=*)
                    argument=${argument#--}
                    add_option "${argument%%=*}" "${argument#*=}"
                    ;;
                -?*) return 1 ;;
                *)
                    if [[ $found == yes ]]; then return 1; fi
                    found=yes query=$argument
                    ;;
            esac
        fi
    done
    if [[ $found == no || -n $name ]]; then return 1; fi
    case $url in
        *'&db-path='* | *'&kb='*) ;;
        *) if [[ -n ${KNOWLEDGE_DB_PATH:-} ]]; then add_option db-path "$KNOWLEDGE_DB_PATH"; fi ;;
    esac
    if [[ ${AUDIT_LOG:-} == [Tt][Rr][Uu][Ee] ]]; then add_option audit "${AUDIT_AGENT:-}"; fi
}

# Append one option to `url`, percent-encoded; a relative folder is the caller's.
add_option() {
    local LC_ALL=C value=$2 encoded='' character number hex i
    if [[ $1 == db-path ]]; then
        case $value in '' | /* | [~]*) ;; *) value=$PWD/$value ;; esac
    fi
    for ((i = 0; i < ${#value}; i++)); do
        character=${value:i:1}
        case $character in
            [a-zA-Z0-9._~/-]) encoded+=$character ;;
            *)
                printf -v number %d "'$character"
                printf -v hex '%%%02X' $((number & 255)) # Bash 3.2 takes bytes as signed
                encoded+=$hex
                ;;
        esac
    done
    url+="&$1=$encoded"
}

# Set `port` and `token` to those of this engine's server; whether there is one.
find_server() {
    local file folder pid version served
    folder=$(real_folder "$engine" 2>/dev/null) || return 1
    for file in '' .2 .3 .4 .5 .6 .7 .8 .9; do
        file=$ENDPOINTS$file
        if [[ ! -r $file ]]; then continue; fi
        {
            read -r port && read -r token && read -r pid && read -r version && IFS='' read -r served
        } <"$file" || continue
        if [[ $served != "${folder%/}" || $port != [1-9]* || -z $version ]]; then continue; fi
        # the port of a server that died may be somebody else's by now
        if [[ $pid == [1-9]* ]] && kill -0 "$pid" 2>/dev/null; then return; fi
    done
    return 1
}

# Send the request to the server, and print all that it answers.
exchange() {
    local LC_ALL=C
    exec 4<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'POST /search?%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
        "${url#&}" "$token" "${#query}" "$query" >&4
    exec cat <&4
}

# Answer from the server and exit; return where it cannot be had or says nothing that can be used.
ask_server() {
    local url query port token status='' length='' code='' line body LC_ALL=C
    if [[ ${KNOWLEDGE_SERVER:-} == off || -o posix ]]; then return; fi
    if ! find_server || ! read_request "$@"; then return; fi
    # A child connects, since only reading from it can be given a time limit.
    exec 3< <(exchange 2>/dev/null)
    if ! read -r -t "$FIRST_LINE_SECONDS" _ status _ <&3; then return; fi
    while IFS='' read -r -t 5 line <&3; do
        line=${line%$'\r'}
        case $line in
            '') break ;;
            content-length:*) length=${line#*: } ;;
            x-exit-code:*) code=${line#*: } ;;
        esac
    done
    case $status:$code in 200:0 | 400:[1-9]) ;; *) return ;; esac
    body=$(cat <&3)
    # The line break at the end went with the substitution.
    if [[ $length != [1-9]* || $length == *[!0-9]* || ${#body} -ne $((length - 1)) ]]; then return; fi
    if [[ $status == 400 ]]; then
        printf '%s\n' "$body" >&2
        exit "$code"
    fi
    case $url in *'&audit='*)
        log_search "${body%%$'\n'*}"
        body=${body#*$'\n'}
        ;;
    esac
    printf '%s\n' "$body"
    exit 0
}

# Append one line to the audit log. That it cannot be written is told, and changes nothing else.
log_search() {
    local log=~/.ai-skills/.logs/search-audit.jsonl
    (
        umask 077
        if [[ ! -d ${log%/*} ]]; then mkdir -p "${log%/*}"; fi
        printf '%s\n' "$1" >>"$log"
    ) 2>/dev/null || printf 'The audit log cannot be written: %s\n' "$log" >&2
}

# --- the request ---------------------------------------------------------------------------------

# Answer the request. Python takes this process's place, so its output and exit code are the script's.
run_engine() {
    local engine python
    find_engine
    ask_server "$@"
    find_python
    case $engine in -*) engine=./$engine ;; esac
    exec "$python" "$engine" --json "$@" </dev/null ||
        fail 1 "Python was found but could not be started. Check VIRTUAL_ENV, or run scripts/setup.sh in the repository."
}

check_arguments "$@"
run_engine "$@"
