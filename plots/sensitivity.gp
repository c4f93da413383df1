# One parameter of a policy, several values, everything else equal: hit rate, cost and time to decide.
#
# Columns: panel, axis, series, series_title, parameter, x, value, low, high, colour, point, dash,
# caption.
folder = ARG0[:strstrt(ARG0, "sensitivity.gp") - 1]
heading = "Sensitivity"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "series" nooutput; series = int(STATS_max)
stats data using "x" nooutput; first = STATS_min; last = STATS_max
array axes[panels]; array names[series]; array colours[series]; array points[series]; array dashes[series]
do for [p=1:panels] { axes[p] = "" }
longest = 12; parameter = ""
take(p, s) = (axes[p] = cell("axis"), names[s] = cell("series_title"), parameter = cell("parameter"), \
    colours[s] = int(column("colour")), points[s] = int(column("point")), dashes[s] = int(column("dash")), \
    longest = strlen(names[s]) > longest ? strlen(names[s]) : longest, 0)
stats data using (take(int(column("panel")), int(column("series")))) nooutput

width = wide(1200.0)
left = or_sized(66.0, 104.0); right = 14.0; between = or_sized(92.0, 98.0); narrowest = 130.0
eval(fit_panels)
tall = high(300, 140.0, 200.0); gap = or_sized(50, 56); body = lines * tall; block = tall + gap
height = 46 + lines * block; divided_rows = "series"
entries = series; count = series; eval(fit_key)
if (!sized) { key_height = 18 * key_lines + 10; height = height + key_height }
rows = 1
eval(begin)
tall = tall * stretch
each = (width - left - right - between * (columns - 1)) / columns
end(name) = strlen(strcol(name)) > 0 ? column(name) : column("value")
here(s, v) = int(column("panel")) == p && int(column("series")) == s ? v : NaN
set xlabel parameter
log_axis = 0
room = last > first ? 0.05 * (last - first) : 1
if (first > 0 && last / first >= 8) {
    set logscale x 2
    log_axis = 1
    x_range = 'set xrange [first / 1.2:last * 1.2]'
} else {
    x_range = 'set xrange [first - room:last + room]'
    if (last - first <= 10 && first == int(first) && last == int(last)) { set xtics 1 }
}
set format x "%g"
# Intervals at one value stand side by side.
apart(s) = (s - (series + 1) / 2.0) * (series > 1 ? 1.0 / (series - 1) : 0)
beside(s, v) = log_axis ? v * 1.08 ** apart(s) : v + 0.03 * (last - first) * apart(s)
do for [p=1:panels] {
    eval(place_panel); bottom = floor + 50.0 + (lines - 1 - (p - 1) / columns) * (tall + gap)
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen bottom / full
    set tmargin at screen (bottom + tall) / full
    text = axes[p]; eval(y_title)
    low = 1e300; high = -1e300
    reach(l, h) = (low = l < low ? l : low, high = h > high ? h : high, 0)
    set xrange [*:*]; set yrange [*:*]
    stats data using (int(column("panel")) == p ? reach(end("low"), end("high")) : 0) nooutput
    margin = room_of(low, high)
    share = strstrt(axes[p], "%") > 0
    set yrange [(low >= 0 && low - margin < 0 ? 0 : low - margin):(share && high <= 100 && high + margin > 100 ? 102 : high + margin)]
    from = low - margin; to = high + margin; most_ticks = 6; eval(y_ticks)
    eval(x_range)
    unset key
    if (p == 1) {
        do for [s=1:series] { text = names[s]; line_dash = dashes[s]; point = points[s]; colour = colours[s]; eval(key_add) }
    }
    plot for [s=1:series] data using (here(s, beside(s, column("x")))):(column("value")):(end("low")):(end("high")) \
             with yerrorbars pt -1 lw 1.2 lc rgb colours[s] notitle, \
         for [s=1:series] data using (here(s, beside(s, column("x")))):(column("value")) \
             smooth unique with linespoints lw 1.6 dt dashes[s] pt points[s] ps 0.8 * mark lc rgb colours[s] notitle
    if (p == 1) { eval(once); n = series; eval(unlegend) }
}
unset multiplot
set output
