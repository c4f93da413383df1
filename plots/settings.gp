# Every contender in every setting: rows are settings, within each a mark a contender with its 95 %
# interval; panels are hit rate, cost and tail latency.
#
# Columns: panel (1…), panel_title, logarithmic (1: the panel's axis is), row (1… from the top), setting,
# series (1…), contender, value, low, high, colour, point, subject, caption.
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
    settings[r] = cell("setting"), names[s] = called("contender"), \
    colours[s] = int(column("colour")), points[s] = int(column("point")), \
    longest = strlen(names[s]) > longest ? strlen(names[s]) : longest, 0)
stats data using (take(int(column("panel")), int(column("row")), int(column("series")))) nooutput
# The pale ones, which are the last, have one lane and one name.
named = series; while (named > 1 && colours[named] == pale && colours[named - 1] == pale) { named = named - 1 }
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
given(name) = strlen(strcol(name)) > 0 ? column(name) : number("value")
end(name) = strstrt(titles[int(column("panel"))], "%") ? given(name) : end_of(name, number("value"), given("low"), given("high"))
reach(p, l, h) = (lowest[p] = l < lowest[p] ? l : lowest[p], highest[p] = h > highest[p] ? h : highest[p], 0)
span(p, v, l, h) = v == v ? (smallest[p] = v < smallest[p] ? v : smallest[p], scales[p] ? (v > 0 ? reach(p, near(v, l), near(v, h)) : 0) : reach(p, l, h)) : 0
stats data using (span(int(column("panel")), number("value"), end("low"), lower(end("high"), given("high")))) nooutput
eval(say_logged)

# Settings' names stand left of the rows, contenders' in the legend.
entries = named; between = 26.0; narrowest = 130.0
width = wide(1300.0); height = 0; right = or_sized(50 + 7.0 * longest, 24)
count = named; eval(fit_key)
array contenders[named]; do for [s=1:named] { contenders[s] = names[s] }
array names[rows]; do for [r=1:rows] { names[r] = settings[r] }
longest = 0; do for [r=1:rows] { longest = longer(longest, strlen(names[r])) }
row_height = or_sized(9.0 * named + 12, (named > 8 ? 7.0 : 8.0) * named + 12)
row_height = row_height < 25 ? 25 : row_height
# A setting's name has as many lines as its row has room for, three at most.
array lines_of[rows]; folds = !sized || row_height < 40 ? 1 : row_height < 56 ? 2 : 3
label_limit = canvas ne "column" && folds > 1 ? 28 : label_limit; limit = folds * label_limit - 4 * (folds - 1); count = rows; squeeze = 0.85
if (sized) { eval(shorten); longest = longest > label_limit ? label_limit : longest }
do for [r=1:rows] { lines_of[r] = 1; if (sized) { text = names[r]; limit = label_limit; eval(wrap); names[r] = wrapped; lines_of[r] = wrapped_lines } }
left = 24.0 + name_width * longest
eval(fit_panels)
tall = or_sized(rows * row_height < 23 * named + 10 - 60 ? 23 * named - 50.0 : rows * row_height, rows * row_height); body = lines * tall
# A long title of an axis takes two lines.
foot = 52.0; do for [p=1:panels] { if (sized && strlen(titles[p]) > int(((width - left - right + between) / columns) / 6.8)) { foot = 64.0 } }
block = tall + foot + or_sized(30, 12); height = 34 + lines * block + key_height
eval(begin)
tall = tall * stretch; block = tall + foot + 12
each = (width - left - right - between * (columns - 1)) / columns
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
# An interval that goes on beyond the frame has an arrow there.
inside(v, e) = e < from || e > to ? v : e
apart(s) = ((s < named ? s : named) - (named + 1) / 2.0) / (named + 1.3)
shown = colours[named] == pale ? named - 1 : named
here(s, v) = int(column("panel")) == p && int(column("series")) == s ? v : NaN
do for [p=1:panels] {
    eval(place_panel)
    base = floor + foot + (lines - 1 - (p - 1) / columns) * block; ceiling = base + tall
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen ceiling / full
    unset ytics; unset key; unset arrow
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { do for [r=1:rows] { set label 1000 + r names[r] at graph 0, first r right offset -0.8, 0.5 * (lines_of[r] - 1) front tc rgb ink } }
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
        most_ticks = each > 200 ? 5 : 3; eval(x_ticks)
    }
    if (sized && p == 1) { do for [s=1:named] { text = contenders[s]; line_dash = 0; point = points[s]; colour = colours[s]; eval(key_add) } }
    if (!sized && p == panels) {
        set key at screen 1 - (right - 14.0) / width, screen (ceiling + 6.0) / full left top Left reverse samplen 1 spacing key_spacing maxrows named
    }
    plot for [s=1:named] NaN with points pt points[s] ps 0.9 * mark lc rgb colours[s] title contenders[s], \
         for [s=1:shown] data using (here(s, number("value"))):(column("row") + apart(s)):(inside(number("value"), end("low"))):(inside(number("value"), end("high"))) \
             with xerrorbars pt -1 lw 1.3 lc rgb colours[s] notitle, \
         for [s=1:shown] for [side=0:1] data using (here(s, (side ? end("high") > to : end("low") < from && number("value") > from) ? number("value") : NaN)):(column("row") + apart(s)): \
             ((side ? to : from) - number("value")):(0) with vectors filled size screen 7.0 / width, 20 lw 1.3 lc rgb colours[s] notitle, \
         for [s=1:series] data using (here(s, number("value"))):(column("row") + apart(s)) \
             with points pt points[s] ps 0.9 * mark lc rgb colours[s] notitle
    eval(once); eval(unrow_labels); eval(unlegend)
}
unset multiplot
set output
