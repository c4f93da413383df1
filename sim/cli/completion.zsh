#compdef esgsim
# Completion of esgsim for zsh. Commands, options and their values are asked of the program itself, so
# that they are those of the version installed.

# First words of the lines of a list.
_esgsim_names() { # _esgsim_names KIND
    $words[1] list $1 2>/dev/null | sed -n 's/^\([^ ][^ ]*\) .*/\1/p'
}

# What a placeholder such as NAME|FILE.c|FILE.so, F.h5, text|csv|json stands for.
_esgsim_offer() { # _esgsim_offer PLACEHOLDER OPTION
    case $2 in
    --policies | --reference) compadd -- ${(f)"$(_esgsim_names policies)"}; return ;;
    --policy) compadd -- ${(f)"$(_esgsim_names policies)"}; _files -g '*.(c|so)'; return ;;
    --application) compadd -- ${(f)"$(_esgsim_names applications)"}; return ;;
    --over) compadd -- arrivals.load arrivals.rate_per_s arrivals.scale_rate cluster.invokers.0.count \
        slo.factor policy.params.; return ;;
    --set) compadd -S '' -- policy.name= policy.params. slo.factor= requests= warmup_requests= seed= \
        record= cluster= arrivals. platform.; return ;;
    esac
    case $1 in
    *.h5*.csv*) _files -g '*.(h5|csv)' ;;
    *.h5*) _files -g '*.h5' ;;
    *.json*) _files -g '*.json' ;;
    *.csv*) _files -g '*.(csv|gz)' ;;
    FILE* | DIR*) _files ;;
    SECTION*) compadd -- ${(f)"$($words[1] verify 2>/dev/null | sed -n 's/^\([a-z0-9-]*\)  *[0-9.].*/\1/p')"} ;;
    *[a-z]*'|'*) compadd -- ${(s:|:)1} ;;
    esac
}

_esgsim() {
    local usage rest previous=$words[CURRENT-1] command=$words[2]
    local -a found
    if (( CURRENT == 2 )); then
        found=(--help --version ${(f)"$($words[1] --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')"})
        compadd -- $found
        return
    fi
    usage=${"$(ESGSIM_WIDTH=10000 $words[1] $command --help 2>/dev/null)"%%$'\n'*}
    [[ -n $usage ]] || return
    usage=${usage#usage: esgsim $command }
    if [[ $words[CURRENT] == -* ]]; then
        compadd -- --help --quiet ${(fu)"$(print -r -- $usage | grep -oE -- '--[a-z][a-z-]*')"}
    elif [[ $previous == --* && $usage == *"$previous "* ]]; then
        rest=${usage#*"$previous "}
        rest=${rest%%[] ]*}
        _esgsim_offer "${rest%…}" $previous
    elif [[ $command == list && $CURRENT -eq 4 ]]; then
        compadd -- ${(f)"$(_esgsim_names $words[3])"}
    elif [[ $command == trace && $CURRENT -gt 3 ]]; then
        _files -g '*.(csv|gz)'
    else
        rest=${usage%% *}
        rest=${rest#\[}
        _esgsim_offer "${rest%\]}" ''
    fi
}

# zsh calls the file itself when it completes; a test calls the function.
[[ $funcstack[1] != _esgsim ]] || _esgsim "$@"
