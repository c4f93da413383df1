#!/bin/sh
# Writes the manual page esgsim(1) from the program's own --help texts, so that the two agree.
#
#   sim/cli/manual.sh PROGRAM >esgsim.1
set -eu
LC_ALL=C
export LC_ALL
program=$1

# Text as roff: no character that roff reads as its own, hyphens that can be copied, ASCII alone.
plain() {
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e 's/…/.../g' -e 's/–/\\-/g' -e 's/×/x/g' -e 's/→/\\->/g' \
        -e "s/^\([.']\)/\\\\\&\1/"
}
# Laid out as it is.
verbatim() {
    echo '.nf'
    plain
    echo '.fi'
}

overview=$("$program" --help)
title=$(printf '%s\n' "$overview" | sed -n '1s/^esgsim [^:]*: //p')
commands=$(printf '%s\n' "$overview" | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')
version=$("$program" --version | sed 's/^esgsim \([^ ]*\).*/\1/')
[ -n "$title" ] && [ -n "$commands" ] && [ -n "$version" ]

printf '.TH ESGSIM 1 "" "esgsim %s" "User Commands"\n' "$(printf '%s' "$version" | plain)"
printf '.SH NAME\nesgsim \\- %s\n' "$(printf '%s' "$title" | plain)"
printf '.SH SYNOPSIS\n'
printf '.B esgsim\n.I COMMAND\n[\\-\\-help] [\\-\\-quiet] ...\n.PP\n.B esgsim\n\\-\\-help | \\-\\-version\n'
printf '.SH DESCRIPTION\n'
printf '%s\n' 'Simulates requests to applications that are DAGs of DNN functions on a cluster of' \
    'shareable GPUs, event by event, under a scheduling policy, and compares policies on identical' \
    'arrivals and noise. Results go to standard output, progress and messages to standard error.' \
    'Every command takes --help and --quiet.' | plain
printf '.SH COMMANDS\n'
for command in $commands; do
    printf '.SS %s\n' "$(printf '%s' "$command" | plain)"
    ESGSIM_WIDTH=10000 "$program" "$command" --help | sed -n '1s/^usage: //p' | plain
    "$program" "$command" --help | sed '1,/^$/d' | verbatim
done
printf '.SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nThe run failed, or was interrupted.\n'
printf '.TP\n2\nBad usage or bad input; one line says which file, which place in it and what would be right.\n'
printf '.SH ENVIRONMENT\n.TP\n.B ESGSIM_DATA\n'
printf '%s\n' 'The folder with workloads/ and traces/, looked in after the working folder. By default the' \
    'one that lies beside the program (share/esgsim), or the one it was built for.' | plain
printf '.TP\n.B ESGSIM_WIDTH\n'
printf '%s\n' 'Columns of a line of text. By default those of the terminal (COLUMNS, if it is set there), and' \
    '80 where standard output is none.' | plain
printf '.TP\n.B NO_COLOR\n'
printf '%s\n' 'If it is set, text on a terminal has no colours.' | plain
printf '.SH FILES\n'
printf '%s\n' 'Experiments, sweeps, clusters, functions, applications and profiles are JSON, arrival' \
    'traces CSV (gzip-compressed or not), results HDF5. What ships, under workloads/ and traces/ of' \
    'the data folder, is the best template; workloads/README.md there explains each.' | plain
printf '.SH SEE ALSO\n'
printf '%s\n' 'README.md and sched/WRITING.md of the source tree; sched/policy.h, the contract of a' \
    'policy.' | plain
