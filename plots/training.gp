# A training's leases, from `esgsim explain --out`.
folder = ARG0[:strstrt(ARG0, "training.gp") - 1]
heading = "Training"
load folder."spans.gp"
