#!/usr/bin/env python3
"""Writes sim/model.svg, the picture of sim/README.md: how requests flow through the model.

    python3 sim/model.py >sim/model.svg
"""

BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#767676", "#222222"
parts = []


def text(x, y, words, size=13, colour=INK, anchor="middle", weight="normal"):
    parts.append(
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" '
        f'text-anchor="{anchor}" font-weight="{weight}">{words}</text>'
    )


def box(x, y, width, height, colour=GREY, fill="none", dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    parts.append(
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" '
        f'stroke="{colour}" stroke-width="1.4"{dashed}/>'
    )


def arrow(*points, colour=INK):
    path = " ".join(f"{x},{y}" for x, y in points)
    parts.append(
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.4" '
        'marker-end="url(#tip)"/>'
    )


def queue(y, name, jobs, colour):
    text(164, y + 16, name, 12, anchor="start")
    box(230, y, 100, 24)
    for job in range(jobs):
        box(306 - 22 * job, y + 4, 18, 16, colour, colour)


# Requests, and the queues of an application's stages.
text(64, 118, "requests", weight="bold")
text(64, 136, "arrivals or a trace,", 11, GREY)
text(64, 151, "each with an SLO", 11, GREY)
arrow((112, 114), (150, 114))
box(150, 40, 196, 176, dash="5 4")
text(248, 32, "a queue for each stage", weight="bold")
queue(60, "stage A", 4, BLUE)
queue(106, "stage B", 2, ORANGE)
queue(152, "stage C", 1, GREEN)
text(248, 204, "jobs, the oldest first", 11, GREY)

# The controller takes a batch.
arrow((346, 114), (384, 114))
box(386, 40, 160, 176, INK)
text(466, 32, "controller", weight="bold")
text(466, 70, "policy: which queue,", 12)
text(466, 87, "batch, vCPUs, GPU share,", 12)
text(466, 104, "on which invoker?", 12)
text(466, 138, "A decision takes time.", 11, GREY)
for job in range(3):
    box(432 + 24 * job, 160, 18, 16, BLUE, BLUE)
box(426, 154, 80, 28, INK)
text(466, 202, "a batch of stage A", 11, GREY)
arrow((546, 114), (600, 114))
text(573, 104, "transfer", 11, GREY)

# Invokers with containers and GPUs.
box(610, 48, 270, 176, GREY, "white")
box(602, 40, 270, 176, INK, "white")
text(737, 32, "invokers", weight="bold")
text(614, 62, "vCPUs, memory", 12, anchor="start")
text(614, 84, "containers: cold, starting, warm", 12, anchor="start")
text(614, 120, "GPU", 12, anchor="start", weight="bold")
box(650, 104, 208, 52, INK)
for first, units, colour, words in ((0, 3, BLUE, "A: 3/7"), (3, 2, ORANGE, "B: 2/7"), (5, 1, GREEN, "C")):
    box(652 + 29 * first, 106, 29 * units - 2, 48, colour, colour)
    text(652 + 29 * first + 14.5 * units - 1, 135, words, 12, "white")
text(840, 135, "free", 11, GREY)
text(737, 176, "MIG: isolated slices.  MPS: batches on", 11, GREY)
text(737, 191, "one GPU slow one another.", 11, GREY)

# What happens after a batch.
arrow((737, 216), (737, 262), (248, 262), (248, 218))
text(492, 255, "batch done: the jobs of the next stages become ready", 12)
arrow((800, 224), (800, 292), (64, 292), (64, 160), colour=INK)
text(492, 308, "last stage done: in time if finish ≤ arrival + SLO; cost = time × (vCPUs + GPU share)", 12)

print(
    '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="322" viewBox="0 0 900 322" '
    'font-family="sans-serif">\n<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" '
    f'refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="{INK}"/></marker></defs>\n'
    '<rect width="900" height="322" fill="white"/>\n' + "\n".join(parts) + "\n</svg>"
)
