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
longest = or_sized(12, 0)
take(r) = (names[r] = called("contender"), colours[r] = int(column("colour")), \
    dashes[r] = int(column("dash")), points[r] = int(column("point")), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, 0)
stats data using (take(int(column("row")))) nooutput
stats data using (column(time)) nooutput; slowest = STATS_max; quickest = STATS_min
stats data using (column(share)) nooutput; worst = STATS_max; lowest_share = STATS_min
# Up to 2.5 times the SLO, or, where all take longer, a few times the shortest.
share_end = lowest_share > 1.5 ? (worst < 3 * lowest_share ? 1.05 * worst : 3 * lowest_share) : worst > 2.5 ? 2.5 : worst > 1.2 ? worst : 1.2
# A logarithmic axis needs room, and no zero.
slowest = slowest > 0 ? 1.02 * slowest : 1
quickest = quickest > 0 ? quickest / 1.02 : slowest / 1e6

named = rows; while (named > 1 && colours[named] == pale && colours[named - 1] == pale) { named = named - 1 }
width = wide(1200.0); panels = 2; entries = named
right = or_sized(70 + 7.0 * longest, 24); left = or_sized(66.0, 94.0); between = 30.0; narrowest = 200.0
eval(fit_panels)
tall = high(4 + (22 * rows > 380 ? 22 * rows : 380), 150.0, 220.0); body = lines * tall
height = 34 + lines * (tall + or_sized(56, 62))
if (columns < panels) { caption = instead(caption, "The right axis", "The lower axis") }
count = named; divide = "legend"; eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + or_sized(56, 62)
each = (width - left - right - between * (columns - 1)) / columns
set yrange [0:100]
set ytics 20
here(r, v) = int(column("row")) == r ? v : NaN
do for [p=1:2] {
    across = left + (p - 1) % columns * (each + between); ceiling = top - 6.0 - (p - 1) / columns * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen (ceiling - tall) / full
    set tmargin at screen ceiling / full
    unset key; unset arrow
    if (sized && p == 1) { do for [r=1:named] { text = names[r]; line_dash = dashes[r]; point = points[r]; colour = colours[r]; eval(key_add) } }
    if (p == 1) {
        text = what." that took at most so long (%)"; eval(y_title)
        set xlabel time_label offset 0, xlabel_shift
        set logscale x 10
        set xrange [quickest:slowest]
        from = quickest; to = slowest; eval(log_ticks)
        set format x "%g"
    } else {
        if (columns > 1) { unset ylabel; set format y "" }
        set xlabel share_label offset 0, xlabel_shift
        if (share_logarithmic) {
            set xrange [lowest_share / 1.02:1.02 * worst]
            from = lowest_share / 1.02; to = 1.02 * worst; eval(log_ticks)
        } else {
            unset logscale x
            set xrange [0:share_end]
            from = 0; to = share_end; most_ticks = 5; eval(x_ticks)
        }
        if (!sized) { set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 3 spacing key_spacing }
        set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb ink dt (6 * dash, 4 * dash) lw 1.2
    }
    # The first contenders are drawn last, over the others; markers tell lines apart without colours.
    plot for [r=1:named] NaN with linespoints lw 1.8 dt dashes[r] pt points[r] ps 0.8 * mark lc rgb colours[r] title names[r], \
         for [r=rows:1:-1] data using (here(r, column(p == 1 ? time : share))):(column("percent")) \
             with lines lw 1.8 dt dashes[r] lc rgb colours[r] notitle, \
         for [r=rows:1:-1] data using (int(column(0)) % 31 == 7 && colours[r] != pale ? here(r, column(p == 1 ? time : share)) : NaN):(column("percent")) \
             with points pt points[r] ps 0.8 * mark lc rgb colours[r] notitle
    eval(once); eval(unlegend)
}
unset multiplot
set output
