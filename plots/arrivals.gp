# Arrivals of a trace: their rate over time, and the intervals between them beside those of a Poisson
# process of the same mean rate.
#
# Columns: panel (1: time_s and rate; 2: interval_ms, percent, poisson), x, y, poisson, subject, subject, caption.
folder = ARG0[:strstrt(ARG0, "arrivals.gp") - 1]
heading = "Arrivals"
load folder."common.gp"

in(p, v) = int(column("panel")) == p ? v : NaN
stats data using (in(1, column("x"))) nooutput; last = STATS_max
stats data using (in(1, column("y"))) nooutput; mean = STATS_mean; most = STATS_max
intervals = 0
stats data using (intervals = intervals + (int(column("panel")) == 2), 0) nooutput

width = wide(1000.0); tall = high(240.0, 120.0, canvas eq "slide" ? 110.0 : 180.0); plots = intervals > 1 ? 2 : 1
body = plots * tall; height = 34 + plots * (tall + 60) + or_sized(0, 34 * (plots - 1))
if (sized) { key_height = 14; height = height + key_height }
left = or_sized(76.0, 92.0)
eval(begin)
tall = tall * stretch
set lmargin at screen left / width
set rmargin at screen (width - 20.0) / width
set tmargin at screen (top - 8.0) / full
set bmargin at screen (top - 8.0 - tall) / full
unit = last > 3 * 86400 ? 86400.0 : last > 3 * 3600 ? 3600.0 : 1.0
set xlabel (unit > 3600 ? "time (days)" : unit > 1 ? "time (hours)" : "time (s)") offset 0, xlabel_shift
text = "requests / s"; eval(y_title)
set xrange [0:(last > 0 ? last / unit : 1)]; set yrange [0:(most > 0 ? 1.08 * most : 1)]
set key at screen (width - 20.0) / width, screen 1 - 10.0 / full right top horizontal
if (sized) { set key at screen (width - 20.0) / width, screen (key_top - 2.0) / full right top horizontal
    if (last > 0) { set xtics autofreq step(last / unit, int((width - left - 20) / 48)) } }
set arrow 1 from graph 0, first mean to graph 1, first mean nohead front lc rgb "#D55E00" dt (8 * dash, 4 * dash) lw 1.8
plot data using (in(1, column("x") / unit)):(column("y")) with steps lw 1.2 lc rgb "#0072B2" notitle, \
     NaN with lines lc rgb "#D55E00" dt (8 * dash, 4 * dash) lw 1.8 title "mean"
eval(once)
unset arrow
if (intervals > 1) {
    set tmargin at screen (floor + 50.0 + tall) / full
    set bmargin at screen (floor + 50.0) / full
    set xlabel "interval between arrivals (ms, logarithmic)" offset 0, xlabel_shift
    text = "intervals at most so long (%)"; eval(y_title)
    set xrange [*:*]; set yrange [*:*]
    stats data using (in(2, column("x") > 0 ? column("x") : NaN)) nooutput
    set logscale x 10
    from = STATS_min / 1.1; to = STATS_max * 1.1
    # A trace of one interval alone still has an axis.
    if (to / from < 4) { from = from / 2; to = to * 2 }
    set xrange [from:to]; set yrange [0:102]
    each = width - 96; eval(log_ticks)
    set format x "%g"
    set key at graph 0.02, graph 0.95 left top Left reverse
    if (sized) { set key at screen left / width, screen (floor + 50.0 + tall + 38) / full left top Left reverse samplen 3 }
    plot data using (in(2, column("x") > 0 ? column("x") : NaN)):(column("y")) with lines lw 1.8 lc rgb "#0072B2" title "trace", \
         data using (in(2, column("x") > 0 ? column("x") : NaN)):(column("poisson")) with lines dt 2 lw 1.6 lc rgb middle title "Poisson, same mean"
}
unset multiplot
set output
