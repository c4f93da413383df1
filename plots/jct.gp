# Completion times of trainings, a figure a setting: mean, tail, wait, slowdown, use of the GPUs.
folder = ARG0[:strstrt(ARG0, "jct.gp") - 1]
heading = "Completion time of trainings"
load folder."dots.gp"
