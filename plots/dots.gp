# Panels of dots side by side, a row a contender: value and 95 % interval. Loaded by the scripts of
# figures that look so.
#
# Columns: panel (1…), panel_title, axis, row (1… from the top), contender, value, low, high, bound,
# colour, point, subject, caption. A value that is not there leaves its row of that panel empty.
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array axes[panels]; array names[rows]
array lowest[panels]; array highest[panels]; array bounds[panels]; array smallest[panels]
do for [p=1:panels] { smallest[p] = 1e300; lowest[p] = 1e300; highest[p] = -1e300; bounds[p] = NaN; titles[p] = ""; axes[p] = "" }
do for [r=1:rows] { names[r] = "" }
# Reads a number that may be left out.
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
given(name) = strlen(strcol(name)) > 0 ? column(name) : number("value")
end(name) = strstrt(axes[int(column("panel"))], "%") ? given(name) : end_of(name, number("value"), given("low"), given("high"))
longest = 0
take(p, r) = (titles[p] = cell("panel_title"), axes[p] = cell("axis"), names[r] = called("contender"), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, 0)
stats data using (take(int(column("panel")), int(column("row")))) nooutput
by_nines(p) = titles[p][:8] eq "by nines"
nearly = 1
stats data using (by_nines(int(column("panel"))) && number("value") < 100 ? (nearly = longer(nearly, -log10(1 - number("value") / 100.0)), 0) : 0) nooutput
if (!exists("use_bound")) { use_bound = 0 }
if (!exists("logarithmic")) { logarithmic = 0 }
reach(p, low, high) = (lowest[p] = low < lowest[p] ? low : lowest[p], highest[p] = high > highest[p] ? high : highest[p], 0)
span(p, v, l, h) = (v == v) ? (smallest[p] = v < smallest[p] ? v : smallest[p], logarithmic && v <= 0 ? 0 : reach(p, logarithmic ? v : l, h)) : 0
stats data using (span(int(column("panel")), number("value"), end("low"), lower(end("high"), given("high")))) nooutput
eval(say_logged)
mark(p, b) = (b == b) ? (bounds[p] = b, use_bound ? reach(p, b, b) : 0) : 0
stats data using (mark(int(column("panel")), number("bound"))) nooutput

# Panels too many for one line go on in another, as many in each.
eval(fit_rows)
width = wide(1200.0); left = 20.0 + name_width * longest; right = 24.0; between = 24.0; narrowest = high(150.0, 96.0, rows > 10 ? 100.0 : 130.0)
if (sized) { eval(fit_panels) } else { columns = int((width - left - right + between) / (narrowest + between)); columns = columns < 1 ? 1 : columns > panels ? panels : columns; \
    lines = (panels + columns - 1) / columns; columns = (panels + lines - 1) / lines }
foot = 52
# A long title of an axis takes two lines.
each = (width - left - right - between * (columns - 1)) / columns
do for [p=1:panels] { if (sized && strlen(axes[p]) > int((each + between) / 6.8)) { foot = 70 } }
block = or_sized(40, 46) + row_height * rows + foot; body = lines * row_height * rows
height = 34 + lines * block
eval(begin)
row_height = row_height * stretch; block = or_sized(40, 46) + row_height * rows + foot
each = (width - left - right - between * (columns - 1)) / columns
most_ticks = int(each / 50); most_ticks = most_ticks < 3 ? 3 : most_ticks > 4 ? 4 : most_ticks

set yrange [rows + 0.5:0.5]
set grid noxtics ytics
set grid xtics
unset key
set border 1
do for [p=1:panels] {
    eval(place_panel)
    base = floor + foot + (lines - 1 - (p - 1) / columns) * block; ceiling = base + row_height * rows
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen ceiling / full
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { eval(row_labels) }
    text = titles[p]; limit = int(each / 7.0); eval(split)
    set title broken font size(12) offset 0, -0.6
    text = axes[p]; eval(x_title)
    unset logscale x
    # A rate above 90 % by nines: 90 stands at 1, 99 at 2, 99.9 at 3, 100 at the right edge.
    nines = by_nines(p)
    if (lowest[p] > highest[p]) { lowest[p] = logarithmic ? 1 : 0; highest[p] = logarithmic ? 10 : 1 }
    if (logarithmic) {
        set logscale x 10
        low = lowest[p] / 1.6; high = highest[p] * 1.6
        set xrange [low:high]
        from = low; to = high; eval(log_ticks)
        nothing = low
    } else {
        room = room_of(lowest[p], highest[p])
        low = exists("least") ? least : lowest[p] - room
        high = exists("most") ? most : highest[p] + room
        # What is never below 0 has no axis there, however wide its interval.
        low = smallest[p] >= 0 && low < 0 && !exists("least") ? -0.03 * high : low
        set xrange [low:high]
        from = low; to = high; eval(x_ticks)
        nothing = 0
    }
    if (nines) {
        low = 1; high = 3.4
        high = nearly + 0.4 > high ? nearly + 0.4 : high
        set xrange [low:high]; eval(no_xtics)
        do for [d=1:int(high)] { set xtics add (sprintf("%g", 100 - 10.0 ** (2 - d)) d) }
    }
    on_axis(v) = !nines ? v : v >= 100 || -log10(1 - v / 100.0) > high ? high : -log10(1 - v / 100.0)
    here(v) = int(column("panel")) == p ? v : NaN
    # Zero has no place on a logarithmic axis: it is drawn hollow on the left edge.
    place(v) = logarithmic && v <= 0 ? nothing : on_axis(v)
    unset arrow
    if (use_bound && bounds[p] == bounds[p]) {
        set arrow 1 from on_axis(bounds[p]), graph 0 to on_axis(bounds[p]), graph 1 nohead lc rgb ink dt (6 * dash, 4 * dash) lw 1.2
    }
    # An interval that goes on beyond the frame has an arrow there.
    inside(v, e) = on_axis(e) < low || on_axis(e) > high ? place(v) : on_axis(e)
    # An arrow that is not wanted begins and ends beyond the frame: without a point gnuplot warns.
    arrow(v) = int(column("panel")) == p && v == v && column("colour") != pale ? v : logarithmic ? 10 * high : 3 * high - 2 * low
    plot data using (column("colour") == pale ? NaN : here(place(number("value")))):(column("row")):(inside(number("value"), end("low"))):(inside(number("value"), end("high"))):(column("colour")) \
             with xerrorbars pt -1 lw 1.6 lc rgb variable, \
         for [side=0:1] data using (arrow((side ? on_axis(end("high")) > high : on_axis(end("low")) < low && place(number("value")) > low) ? place(number("value")) : NaN)):(column("row")): \
             (int(column("panel")) == p ? (side ? high : low) - place(number("value")) : 0):(0):(column("colour")) with vectors filled size screen 8.0 / width, 20 lw 1.6 lc rgb variable, \
         data using (arrow(nines && place(number("value")) < low ? low + 0.12 * (high - low) : NaN)):(column("row")):(-0.12 * (high - low)):(0):(column("colour")) \
             with vectors filled size screen 8.0 / width, 20 lw 1.6 lc rgb variable, \
         data using (here(place(number("value")))):(column("row")):(column("point")):(column("colour")) \
             with points pt variable ps 0.9 * mark lc rgb variable
    eval(once); eval(unrow_labels)
}
unset multiplot
set output
