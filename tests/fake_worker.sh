#!/bin/sh
# A worker for `esgsim replay` that sleeps: what a real one has beyond this is the execution.
#
#   fake_worker.sh MS [FAULT AFTER]    a batch takes MS; the batch number AFTER + 1 meets FAULT
ms=$1
fault=${2:-none}
after=${3:-0}
seconds=$(awk "BEGIN { print $ms / 1000 }")
given=0
while read -r _ id function batch units; do
    given=$((given + 1))
    [ -z "${FAKE_LOG:-}" ] || echo "$id $function $batch $units" >>"$FAKE_LOG"
    if [ "$given" -gt "$after" ]; then
        case $fault in
        exits) exit 3 ;;
        dies) kill -KILL $$ ;;
        nonsense) echo "executed batch $id" ;;
        number) echo "done $id fast" ;;
        long) head -c 5000 /dev/zero | tr '\0' 'x' ;;
        unknown) echo "done 999999 1" ;;
        twice) echo "done $id 1" && echo "done $id 1" ;;
        silent) continue ;;
        closes) exec >&- ;;
        deaf) exec sleep 1000 ;;
        esac
    fi
    (sleep "$seconds" && echo "done $id $ms") &
done
wait
