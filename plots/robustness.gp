# Changes by policy, a panel a world: results/robustness.py makes its CSV. Columns: those of dots.gp.
folder = ARG0[:strstrt(ARG0, "robustness.gp") - 1]
heading = "What errors of the planned times change"
use_bound = 1
load folder."dots.gp"
