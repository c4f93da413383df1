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
given(name) = strlen(strcol(name)) > 0 ? column(name) : number("value")
end(name) = strstrt(axes[int(column("row"))], "%") ? given(name) : end_of(name, number("value"), given("low"), given("high"))
longest = 8; parameter = ""
take(r, p, s) = (axes[r] = cell("axis"), scales[r] = int(column("logarithmic")), limits[r] = number("limit"), \
    titles[p] = cell("panel_title"), names[s] = called("series_title"), parameter = cell("key"), \
    colours[s] = int(column("colour")), points[s] = int(column("point")), dashes[s] = int(column("dash")), \
    longest = strlen(names[s]) > longest ? strlen(names[s]) : longest, 0)
stats data using (take(int(column("row")), int(column("panel")), int(column("series")))) nooutput
# A logarithmic axis shows no value of 0 or less, nor the part of an interval that reaches there.
reach(r, l, h) = (lowest[r] = l < lowest[r] ? l : lowest[r], highest[r] = h > highest[r] ? h : highest[r], 0)
span(r, v, l, h) = v == v ? (scales[r] ? (v > 0 ? reach(r, near(v, l), near(v, h)) : 0) : reach(r, l, h)) : 0
stats data using (span(int(column("row")), number("value"), end("low"), lower(end("high"), given("high")))) nooutput
eval(say_logged)

width = wide(1200.0); left = or_sized(90.0, 110.0); right = 14.0; between = 16.0; narrowest = 80.0
# Where there is room, lines have their names at their ends, right of the last panel.
array end_x[rows * panels * series]; array end_y[rows * panels * series]; ends = 0
do for [i=1:rows * panels * series] { end_x[i] = -1e300; end_y[i] = NaN }
place(r, p, s) = ((r - 1) * panels + p - 1) * series + s
reached(i, x, v) = v == v && x >= end_x[i] ? (end_x[i] = x, end_y[i] = v, 0) : 0
stats data using (reached(place(int(column("row")), int(column("panel")), int(column("series"))), column("x"), number("value"))) nooutput
# The pale ones, which are the last, are named once in the legend.
named = series; while (named > 1 && colours[named] == pale && colours[named - 1] == pale) { named = named - 1 }
end_width = 32 + 6.6 * (longest < 24 ? longest : 24)
array ended[series]; all_end = 1; shown = colours[named] == pale ? named - 1 : named
do for [s=1:series] { ended[s] = 0; do for [r=1:rows] { i = place(r, panels, s); ended[s] = ended[s] || end_y[i] == end_y[i] } }
do for [s=1:shown] { all_end = all_end && ended[s] }
if (all_end && named <= 9 && canvas ne "column") { right = end_width; eval(fit_panels); ends = (width - left - right - between * (columns - 1)) / columns >= 110; if (!ends) { right = 14.0 } }
eval(fit_panels)
# Narrower panels, rather than a last one alone in its line.
if (sized && lines > 1 && panels % columns == 1 && (width - left - right - between * columns) / (columns + 1) >= 64) { columns = columns + 1; lines = (panels + columns - 1) / columns }
tall = high(210.0, 112.0, canvas eq "slide" ? 90.0 : 130.0); gap = 14.0; head = 22.0; foot = 58.0; body = lines * rows * tall
block = head + rows * tall + (rows - 1) * gap + foot
height = 34 + lines * block
# Lines with names at their ends have no other legend; the pale ones, which have none, do.
key_from = ends ? shown + 1 : 1; entries = named - key_from + 1; count = named; n = 0
if (entries > 0) { eval(fit_key) }
if (!sized && entries > 0) { key_lines = (entries + key_columns - 1) / key_columns; key_height = 18 * key_lines + 10; height = height + key_height }
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
apart(s) = shown > 1 ? 0.02 * (last - first) * (s - (shown + 1) / 2.0) / (shown - 1) : 0
do for [s=key_from:named] { text = names[s]; line_dash = dashes[s]; point = points[s]; colour = colours[s]; eval(key_add) }
do for [r=1:rows] {
    low = lowest[r]; high = highest[r]
    if (low > high) { low = scales[r] ? 1 : 0; high = scales[r] ? 10 : 1 }
    share = strstrt(axes[r], "%") > 0
    # An interval may reach where no share can be.
    if (share && high > 100) { high = 100 }
    if (share && low < 0) { low = 0 }
    margin = room_of(low, high)
    do for [p=1:panels] {
        eval(place_panel)
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
        # A title that is longer than its panel stands once below all of them.
        unset xlabel; long = 6.8 * strlen(parameter) > each + between
        if (r == rows && !long) { set xlabel parameter offset 0, or_sized(0, xlabel_shift) }
        if (r == rows && long && (p - 1) % columns == 0) { set label 4 parameter at screen (left + width - right) / 2 / width, screen (bottom - 42.0) / full center front tc rgb ink }
        unset label 3
        if (r == 1) { text = titles[p]; limit = sized ? int(each / 6.6) : 1000; set label 3 "".shortened(text, int(0.4 * limit)) at graph 0.5, screen (bottom + tall + 11.0) / full center front tc rgb ink }
        unset arrow 1
        if (limits[r] == limits[r]) { set arrow 1 from graph 0, first limits[r] to graph 1, first limits[r] nohead back dt 3 lw 1.2 lc rgb middle }
        unset key
        # From below, then from above, names keep 12 units apart; `order` lists the lines by their last value.
        if (ends && p % columns == 0 || ends && p == panels) {
            array order[series]; array level[series]; count = 0
            do for [s=1:shown] { if (end_y[place(r, p, s)] == end_y[place(r, p, s)] && (!scales[r] || end_y[place(r, p, s)] > 0)) {
                v = scales[r] ? log10(end_y[place(r, p, s)] / edge) / log10(roof / edge) : (end_y[place(r, p, s)] - edge) / (roof - edge)
                count = count + 1; i = count
                while (i > 1 && level[i > 1 ? i - 1 : 1] > tall * v) { level[i] = level[i - 1]; order[i] = order[i - 1]; i = i - 1 }
                level[i] = tall * v; order[i] = s } }
            do for [i=2:count] { level[i] = longer(level[i], level[i - 1] + 12) }
            if (count > 0 && level[count > 0 ? count : 1] > tall) { level[count] = tall; do for [k=2:count] { i = count - k + 1; level[i] = level[i] > level[i + 1] - 12 ? level[i + 1] - 12 : level[i] } }
            limit = 24; do for [i=1:count] { set label 300 + i "".shortened(names[order[i]], 12) at screen (across + each + 8) / width, screen (bottom + level[i]) / full left front offset 1.4, 0 font size(10.5) tc rgb sprintf("#%06X", colours[order[i]]) point pt points[order[i]] ps 0.7 * mark lc rgb sprintf("#%06X", colours[order[i]]) }
        }
        # The pale lines are the lowest, without intervals.
        plot for [s=series:1:-1] data using (colours[s] == pale ? here(s, column("x")) : NaN):(number("value")) smooth unique with lines lw 1.2 lc rgb colours[s] notitle, \
             for [s=1:shown] data using (here(s, column("x") + apart(s))):(number("value")):(inside(number("value"), end("low"))):(inside(number("value"), end("high"))) \
                 with yerrorbars pt -1 lw 1.2 lc rgb colours[s] notitle, \
             for [s=1:shown] for [side=0:1] data using (here(s, (side ? end("high") > roof : end("low") < edge && number("value") > edge) ? column("x") + apart(s) : NaN)): \
                 (number("value")):(0):((side ? roof : edge) - number("value")) with vectors filled size screen 7.0 / width, 20 lw 1.2 lc rgb colours[s] notitle, \
             for [s=1:shown] data using (here(s, column("x") + apart(s))):(number("value")) \
                 smooth unique with linespoints lw 1.6 dt dashes[s] pt points[s] ps 0.8 * mark lc rgb colours[s] notitle
        do for [s=1:series] { unset label 300 + s }
        unset label 4
        if (r == 1 && p == 1) { eval(once); eval(unlegend) }
    }
}
unset multiplot
set output
