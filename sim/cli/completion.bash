# Completion of esgsim for bash. Commands, options and their values are asked of the program itself,
# so that they are those of the version installed.

# The value that an option or the first operand takes, as the usage line writes it.
_esgsim_value() { # _esgsim_value USAGE OPTION
    local rest=${1#*"$2 "}
    [ "$rest" != "$1" ] || return 0
    rest=${rest%%[] ]*}
    printf '%s' "${rest%…}"
}

# Files that end so, and folders.
_esgsim_files() { # _esgsim_files CURRENT SUFFIX...
    local current=$1 suffix
    shift
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(
        compgen -d -- "$current"
        for suffix; do compgen -f -X "!*$suffix" -- "$current"; done
    )
}

_esgsim_words() { # _esgsim_words CURRENT WORDS
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# What a placeholder such as NAME|FILE.c|FILE.so, F.h5, text|csv|json stands for.
_esgsim_offer() { # _esgsim_offer CURRENT PLACEHOLDER OPTION
    local current=$1 kind=$2 option=$3 program=${COMP_WORDS[0]}
    case $option in
    --policies)
        _esgsim_words "$current" \
            "$("$program" list policies 2>/dev/null | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')"
        return ;;
    --over)
        _esgsim_words "$current" "arrivals.load arrivals.rate_per_s arrivals.scale_rate \
cluster.invokers.0.count slo.factor policy.params."
        return ;;
    --policy)
        _esgsim_files "$current" .c .so
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(
            compgen -W "$("$program" list policies 2>/dev/null | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')" \
                -- "$current")
        return ;;
    --application)
        _esgsim_words "$current" \
            "$("$program" list applications 2>/dev/null | sed -n 's/^\([^ ][^ ]*\) .*/\1/p')"
        return ;;
    --set)
        compopt -o nospace 2>/dev/null
        _esgsim_words "$current" "policy.name= policy.params. slo.factor= requests= warmup_requests= \
seed= record= cluster= arrivals. platform."
        return ;;
    esac
    case $kind in
    *.h5*.csv*) _esgsim_files "$current" .h5 .csv ;;
    *.h5*) _esgsim_files "$current" .h5 ;;
    *.json*) _esgsim_files "$current" .json ;;
    *.csv*) _esgsim_files "$current" .csv .csv.gz ;;
    FILE* | DIR*) _esgsim_files "$current" '' ;;
    SECTION*) _esgsim_words "$current" "$("$program" verify 2>/dev/null | sed -n 's/^\([a-z0-9-]*\)  *[0-9.].*/\1/p')" ;;
    *[a-z]*'|'*) _esgsim_words "$current" "${kind//|/ }" ;;
    esac
}

_esgsim() {
    local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} help usage option
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _esgsim_words "$current" "--help --version $("$program" --help 2>/dev/null |
            sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')"
        return
    fi
    help=$(ESGSIM_WIDTH=10000 "$program" "${COMP_WORDS[1]}" --help 2>/dev/null) || return
    usage=${help%%$'\n'*}
    usage=${usage#usage: esgsim "${COMP_WORDS[1]}" }
    option=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $current == -* ]]; then
        _esgsim_words "$current" "--help --quiet $(grep -oE -- '--[a-z][a-z-]*' <<<"$usage" | sort -u)"
    elif [[ $option == --* && $usage == *"$option "* ]]; then
        _esgsim_offer "$current" "$(_esgsim_value "$usage" "$option")" "$option"
    elif [ "${COMP_WORDS[1]}" = trace ] && [ "$COMP_CWORD" -eq 2 ]; then
        _esgsim_words "$current" "stats convert"
    elif [ "${COMP_WORDS[1]}" = trace ]; then
        _esgsim_files "$current" .csv .gz
    elif [ "${COMP_WORDS[1]}" = list ] && [ "$COMP_CWORD" -eq 3 ]; then
        _esgsim_words "$current" \
            "$("$program" list "${COMP_WORDS[2]}" 2>/dev/null | sed -n 's/^\([^ ][^ ]*\) .*/\1/p')"
    else
        usage=${usage%% *}
        usage=${usage#[}
        _esgsim_offer "$current" "${usage%]}" ""
    fi
}
complete -F _esgsim esgsim
