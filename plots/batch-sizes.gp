# Jobs by the size of the batch that they ran in, a figure a setting: bars that add up to all jobs.
folder = ARG0[:strstrt(ARG0, "batch-sizes.gp") - 1]
heading = "Jobs by the size of their batch"
load folder."bars.gp"
