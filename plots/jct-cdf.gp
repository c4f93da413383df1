# Distribution of trainings' completion time, a figure a setting: in hours, and divided by the time
# that the training takes alone at the proportional share.
#
# Columns: row, contender, percent, jct_h, slowdown (quantiles at that per cent of the measured
# trainings; unfinished ones have none), colour, dash, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "jct-cdf.gp") - 1]
heading = "Distribution of completion time"; what = "trainings"
time = "jct_h"; time_label = "completion time (h, logarithmic)"
share = "slowdown"; share_label = "completion time / time alone (logarithmic)"; share_logarithmic = 1
load folder."latency-cdf.gp"
