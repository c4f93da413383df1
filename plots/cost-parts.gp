# What is paid per use and what is provisioned, a figure a setting: bars by what the money is for.
folder = ARG0[:strstrt(ARG0, "cost-parts.gp") - 1]
heading = "What the money is for"
load folder."bars.gp"
