# Completion of esgsim for fish. Commands, options and their values are asked of the program itself, so
# that they are those of the version installed.

function __esgsim_names # __esgsim_names PROGRAM KIND: first words of the lines of a list
    $argv[1] list $argv[2] 2>/dev/null | string match -rg '^(\S+) '
end

# What a placeholder such as NAME|FILE.c|FILE.so, F.h5, text|csv|json stands for.
function __esgsim_offer # __esgsim_offer PROGRAM PLACEHOLDER OPTION
    switch $argv[3]
        case --policies --reference
            __esgsim_names $argv[1] policies
            return
        case --policy
            __esgsim_names $argv[1] policies
            __fish_complete_suffix .c
            __fish_complete_suffix .so
            return
        case --application
            __esgsim_names $argv[1] applications
            return
        case --over
            printf '%s\n' arrivals.load arrivals.rate_per_s arrivals.scale_rate cluster.invokers.0.count \
                slo.factor policy.params.
            return
        case --set
            printf '%s\n' policy.name= policy.params. slo.factor= requests= warmup_requests= seed= record= \
                cluster= arrivals. platform.
            return
    end
    switch $argv[2]
        case '*.h5*'
            __fish_complete_suffix .h5
        case '*.json*'
            __fish_complete_suffix .json
        case '*.csv*'
            __fish_complete_suffix .csv
        case 'FILE*' 'DIR*'
            __fish_complete_path (commandline -ct)
        case 'SECTION*'
            string match -rg '^([a-z0-9-]+)  +[0-9.]' -- ($argv[1] verify 2>/dev/null)
        case '*|*'
            string match -r '.*[a-z].*' -- $argv[2] | string split '|'
    end
end

function __esgsim_complete # __esgsim_complete WORD... before the one that is completed, which is the last
    set -l current $argv[-1]
    set -l words $argv[1..-2]
    if test (count $words) -eq 1
        printf '%s\n' --help --version
        $words[1] --help 2>/dev/null | string match -rg '^  ([a-z][a-z-]*)  +.*'
        return
    end
    set -l usage (env ESGSIM_WIDTH=10000 $words[1] $words[2] --help 2>/dev/null)[1]
    test -n "$usage"; or return
    set usage (string replace "usage: esgsim $words[2] " '' -- $usage)
    set -l escaped (string escape --style=regex -- $words[-1])
    if string match -q -- '-*' $current
        printf '%s\n' --help --quiet (string match -ra -- '--[a-z][a-z-]*' $usage | sort -u)
    else if string match -q -- '--*' $words[-1]; and string match -qr -- "$escaped [^-\]]" $usage
        set -l placeholder (string match -rg -- "$escaped ([^\] ]*)" $usage)[1]
        __esgsim_offer $words[1] (string replace '…' '' -- $placeholder) $words[-1]
    else if test $words[2] = list -a (count $words) -eq 3
        __esgsim_names $words[1] $words[3]
    else if test $words[2] = trace -a (count $words) -gt 2
        __fish_complete_suffix .csv
        __fish_complete_suffix .gz
    else
        __esgsim_offer $words[1] (string trim -c '[]…' -- (string split ' ' -- $usage)[1]) ''
    end
end

complete -c esgsim -f -a '(__esgsim_complete (commandline -opc) (commandline -ct))'
