# Cost of 1,000 requests by application, a figure a setting: dots with 95 % intervals; dashed: the bound.
folder = ARG0[:strstrt(ARG0, "cost.gp") - 1]
use_bound = 1
heading = "Cost by application"
load folder."dots.gp"
