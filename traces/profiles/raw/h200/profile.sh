#!/bin/sh
# Calibrates the shipped profile: profile.sh ESGSIM PROFILE.json, in the root of the tree.
exec "$1" calibrate traces/profiles/raw/h200 --grid --quiet --base traces/profiles/a100-mig-parvagpu.json \
    --licence GPL-3.0-or-later --out "$2"
