# A metric, cost and tail latency against a swept key: a line per policy, rows of panels by metric,
# columns by the other conditions of the sweep.
#
# Columns: row (1… from the top), axis, logarithmic (1: the row's axis is), limit (a line across the
# row), panel (1… from the left), panel_title, series (1…), series_title, key, x, value, low, high,
# colour, point, dash, subject, caption.
folder = ARG0[:strstrt(ARG0, "curve.gp") - 1]
heading = "Against ".(exists("key_name") ? key_name : "a swept key")
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "series" nooutput; series = int(STATS_max)
stats data using "x" nooutput; first = STATS_min; last = STATS_max
array axes[rows]; array scales[rows]; array limits[rows]; array lowest[rows]; array highest[rows]
array titles[panels]
array names[series]; array colours[series]; array points[series]; array dashes[series]
do for [r=1:rows] { axes[r] = ""; scales[r] = 0; limits[r] = NaN; lowest[r] = 1e300; highest[r] = -1e300 }
do for [p=1:panels] { titles[p] = "" }
do for [s=1:series] { names[s] = ""; colours[s] = 0; points[s] = 0; dashes[s] = 1 }
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
end(name) = strlen(strcol(name)) > 0 ? column(name) : number("value")
longest = 8; parameter = ""
take(r, p, s) = (axes[r] = cell("axis"), scales[r] = int(column("logarithmic")), limits[r] = number("limit"), \
    titles[p] = cell("panel_title"), names[s] = cell("series_title"), parameter = cell("key"), \
    colours[s] = int(column("colour")), points[s] = int(column("point")), dashes[s] = int(column("dash")), \
    longest = strlen(names[s]) > longest ? strlen(names[s]) : longest, 0)
stats data using (take(int(column("row")), int(column("panel")), int(column("series")))) nooutput
# A logarithmic axis shows no value of 0 or less, nor the part of an interval that reaches there.
reach(r, l, h) = (lowest[r] = l < lowest[r] ? l : lowest[r], highest[r] = h > highest[r] ? h : highest[r], 0)
span(r, v, l, h) = v == v ? (scales[r] ? (v > 0 ? reach(r, l > 0 ? l : v, h) : 0) : reach(r, l, h)) : 0
stats data using (span(int(column("row")), number("value"), end("low"), end("high"))) nooutput

width = wide(1200.0); left = or_sized(78.0, 94.0); right = 14.0; between = 16.0; narrowest = 80.0
eval(fit_panels)
# Narrower panels, rather than a last one alone in its line.
if (sized && lines > 1 && panels % columns == 1 && (width - left - right - between * columns) / (columns + 1) >= 64) { columns = columns + 1; lines = (panels + columns - 1) / columns }
tall = high(210.0, 112.0, canvas eq "slide" ? 90.0 : 130.0); gap = 14.0; head = 22.0; foot = 58.0; body = lines * rows * tall
block = head + rows * tall + (rows - 1) * gap + foot
height = 34 + lines * block
entries = series; count = series; eval(fit_key)
if (!sized) { key_lines = (series + key_columns - 1) / key_columns; key_height = 18 * key_lines + 10; height = height + key_height }
heading = "Against ".parameter
eval(begin)
tall = tall * stretch; block = head + rows * tall + (rows - 1) * gap + foot
each = (width - left - right - between * (columns - 1)) / columns
here(s, v) = int(column("row")) == r && int(column("panel")) == p && int(column("series")) == s ? v : NaN
# An interval that goes on beyond the frame has an arrow there.
inside(v, e) = e < edge || e > roof ? v : e
room = last > first ? 0.05 * (last - first) : 1
set format x "%g"
# Intervals at one value stand side by side.
apart(s) = series > 1 ? 0.02 * (last - first) * (s - (series + 1) / 2.0) / (series - 1) : 0
do for [s=1:series] { text = names[s]; line_dash = dashes[s]; point = points[s]; colour = colours[s]; eval(key_add) }
do for [r=1:rows] {
    low = lowest[r]; high = highest[r]
    if (low > high) { low = scales[r] ? 1 : 0; high = scales[r] ? 10 : 1 }
    share = strstrt(axes[r], "%") > 0
    # An interval may reach where no share can be.
    if (share && high > 100) { high = 100 }
    if (share && low < 0) { low = 0 }
    margin = high > low ? 0.06 * (high - low) : (high != 0 ? 0.1 * abs(high) : 1)
    do for [p=1:panels] {
        across = left + (p - 1) % columns * (each + between)
        bottom = floor + foot + (rows - r) * (tall + gap) + (lines - 1 - (p - 1) / columns) * block
        set bmargin at screen bottom / full
        set tmargin at screen (bottom + tall) / full
        set lmargin at screen across / width
        set rmargin at screen (across + each) / width
        set xrange [first - room:last + room]
        labelled = (p - 1) % columns == 0
        if (scales[r]) {
            set logscale y 10
            from = low / 1.3; to = high * 1.3; set yrange [from:to]; eval(log_y_ticks)
        } else {
            unset logscale y
            from = low >= 0 && low - margin < 0 ? 0 : low - margin; to = share && high <= 100 && high + margin > 100 ? 103 : high + margin
            set yrange [from:to]; most_ticks = 6; eval(y_ticks)
        }
        edge = from; roof = to
        if ((p - 1) % columns == 0) { text = axes[r]; eval(y_title) } else { unset ylabel }
        captioned = r == rows; set format y "%g"; from = first - room; to = last + room; most_ticks = 7; eval(x_ticks)
        if (r == rows) { set xlabel parameter offset 0, or_sized(0, xlabel_shift) } else { unset xlabel }
        unset label 3
        if (r == 1) { text = titles[p]; limit = sized ? int(each / 6.6) : 1000; set label 3 "".shortened(text, int(0.4 * limit)) at graph 0.5, screen (bottom + tall + 11.0) / full center front tc rgb ink }
        unset arrow 1
        if (limits[r] == limits[r]) { set arrow 1 from graph 0, first limits[r] to graph 1, first limits[r] nohead back dt 3 lw 1.2 lc rgb middle }
        unset key
        plot for [s=1:series] data using (here(s, column("x") + apart(s))):(number("value")):(inside(number("value"), end("low"))):(inside(number("value"), end("high"))) \
                 with yerrorbars pt -1 lw 1.2 lc rgb colours[s] notitle, \
             for [s=1:series] for [side=0:1] data using (here(s, (side ? end("high") > roof : end("low") < edge && number("value") > edge) ? column("x") + apart(s) : NaN)): \
                 (number("value")):(0):((side ? roof : edge) - number("value")) with vectors filled size screen 7.0 / width, 20 lw 1.2 lc rgb colours[s] notitle, \
             for [s=1:series] data using (here(s, column("x") + apart(s))):(number("value")) \
                 smooth unique with linespoints lw 1.6 dt dashes[s] pt points[s] ps 0.8 * mark lc rgb colours[s] notitle
        if (r == 1 && p == 1) { eval(once); n = series; eval(unlegend) }
    }
}
unset multiplot
set output
