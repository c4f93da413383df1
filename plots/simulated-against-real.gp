# A simulation held against a replay, a figure a setting: both distributions of latency, and the
# times of batches predicted and executed.
#
# Columns: panel (1: distribution, 2: batches), row, contender, side (0: simulated, 1: real), x, y
# (1: latency in ms and per cent of the requests; 2: executed and predicted ms), colour, point,
# subject, caption.
folder = ARG0[:strstrt(ARG0, "simulated-against-real.gp") - 1]
heading = "Simulated against real"
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array names[rows]; array colours[rows]; array points[rows]
longest = or_sized(9, 0); other_longest = 9
slowest = 0; quickest = NaN; most = 0; least = NaN
widen(p, x, y) = p == 1 ? \
    (slowest = x > slowest ? x : slowest, quickest = quickest <= x ? quickest : x) : \
    (most = x > most ? x : most, most = y > most ? y : most, \
     least = least <= x ? least : x, least = least <= y ? least : y)
take(r) = (names[r] = cell("contender"), colours[r] = int(column("colour")), \
    points[r] = int(column("point")), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    widen(int(column("panel")), column("x"), column("y")), 0)
stats data using (take(int(column("row")))) nooutput
# A logarithmic axis needs room, and no zero.
slowest = slowest > 0 ? 1.02 * slowest : 1
quickest = quickest > 0 ? quickest / 1.02 : slowest / 1e6
most = most > 0 ? 1.2 * most : 1
least = least > 0 ? least / 1.2 : most / 1e6

width = wide(1200.0); panels = 2; entries = rows + 2
right = or_sized(74 + 7.0 * longest, 24); left = or_sized(66.0, 98.0); between = 80.0; narrowest = 200.0
eval(fit_panels)
tall = high(4 + (22 * (rows + 3) > 380 ? 22 * (rows + 3) : 380), 150.0, 220.0); body = lines * tall
height = 34 + lines * (tall + or_sized(56, 62))
if (columns < panels) { caption = instead(instead(caption, "Left:", "Above:"), "Right:", "Below:") }
count = rows; divide = "legend"; eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + or_sized(56, 62)
each = (width - left - right - between * (columns - 1)) / columns
here(p, r, s, v) = int(column("panel")) == p && int(column("row")) == r && int(column("side")) == s ? v : NaN
set logscale x 10
do for [p=1:2] {
    across = left + (p - 1) % columns * (each + between); ceiling = top - 6.0 - (p - 1) / columns * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen (ceiling - tall) / full
    set tmargin at screen ceiling / full
    unset key; unset arrow
    if (sized && p == 1) { do for [r=1:rows] { text = names[r]; line_dash = 1; point = points[r]; colour = colours[r]; eval(key_add) }
        do for [s=1:2] { text = word("simulated real", s); line_dash = s; point = 0; colour = 0x222222; eval(key_add) } }
    from = p == 1 ? quickest : least; to = p == 1 ? slowest : most
    set xrange [from:to]
    eval(log_ticks)
    set format x "%g"
    if (p == 1) {
        set yrange [0:100]; set ytics 20
        text = "requests that took at most so long (%)"; eval(y_title)
        set xlabel "latency (ms, logarithmic)"
        plot for [r=rows:1:-1] data using (here(1, r, 0, column("x"))):(column("y")) \
                 with lines lw 1.8 dt 1 lc rgb colours[r] notitle, \
             for [r=rows:1:-1] data using (here(1, r, 1, column("x"))):(column("y")) \
                 with lines lw 1.8 dt 2 lc rgb colours[r] notitle
        eval(once); eval(unlegend)
    } else {
        set logscale y 10; set yrange [least:most]
        eval(log_y_ticks); set format y "%g"
        text = "predicted (ms, logarithmic)"; eval(y_title)
        set xlabel "executed (ms, logarithmic)"
        set arrow 1 from least, least to most, most nohead back lc rgb middle dt 2 lw 1.2
        if (!sized) { set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 3 spacing 1.25 }
        plot for [r=1:rows] NaN with linespoints lw 1.8 dt 1 pt points[r] ps 0.8 lc rgb colours[r] title names[r], \
             NaN with lines lw 1.8 dt 1 lc rgb ink title "simulated", \
             NaN with lines lw 1.8 dt 2 lc rgb ink title "real", \
             for [r=rows:1:-1] data using (here(2, r, 0, column("x"))):(column("y")) \
                 with points pt points[r] ps 0.8 lc rgb colours[r] notitle
    }
}
unset multiplot
set output
