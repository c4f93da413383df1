# What a policy makes of the cluster, a figure a setting: held, fragmented, stranded, batched.
folder = ARG0[:strstrt(ARG0, "resources.gp") - 1]
heading = "Resources held"
load folder."dots.gp"
