# shellcheck shell=sh
# To be sourced. cuDNN opens its parts by name: where the loader does not know their folder, a
# toolkit or an installed PyTorch's packages have them.
for folder_of_libraries in "${CUDA:-/usr/local/cuda}"/lib64 \
    /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib \
    /usr/local/lib/python3*/*-packages/nvidia/*/lib; do
    if [ -d "$folder_of_libraries" ]; then
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder_of_libraries
    fi
done
export LD_LIBRARY_PATH
