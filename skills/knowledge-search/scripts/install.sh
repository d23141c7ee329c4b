#!/usr/bin/env bash
# install.sh [--agent NAME]... [--project DIR] [--copy] [--uninstall] [--dry-run] [--help]
#
# Links this skill to ~/.ai-skills/knowledge-search, and records where its engine is.
#
#   --agent NAME   also where that agent looks: claude, codex, cursor, gemini, opencode or all
#   --project DIR  the agents' folders in that project instead of those in your home
#   --copy         copies instead of links (made anyway where no link can be made)
#   --uninstall    remove what was installed: all of it in your home, or that of --agent, --project
#   --dry-run      say what would be done, and change nothing
#
# What this script did not make is never overwritten or removed. Exit: 0 done, 1 something was left
# undone (said on stderr), 2 usage.

# Pure Bash, 3.2 and newer, with chmod, cp, ln, mkdir, mv, readlink, rm and rmdir.
# See knowledge-search.sh: functions and aliases of the caller must not stand in for commands.
POSIXLY_CORRECT=${POSIXLY_CORRECT-off}
\unset -f break cd chmod continue cp exit ln local mkdir mv printf read readlink readonly return rm \
    rmdir set shift true umask unalias unset
\unalias -a
if [[ $POSIXLY_CORRECT == off ]]; then unset POSIXLY_CORRECT; fi

set -euo pipefail +akfC
IFS=$' \t\n'

readonly NAME=knowledge-search
readonly MARKER=.installed-by-knowledge-search # in a copy: the names of the files that were copied
readonly ALL_FOLDERS='.claude/skills .agents/skills .cursor/skills'

# The text at the top of this file.
usage() {
    local line
    while IFS='' read -r line && [[ -n $line ]]; do
        case $line in '#!'*) ;; *) line=${line#'#'} && say "${line# }" ;; esac
    done <"${BASH_SOURCE[0]}"
}

usage_error() {
    printf 'install.sh: %s See install.sh --help.\n' "$1" >&2
    exit 2
}

say() { printf '%s\n' "$1"; }

problem() { printf '%s\n' "$1" >&2 && status=1; }

# step TEXT COMMAND...: do it and say so. With --dry-run it is only said.
step() {
    local text=$1
    shift
    if [[ $dry_run == yes ]]; then
        say "would $text"
    elif "$@"; then
        say "$text"
    else
        problem "could not $text"
        return 1
    fi
}

# Print the physical folder of the file that PATH leads to through any links, with a final slash.
real_folder() {
    local path=$1 target
    case $path in /*) ;; *) path=./$path ;; esac
    while [[ -L $path ]]; do
        target=$(readlink "$path") || break
        case $target in
            /*) path=$target ;;
            *) path=${path%/*}/$target ;;
        esac
    done
    CDPATH='' cd -P "${path%/*}/" >/dev/null && printf '%s/' "${PWD%/}"
}

# --- one place -----------------------------------------------------------------------------------

# Set `state` to what stands at PLACE: nothing, the skill itself, our link, a link of ours that leads
# nowhere since the repository was moved, our copy, or foreign.
look_at() {
    if [[ -L $1 ]]; then
        if [[ $1 -ef $skill ]]; then
            state='link'
        elif [[ ! -e $1 && $(readlink "$1") == */skills/knowledge-search ]]; then
            state=lost
        else
            state=foreign
        fi
    elif [[ ! -e $1 ]]; then
        state=nothing
    elif [[ $1 -ef $skill ]]; then
        state=skill
    elif [[ -d $1 && -f $1/$MARKER ]]; then
        state=copy
    else
        state=foreign
    fi
}

# The variable makes `ln` of Git Bash fail where it would silently copy.
make_link() { MSYS=winsymlinks:nativestrict ln -s "$skill" "$1" 2>/dev/null && [[ -L $1 ]]; }

# Remove the files of a copy that its marker names, and no others.
remove_files() {
    local file
    while IFS='' read -r file; do
        case $file in
            *..*) ;;
            SKILL.md | scripts/* | references/*) rm -f "$1/$file" || return 1 ;;
        esac
    done <"$1/$MARKER"
}

# Copy the skill to PLACE, over an earlier copy if there is one. Files of others in it stay.
make_copy() {
    local file
    if [[ -f $1/$MARKER ]]; then remove_files "$1" || return 1; fi
    mkdir -p "$1/scripts" "$1/references" && printf '' >"$1/$MARKER" || return 1
    for file in SKILL.md scripts/* references/*; do
        if [[ ! -f $skill/$file ]]; then continue; fi
        if [[ -e $1/$file || -L $1/$file ]]; then
            problem "left alone: $1/$file was not made by this script"
            continue
        fi
        printf '%s\n' "$file" >>"$1/$MARKER" && cp "$skill/$file" "$1/$file" || return 1
    done
}

remove_copy() {
    remove_files "$1" && rm -f "$1/$MARKER" || return 1
    rmdir "$1/scripts" "$1/references" "$1" 2>/dev/null || true
    if [[ -e $1 ]]; then problem "left alone: files in $1 that this script did not make"; fi
}

put_at() {
    look_at "$1"
    case $state in
        skill) say "already there: $1 is the skill itself" && return ;;
        copy) step "update the copy at $1" make_copy "$1" || true && return ;;
        link)
            if [[ $copy == no ]]; then say "already linked: $1" && return; fi
            step "remove the link $1" rm "$1" || return 0
            ;;
        lost) step "remove the link $1, which leads nowhere any more" rm "$1" || return 0 ;;
        foreign)
            problem "left alone: $1 was not made by this script. Move it away and run this again."
            return
            ;;
    esac
    if [[ $dry_run == no ]] && ! mkdir -p "${1%/*}"; then
        problem "could not make the folder ${1%/*}"
    elif [[ $copy == yes ]]; then
        step "copy $skill to $1" make_copy "$1" || true
    elif [[ $dry_run == yes ]] || make_link "$1"; then
        step "link $1 to $skill" true
    else
        step "copy $skill to $1 (no link can be made there)" make_copy "$1" || true
    fi
}

take_from() {
    look_at "$1"
    case $state in
        nothing) say "not there: $1" ;;
        skill) say "left: $1 is the skill itself" ;;
        link | lost) step "remove the link $1" rm "$1" || true ;;
        copy) step "remove the copy $1" remove_copy "$1" || true ;;
        foreign) problem "left alone: $1 was not made by this script" ;;
    esac
}

# --- the engine's record -------------------------------------------------------------------------

write_record() {
    umask 077
    mkdir -p "$config" && chmod 700 "$config" && printf '%s\n' "$engine" >"$config/engine.new" &&
        mv -f "$config/engine.new" "$config/engine"
}

# Copies find the engine by what is written here; for links it does no harm.
record_engine() {
    case $engine in *$'\n'*) problem "the folder of the engine has a line break in its name" && return ;; esac
    if [[ ! -f $engine/knowledge_search.py ]]; then
        if [[ -n $recorded ]]; then say "already recorded: the engine at $recorded" && return; fi
        problem "no engine beside this skill. Run install.sh in the repository, or set KNOWLEDGE_SEARCH_PY."
    elif [[ $recorded == "$engine" ]]; then
        say "already recorded: the engine at $engine"
    else # in a subshell: the umask is for this file only
        (step "record the engine at $engine${recorded:+ (was $recorded)}" write_record) || status=1
    fi
}

forget_engine() {
    if [[ -z $recorded ]]; then return; fi
    if [[ $recorded == "$engine" ]]; then
        step "remove the record $config/engine" rm "$config/engine" || true
    else
        say "left: $config/engine names another engine"
    fi
}

# --- the command ---------------------------------------------------------------------------------

# Add the folder, below a home or a project, in which an agent looks for skills. Codex, Gemini CLI and
# OpenCode share one: an agent that found the skill twice would list it twice.
add_agent() {
    local folder
    case $1 in
        claude) folder=.claude/skills ;;
        codex | gemini | opencode) folder=.agents/skills ;;
        cursor) folder=.cursor/skills ;;
        all) folders=$ALL_FOLDERS && return ;;
        *) usage_error 'The agents are claude, codex, cursor, gemini, opencode and all.' ;;
    esac
    case " $folders " in *" $folder "*) ;; *) folders="$folders $folder" ;; esac
}

parse() {
    while [[ $# -gt 0 ]]; do
        case $1 in
            --agent | --project)
                if [[ $# -lt 2 ]]; then usage_error "$1 needs a value."; fi
                if [[ $1 == --agent ]]; then add_agent "$2"; else project=$2; fi
                shift
                ;;
            --agent=*) add_agent "${1#--agent=}" ;;
            --project=*) project=${1#--project=} ;;
            --copy) copy=yes ;;
            --uninstall) uninstall=yes ;;
            --dry-run) dry_run=yes ;;
            --help) usage && exit 0 ;;
            *) usage_error "Unknown option or argument: $1." ;;
        esac
        shift
    done
}

main() {
    local folders='' project='' copy=no uninstall=no dry_run=no status=0
    local skill engine home root config recorded='' state folder act=put_at everything=no
    parse "$@"
    if [[ -z ${HOME:-} ]]; then unset HOME; fi
    home=~ # from the password file where HOME is not set
    root=$home
    if [[ -n $project ]]; then
        if [[ ! -d $project ]]; then usage_error "There is no folder $project."; fi
        root=$(real_folder "$project/.") && root=${root%/}
    elif [[ $uninstall$folders == yes ]]; then
        everything=yes
    fi
    skill=$(real_folder "${BASH_SOURCE[0]}") && skill=${skill%/scripts/}
    engine=${skill%/*/*}/rag-engine
    config=$home/.config/$NAME
    if [[ -f $config/engine ]]; then IFS='' read -r recorded <"$config/engine" || true; fi

    if [[ $uninstall == yes ]]; then
        act=take_from
        folders=${folders:-$ALL_FOLDERS}
    elif [[ -n $project && -z $folders ]]; then
        usage_error '--project needs --agent.'
    fi
    cd "$skill"
    if [[ $everything == yes ]]; then forget_engine; fi
    if [[ $uninstall == no ]]; then record_engine; fi
    if [[ $uninstall == no || $everything == yes ]]; then $act "$home/.ai-skills/$NAME"; fi
    for folder in $folders; do $act "$root/$folder/$NAME"; done
    return "$status"
}

main "$@"
