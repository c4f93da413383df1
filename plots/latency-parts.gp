# Percentiles of latency and where the time goes, a figure a setting: dots on one logarithmic axis, beneath
# them bars of the shares of queue, transfer, cold start and execution, a panel a percentile.
#
# Columns: panel, panel_title, row, contender, queue_ms, transfer_ms, cold_ms, exec_ms (which add up to
# latency_ms), latency_ms, subject, caption. Rows of panel 0 are the SLOs of the applications.
folder = ARG0[:strstrt(ARG0, "latency-parts.gp") - 1]
heading = "Latency by percentile, and where it goes"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array names[rows]; array slos[64]
do for [p=1:panels] { titles[p] = "" }
do for [r=1:rows] { names[r] = "" }
longest = 0; slo_count = 0; to = -1e300; from = 1e300
take(p, r) = p == 0 ? (slo_count < 64 ? (slo_count = slo_count + 1, slos[slo_count] = column("latency_ms"), 0) : 0) : \
    (titles[p] = cell("panel_title"), names[r] = cell("contender"), longest = longer(longest, strlen(names[r])), 0)
stats data using (take(int(column("panel")), int(column("row")))) nooutput
reach(v) = v > 0 ? (to = v > to ? v : to, from = v < from ? v : from, 0) : 0
stats data using (reach(column("latency_ms"))) nooutput
if (from > to) { from = 1; to = 10 }
from = from / 1.2; to = to * 1.2

eval(fit_rows); squeeze = 0.8
width = wide(1200.0); left = 20.0 + name_width * longest; right = 24.0; between = canvas eq "column" ? 8.0 : 26.0
lines = 1; columns = panels; divide = "rows"; head = 24.0; foot = 56.0
body = 2 * row_height * rows
height = 34 + 24 + 22 + body + 2 * (head + foot)
eval(begin)
tall = row_height * rows * stretch
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
set ytics 1, 1, rows scale 0 format ""
unset key
set rmargin at screen (width - right) / width; set lmargin at screen left / width

# The percentiles.
paints = "#56B4E9 #0072B2 #D55E00 #000000"; shapes = "7 5 9 13"
ceiling = top - 10.0 - head; each = width - left - right
set tmargin at screen ceiling / full; set bmargin at screen (ceiling - tall) / full
eval(row_labels)
set logscale x 10; set xrange [from:to]; eval(log_ticks)
set xlabel "latency (ms, logarithmic)" offset 0, xlabel_shift
n = 0
do for [p=1:panels] {
    n = n + 1; text = titles[p]; line_dash = 0; point = int(word(shapes, 1 + (p - 1) % 4)); colour = int("0x".word(paints, 1 + (p - 1) % 4)[2:])
    x = 14 + or_sized(76, canvas eq "column" ? 62 : 76) * (p - 1); y = ceiling + 16.0; eval(legend)
}
if (slo_count > 0) { n = n + 1; text = "SLO"; line_dash = 2; point = 0; colour = 0x222222; x = 28 + or_sized(76, canvas eq "column" ? 62 : 76) * panels; eval(legend) }
do for [i=1:slo_count] { set arrow i from slos[i], graph 0 to slos[i], graph 1 nohead back lc rgb ink dt (6 * dash, 4 * dash) lw 1.2 }
here(v) = int(column("panel")) == p ? v : NaN
plot for [p=1:panels] data using (here(column("latency_ms"))):(column("row")) \
    with points pt int(word(shapes, 1 + (p - 1) % 4)) ps 0.9 * mark lc rgb word(paints, 1 + (p - 1) % 4) notitle
eval(once); eval(unlegend); unset arrow; unset logscale x

# Their parts.
paints = "#E69F00 #000000 #BFE3F7 #00557F"
ceiling = ceiling - tall - foot - 22 - head; each = (width - left - right - between * (panels - 1)) / panels
set tmargin at screen ceiling / full; set bmargin at screen (ceiling - tall) / full
set style fill solid 1.0 border lc rgb "white"
set xrange [0:100]
unset xtics; set xtics nomirror out scale 0.6 tc rgb ink each > 60 ? 50 : 100
if (canvas eq "column") { set xtics ("50" 50) }
share(n) = column("latency_ms") > 0 ? 100.0 * column(word("queue_ms transfer_ms cold_ms exec_ms", n)) / column("latency_ms") : 0
before(n) = n == 1 ? 0 : share(1) + (n > 2 ? share(2) : 0) + (n > 3 ? share(3) : 0)
do for [p=1:panels] {
    across = left + (p - 1) * (each + between)
    set lmargin at screen across / width; set rmargin at screen (across + each) / width
    if (p == 1) { eval(row_labels) }
    set title titles[p] font size(12) offset 0, -0.6
    unset xlabel
    if (p == 1) {
        set label 20 "share of the latency (%)" at screen (left + width - right) / (2 * width), screen (ceiling - tall - 40) / full center tc rgb ink
        do for [k=1:4] {
            x = 14 + 86 * (k - 1); y = ceiling + 28.0
            set object k rectangle from screen x / width, y / full to screen (x + 14.0) / width, (y + 11.0) / full \
                fc rgb word(paints, k) fs solid 1.0 border lc rgb middle
            set label k + 10 word("queue transfer cold_start execution", k) at screen (x + 20.0) / width, (y + 5.5) / full left font size(11) tc rgb ink
        }
        set label 13 "cold start"
    }
    plot for [k=1:4] data using (here(before(k) + share(k))):(column("row")):(here(before(k))):(here(before(k) + share(k))):(column("row") - 0.36):(column("row") + 0.36) \
             with boxxyerror lc rgb word(paints, k) notitle
    eval(unrow_labels); unset label 20
    do for [k=1:4] { if (p == 1) { unset object k; unset label k + 10 } }
}
unset multiplot
set output
