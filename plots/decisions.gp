# What deciding costs, a figure a setting: time charged and work reported, logarithmic.
folder = ARG0[:strstrt(ARG0, "decisions.gp") - 1]
logarithmic = 1
heading = "Time and work of a decision"
load folder."dots.gp"
