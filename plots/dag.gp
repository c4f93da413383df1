# An application's stages and how ESG divides its SLO.
folder = ARG0[:strstrt(ARG0, "dag.gp") - 1]
heading = "SLO by stage"
load folder."spans.gp"
