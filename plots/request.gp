# A request's stages, from `esgsim explain --out`.
folder = ARG0[:strstrt(ARG0, "request.gp") - 1]
heading = "Request"
load folder."spans.gp"
