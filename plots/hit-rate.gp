# SLO hit rate by application, a figure a setting: dots with 95 % intervals; dashed: the bound.
folder = ARG0[:strstrt(ARG0, "hit-rate.gp") - 1]
use_bound = 1; least = -3; most = 103
heading = "SLO hit rate by application"
load folder."dots.gp"
