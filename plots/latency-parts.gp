# Where the time goes at the median and in the tail, a figure a setting: bars of queue, transfer, cold
# start and execution, panels by percentile.
#
# Columns: panel, panel_title, row, contender, queue_ms, transfer_ms, cold_ms, exec_ms (which add up to
# latency_ms), latency_ms, subject, caption.
folder = ARG0[:strstrt(ARG0, "latency-parts.gp") - 1]
heading = "Latency by percentile, and where it goes"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array names[rows]; array ends[panels]; array sorted[rows]
do for [p=1:panels] { titles[p] = "" }
do for [r=1:rows] { names[r] = "" }
longest = 0
take(p, r) = (titles[p] = cell("panel_title"), names[r] = cell("contender"), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, 0)
stats data using (take(int(column("panel")), int(column("row")))) nooutput
# A panel ends where its bars are told apart: a few that are far longer are cut, their length written.
do for [p=1:panels] {
    stats data using (int(column("panel")) == p ? column("latency_ms") : NaN) nooutput
    ends[p] = STATS_max <= 0 ? 1 : STATS_max > 4 * STATS_median ? 2 * STATS_median : STATS_max
}

# Room for the numbers right of the bars.
array most[panels]
do for [p=1:panels] { most[p] = 0 }
stats data using (most[int(column("panel"))] = column("latency_ms") > most[int(column("panel"))] ? column("latency_ms") : most[int(column("panel"))], 0) nooutput

eval(fit_rows)
width = wide(1200.0); left = 20.0 + 6.9 * longest; right = or_sized(24.0, 12.0); between = 22.0; narrowest = many_rows ? 100.0 : high(150.0, 96.0, 120.0)
eval(fit_panels)
body = lines * row_height * rows
height = 34 + 26 + lines * (24 + row_height * rows + or_sized(52, 56))
eval(begin)
row_height = row_height * stretch; block = 24 + row_height * rows + or_sized(52, 56)
each = (width - left - right - between * (columns - 1)) / columns
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
set style fill solid 1.0 border lc rgb "white"
here(v) = int(column("panel")) == p ? v : NaN
paints = "#E69F00 #000000 #BFE3F7 #00557F"
cut(v) = v < limit ? v : limit
# Thousands parted by narrow blanks; a comma would need a locale.
written(v) = v >= 999999.5 ? sprintf("%d %03d %03d", int(v / 1e6), int(v / 1e3) % 1000, int(v + 0.5) % 1000) \
    : v >= 9999.5 ? sprintf("%d %03d", int(floor(v + 0.5)) / 1000, int(floor(v + 0.5)) % 1000) : sprintf(v >= 100 ? "%.0f" : "%.1f", v)
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + between)
    base = floor + 52.0 + (lines - 1 - (p - 1) / columns) * block; ceiling = base + row_height * rows
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen ceiling / full
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { eval(row_labels) }
    set title titles[p] font size(12) offset 0, -0.6
    set xlabel "latency (ms)" offset 0, xlabel_shift
    limit = ends[p]
    taken = 12 + 7.0 * (strlen(written(most[p])) + (most[p] > limit ? 2 : 0))
    reach = limit * (taken < 0.6 * each ? each / (each - taken) : 2.5)
    set xrange [0:reach]
    set xtics 0, fitting(limit, each * limit / reach, 3), limit
    unset key
    if (p == 1) {
        do for [n=1:4] {
            x = or_sized(width - right - 400 + 92 * (n - 1), 14 + 86 * (n - 1)); y = ceiling + 40.0
            set object n rectangle from screen x / width, y / full to screen (x + 14.0) / width, (y + 11.0) / full \
                fc rgb word(paints, n) fs solid 1.0 border lc rgb middle
            set label n + 10 word("queue transfer cold_start execution", n) at screen (x + 20.0) / width, (y + 5.5) / full left font size(11) tc rgb ink
        }
        set label 13 "cold start"
    }
    part(n) = n == 0 ? 0 : column(n == 1 ? "queue_ms" : n == 2 ? "transfer_ms" : n == 3 ? "cold_ms" : "exec_ms")
    upto(n) = part(1) + (n > 1 ? part(2) : 0) + (n > 2 ? part(3) : 0) + (n > 3 ? part(4) : 0)
    before(n) = n == 1 ? 0 : upto(n - 1)
    plot for [n=1:4] data using (here(cut(upto(n)))):(column("row")):(cut(before(n))):(cut(upto(n))):(column("row") - 0.36):(column("row") + 0.36) \
             with boxxyerror lc rgb word(paints, n) notitle, \
         data using (here(cut(column("latency_ms")))):(column("row")):(written(column("latency_ms")).(column("latency_ms") > limit ? " »" : "")) \
             with labels left offset 0.4, 0 font size(10.5) tc rgb ink notitle
    eval(once); eval(unrow_labels)
    do for [n=1:4] { if (p == 1) { unset object n; unset label n + 10 } }
}
unset multiplot
set output
