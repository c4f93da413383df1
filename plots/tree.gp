# A decision tree from left to right: tests with two ways, and leaves, whose areas are rows.
#
# Columns: depth (0…), height (leaves: 1…, from the top), yes, no (heights of a test's ways; empty: a leaf), text,
# rows (of a leaf), subject, caption.
folder = ARG0[:strstrt(ARG0, "tree.gp") - 1]
heading = "Decision tree"
load folder."common.gp"

stats data using "depth" nooutput; deepest = int(STATS_max)
stats data using "height" nooutput; leaves = int(STATS_max + 0.5)
largest = 1.0
stats data using (largest = strlen(strcol("rows")) > 0 && column("rows") > largest ? column("rows") : largest, 0) nooutput
# A level is as wide as a test's text, and the last one as a leaf's.
last = 190.0; level = sized && deepest > 0 ? (canvas_width - 24 - last) / deepest : 148.0
if (level > 148) { level = 148.0 }
if (level < 110) { print sprintf("%d levels of tests do not fit; give another --size, or none", deepest); exit status 3 }
width = 24 + deepest * level + last
width = sized ? canvas_width : width < 560 ? 560.0 : width
tall = leaves * 17.0 < 60 ? 60.0 : leaves * 17.0; body = tall; height = 34 + tall + 30
eval(begin)
tall = tall * stretch
set lmargin at screen 24 / width; set rmargin at screen (24 + (deepest + 1) * level) / width
set tmargin at screen (top - 8) / full; set bmargin at screen (top - 8 - tall) / full
set xrange [0:deepest + 1]; set yrange [leaves + 0.5:0.5]
unset border; unset tics; unset grid; unset key
leaf(v) = strlen(strcol("rows")) > 0 ? v : NaN
test(v) = strlen(strcol("rows")) > 0 ? NaN : v
# A leaf's first vote, and all its rows. One that waits is red. (cell() of a CSV has a lower comma.)
vote(t) = t[:6] eq "serve " ? (list = t[7:], comma = strstrt(list, "‚"), (comma > 0 ? list[:comma - 1] : list).sprintf(" of %.0f", column("rows"))) : t
# A test's text stands on its way, at most as long as the level.
cut(t) = (told = instead(t, "function is ", "is "), strlen(told) > level / 6.1 ? told[:int(level / 6.1) - 1]."…" : told)
plot data using (test(column("depth") + 0.95)):(column("yes")):(0.05):(0) with vectors nohead lc rgb middle notitle, \
     data using (test(column("depth") + 0.95)):(column("no")):(0.05):(0) with vectors nohead lc rgb middle notitle, \
     data using (test(column("depth") + 0.95)):(column("yes")):(0):(column("no") - column("yes")) with vectors nohead lc rgb middle notitle, \
     data using (test(column("depth"))):(column("height")):(0.95):(0) with vectors nohead lc rgb middle notitle, \
     data using (test(column("depth") + 0.02)):(column("height")):(cut(cell("text"))) with labels left offset 0, 0.45 font size(10.5) tc rgb ink notitle, \
     data using (leaf(column("depth") + 0.03)):(column("height")):(mark * (0.35 + 0.85 * sqrt(column("rows") / largest))):(cell("text")[:11] eq "serve none " ? 0xD55E00 : 0x0072B2) \
         with points pt 7 ps variable lc rgb variable notitle, \
     data using (leaf(column("depth") + 0.1)):(column("height")):(vote(cell("text"))) with labels left font size(10.5) tc rgb ink notitle
unset multiplot
set output
