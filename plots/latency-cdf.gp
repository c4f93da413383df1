# Distribution of latency, a figure a setting: in ms, and as a share of each request's SLO.
#
# Columns: row, contender, percent, latency_ms, slo_share (quantiles at that per cent of all
# requests; dropped ones never finish), colour, dash, point, subject, caption.
# jct-cdf.gp, which loads this, sets other texts and columns.
if (!exists("folder")) {
    folder = ARG0[:strstrt(ARG0, "latency-cdf.gp") - 1]
    heading = "Distribution of latency"; what = "requests"
    time = "latency_ms"; time_label = "latency (ms, logarithmic)"
    share = "slo_share"; share_label = "latency / SLO"; share_logarithmic = 0
}
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array names[rows]; array colours[rows]; array dashes[rows]; array points[rows]
longest = 12
take(r) = (names[r] = cell("contender"), colours[r] = int(column("colour")), \
    dashes[r] = int(column("dash")), points[r] = int(column("point")), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, 0)
stats data using (take(int(column("row")))) nooutput
stats data using (column(time)) nooutput; slowest = STATS_max; quickest = STATS_min
stats data using (column(share)) nooutput; worst = STATS_max; best = STATS_min
# Up to 2.5 times the SLO, or, where all take longer, a few times the shortest.
share_end = best > 1.5 ? (worst < 3 * best ? 1.05 * worst : 3 * best) : worst > 2.5 ? 2.5 : worst > 1.2 ? worst : 1.2
# A logarithmic axis needs room, and no zero.
slowest = slowest > 0 ? 1.02 * slowest : 1
quickest = quickest > 0 ? quickest / 1.02 : slowest / 1e6

width = 1200.0
height = 34 + 60 + (22 * rows > 380 ? 22 * rows : 380)
eval(begin)
right = 70 + 7.0 * longest; left = 66.0; between = 30.0
each = (width - left - right - between) / 2
set bmargin at screen (floor + 50.0) / full
set tmargin at screen (top - 6.0) / full
set yrange [0:100]
set ytics 20
here(r, v) = int(column("row")) == r ? v : NaN
do for [p=1:2] {
    set lmargin at screen (left + (p - 1) * (each + between)) / width
    set rmargin at screen (left + (p - 1) * (each + between) + each) / width
    unset key; unset arrow
    if (p == 1) {
        set ylabel what." that took at most so long (%)" offset ylabel_shift, 0
        set xlabel time_label offset 0, xlabel_shift
        set logscale x 10
        set xrange [quickest:slowest]
        from = quickest; to = slowest; eval(log_ticks)
        set format x "%g"
    } else {
        unset ylabel
        set format y ""
        set xlabel share_label offset 0, xlabel_shift
        if (share_logarithmic) {
            set xrange [best / 1.02:1.02 * worst]
            from = best / 1.02; to = 1.02 * worst; eval(log_ticks)
        } else {
            unset logscale x
            set xrange [0:share_end]
            unset xtics; set xtics nomirror out scale 0.6 tc rgb ink autofreq step(share_end, 5)
        }
        set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 3 spacing key_spacing
        set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb ink dt (6 * dash, 4 * dash) lw 1.2
    }
    # The first contenders are drawn last, over the others; markers tell lines apart without colours.
    plot for [r=1:rows] NaN with linespoints lw 1.8 dt dashes[r] pt points[r] ps 0.8 * mark lc rgb colours[r] title names[r], \
         for [r=rows:1:-1] data using (here(r, column(p == 1 ? time : share))):(column("percent")) \
             with lines lw 1.8 dt dashes[r] lc rgb colours[r] notitle, \
         for [r=rows:1:-1] data using (int(column(0)) % 31 == 7 ? here(r, column(p == 1 ? time : share)) : NaN):(column("percent")) \
             with points pt points[r] ps 0.8 * mark lc rgb colours[r] notitle
    eval(once)
}
unset multiplot
set output
