# Real runs against simulated ones, request by request or training by training: a panel an assumption.
#
# Columns: panel (1…), panel_title, row, setting, measured, simulated, unit, colour, point, subject,
# caption.
folder = ARG0[:strstrt(ARG0, "reality.gp") - 1]
heading = "Simulated against measured"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array names[rows]; array colours[rows]; array points[rows]
longest = or_sized(9, 0)
slowest = NaN; quickest = NaN
widen(v) = (slowest = slowest >= v ? slowest : v, quickest = quickest <= v ? quickest : v, 0)
take(p, r) = (titles[p] = cell("panel_title"), unit = cell("unit"), names[r] = cell("setting"), \
    colours[r] = int(column("colour")), points[r] = int(column("point")), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    widen(column("measured")), widen(column("simulated")), 0)
stats data using (take(int(column("panel")), int(column("row")))) nooutput
slowest = 1.2 * slowest; quickest = quickest / 1.2

width = wide(1200.0); entries = rows
right = or_sized(74 + 7.0 * longest, 24); left = or_sized(66.0, 98.0); between = 80.0; narrowest = 200.0
eval(fit_panels)
if (!sized && panels > 3) { columns = 2; lines = (panels + 1) / 2 }
tall = high(lines > 1 ? 240 : 380, 150.0, 220.0); body = lines * tall
height = 34 + lines * (tall + or_sized(76, 82))
count = rows; divide = "legend"; eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + or_sized(76, 82)
each = (width - left - right - between * (columns - 1)) / columns
here(p, r, v) = int(column("panel")) == p && int(column("row")) == r ? v : NaN
set logscale xy 10
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + between); ceiling = top - 26.0 - (p - 1) / columns * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen (ceiling - tall) / full
    set tmargin at screen ceiling / full
    unset key; unset arrow
    if (sized && p == 1) { do for [r=1:rows] { text = names[r]; line_dash = 1; point = points[r]; colour = colours[r]; eval(key_add) } }
    from = quickest; to = slowest
    set xrange [from:to]; set yrange [from:to]
    eval(log_ticks)
    set format xy "%g"
    set ytics autofreq
    set title titles[p] font size(12) offset 0, -0.6
    text = "simulated (".unit.", logarithmic)"; eval(y_title)
    set xlabel "measured (".unit.", logarithmic)"
    set arrow 1 from from, from to to, to nohead back lc rgb middle dt 2 lw 1.2
    if (!sized && p == 1) { set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 1 spacing 1.25 }
    plot for [r=1:rows] NaN with points pt points[r] ps 0.8 lc rgb colours[r] title names[r], \
         for [r=rows:1:-1] data using (here(p, r, column("measured"))):(column("simulated")) \
             with points pt points[r] ps 0.5 lc rgb colours[r] notitle
    eval(once)
}
unset multiplot
set output
