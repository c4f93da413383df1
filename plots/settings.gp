# Every contender in every setting: rows are settings, within each a mark a contender with its 95 %
# interval; panels are hit rate, cost and tail latency.
#
# Columns: panel (1…), panel_title, logarithmic (1: the panel's axis is), row (1… from the top), setting,
# series (1…), contender, value, half_width, colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "settings.gp") - 1]
heading = "Across settings"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
stats data using "series" nooutput; series = int(STATS_max)
array titles[panels]; array scales[panels]; array lowest[panels]; array highest[panels]; array smallest[panels]
array settings[rows]; array names[series]; array colours[series]; array points[series]
do for [p=1:panels] { titles[p] = ""; scales[p] = 0; smallest[p] = 1e300; lowest[p] = 1e300; highest[p] = -1e300 }
do for [r=1:rows] { settings[r] = "" }
do for [s=1:series] { names[s] = ""; colours[s] = 0; points[s] = 0 }
longest = 8
take(p, r, s) = (titles[p] = cell("panel_title"), scales[p] = int(column("logarithmic")), \
    settings[r] = cell("setting"), names[s] = cell("contender"), \
    colours[s] = int(column("colour")), points[s] = int(column("point")), \
    longest = strlen(names[s]) > longest ? strlen(names[s]) : longest, 0)
stats data using (take(int(column("panel")), int(column("row")), int(column("series")))) nooutput
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
half(name) = strlen(strcol(name)) > 0 ? column(name) : 0
reach(p, l, h) = (lowest[p] = l < lowest[p] ? l : lowest[p], highest[p] = h > highest[p] ? h : highest[p], 0)
span(p, v, h) = v == v ? (smallest[p] = v < smallest[p] ? v : smallest[p], scales[p] && v - h <= 0 ? (v > 0 ? reach(p, v, v + h) : 0) : reach(p, v - h, v + h)) : 0
stats data using (span(int(column("panel")), number("value"), half("half_width"))) nooutput

# Settings' names stand left of the rows, in lines of up to 34 characters.
array lines_of[rows]; label_lines = 1; label_width = 4
do for [r=1:rows] {
    text = settings[r]; limit = label_limit; eval(wrap); settings[r] = wrapped; lines_of[r] = wrapped_lines
    label_lines = wrapped_lines > label_lines ? wrapped_lines : label_lines
    do for [w in text] { label_width = strlen(w) > label_width ? strlen(w) : label_width }
    label_width = strlen(text) > label_width ? (strlen(text) > label_limit ? (label_width > label_limit ? label_width : label_limit) : strlen(text)) : label_width
    if (sized && label_width > label_limit) { label_width = label_limit }
}
row_height = 9.0 * series + 12; squeeze = 0.85
row_height = row_height < 17.0 * label_lines + 8 ? 17.0 * label_lines + 8 : row_height
width = wide(1300.0); left = 24.0 + 6.9 * label_width; right = or_sized(50 + 7.0 * longest, 24); between = 26.0; narrowest = 130.0
eval(fit_panels); entries = series
tall = or_sized(rows * row_height < 23 * series + 10 - 60 ? 23 * series - 50.0 : rows * row_height, rows * (8.0 * series + 12))
tall = tall < 16.0 * rows * label_lines ? 16.0 * rows * label_lines : tall; body = lines * tall
height = 34 + lines * (tall + 52 + or_sized(30, 12))
eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + 64
each = (width - left - right - between * (columns - 1)) / columns
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
apart(s) = (s - (series + 1) / 2.0) / (series + 1.3)
here(s, v) = int(column("panel")) == p && int(column("series")) == s ? v : NaN
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + between)
    base = floor + 52.0 + (lines - 1 - (p - 1) / columns) * block; ceiling = base + tall
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen ceiling / full
    unset ytics; unset key; unset arrow
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { do for [r=1:rows] { set label 1000 + r settings[r] at graph 0, first r right offset -0.8, 0.5 * (lines_of[r] - 1) front tc rgb ink } }
    do for [r=1:rows - 1] { set arrow r from graph 0, first r + 0.5 to graph 1, first r + 0.5 nohead back lc rgb middle lw 0.7 }
    unset title
    text = titles[p]; eval(x_title)
    unset logscale x
    if (lowest[p] > highest[p]) { lowest[p] = scales[p] ? 1 : 0; highest[p] = scales[p] ? 10 : 1 }
    if (scales[p]) {
        set logscale x 10
        from = lowest[p] / 1.3; to = highest[p] * 1.3
        set xrange [from:to]; eval(log_ticks)
    } else {
        room = 0.05 * (highest[p] - lowest[p])
        room = room > 0 ? room : highest[p] != 0 ? 0.1 * abs(highest[p]) : 1
        from = lowest[p] - room; to = highest[p] + room
        from = smallest[p] >= 0 && from < 0 ? -0.03 * to : from
        to = strstrt(titles[p], "%") > 0 && to > 103 ? 103 : to
        set xrange [from:to]
        set format x "%g"
        set xtics nomirror autofreq step(to - from, 5)
    }
    if (sized && p == 1) { do for [s=1:series] { text = names[s]; line_dash = 0; point = points[s]; colour = colours[s]; eval(key_add) } }
    if (!sized && p == panels) {
        set key at screen 1 - (right - 14.0) / width, screen (ceiling + 6.0) / full left top Left reverse samplen 1 spacing key_spacing maxrows series
    }
    plot for [s=1:series] NaN with points pt points[s] ps 0.9 * mark lc rgb colours[s] title names[s], \
         for [s=1:series] data using (here(s, number("value"))):(column("row") + apart(s)):(half("half_width")) \
             with xerrorbars pt -1 lw 1.3 lc rgb colours[s] notitle, \
         for [s=1:series] data using (here(s, number("value"))):(column("row") + apart(s)) \
             with points pt points[s] ps 0.9 * mark lc rgb colours[s] notitle
    eval(once); eval(unrow_labels); eval(unlegend)
}
unset multiplot
set output
