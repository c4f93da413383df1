# A cluster's invokers, a row a group of equal ones, and their GPUs.
folder = ARG0[:strstrt(ARG0, "cluster.gp") - 1]
heading = "Cluster"; whole = 1
load folder."spans.gp"
