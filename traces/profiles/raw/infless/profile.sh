#!/bin/sh
# Calibrates the shipped profile: profile.sh ESGSIM PROFILE.json, in the root of the tree.
exec "$1" calibrate traces/profiles/raw/infless/infless_profiles_clean.csv --unit 10 --quiet \
    --device "NVIDIA RTX 2080 Ti (as the paper says), MPS; TensorFlow Serving; vCPUs are threads" \
    --source "INFless (ASPLOS 2022), github.com/TankLabTJU/INFless, commit 8940934299a9eda2b72348c78245712be5eea587" \
    --licence GPL-3.0 --out "$2"
