# Which assumption flips which order: the first policy minus another one, a panel each, a row a setting: the
# difference with its interval, beside a line at zero.
#
# Columns: panel (1…), panel_title, axis, row (1…; drawn by their change), setting, base (the first setting's value),
# value, low, high, flip (1: the order is another than there, 2: by the means alone), subject, caption.
folder = ARG0[:strstrt(ARG0, "tornado.gp") - 1]
heading = "Which assumption flips the order"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array names[rows]
do for [p=1:panels] { titles[p] = "" }
do for [r=1:rows] { names[r] = "" }
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
end(name) = strlen(strcol(name)) > 0 ? column(name) : number("value")
longest = 4; low = 0; high = 0; axis = ""
reach(v) = v == v ? (low = v < low ? v : low, high = v > high ? v : high, 0) : 0
take(p, r) = (titles[p] = cell("panel_title"), axis = cell("axis"), names[r] = cell("setting"), \
    reach(end("low")), reach(end("high")), longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, 0)
stats data using (take(int(column("panel")), int(column("row")))) nooutput
# The first setting comes first, then the one that changes the most.
array changes[rows]; array places[rows]; array titled_row[rows]
do for [r=1:rows] { changes[r] = r == 1 ? 1e300 : 0 }
change(r, d) = (changes[r] = d == d && abs(d) > changes[r] ? abs(d) : changes[r], 0)
stats data using (change(int(column("row")), number("value") - number("base"))) nooutput
do for [r=1:rows] { places[r] = 1; do for [o=1:rows] { places[r] = places[r] + (changes[o] > changes[r] || (changes[o] == changes[r] && o < r)) }; titled_row[places[r]] = names[r] }
do for [r=1:rows] { names[r] = titled_row[r] }
at_row(n) = places[int(column("row"))]

eval(fit_rows)
width = wide(1200.0); left = 20.0 + name_width * longest; right = 20.0; between = 22.0; narrowest = high(170.0, 80.0, 110.0); squeeze = 0.7
columns = int((width - left - right + between) / (narrowest + between))
columns = columns < 1 ? 1 : columns > panels ? panels : columns
lines = (panels + columns - 1) / columns
columns = (panels + lines - 1) / lines
foot = 32; last_foot = canvas eq "column" ? 36 : 20; body = lines * row_height * rows
height = 34 + lines * (or_sized(40, 46) + row_height * rows + foot) + last_foot
block = or_sized(40, 46) + row_height * rows + foot; eval(begin)
row_height = row_height * stretch; block = or_sized(40, 46) + row_height * rows + foot
each = (width - left - right - between * (columns - 1)) / columns
room = 0.06 * (high > low ? high - low : 1)

set yrange [rows + 0.5:0.5]
set xrange [low - room:high + room]
set format x "%g"
set xtics nomirror autofreq step(high - low + 2 * room, each / 30 > 6 ? 6 : each / 30 < 4 ? 4 : int(each / 30))
set grid noytics xtics
unset key
set border 1
here(v) = int(column("panel")) == p ? v : NaN
sign(f) = f == 0 ? 7 : f == 1 ? 13 : 12
do for [p=1:panels] {
    eval(place_panel)
    base = floor + last_foot + foot + (lines - 1 - (p - 1) / columns) * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen (base + row_height * rows) / full
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { eval(row_labels) }
    unset arrow
    set arrow 1 from 0, graph 0 to 0, graph 1 nohead back lc rgb ink lw 1.2
    text = titles[p]; limit = int((each + between) / 7.0); eval(split)
    set title broken font size(12) offset 0, -0.6
    if (p > panels - columns) { text = axis; eval(x_title) } else { unset xlabel }
    flipped(f) = f == 0 ? 0x767676 : 0xD55E00
    plot data using (here(number("value"))):(at_row(0)):(end("low")):(end("high")):(flipped(column("flip"))) \
             with xerrorbars pt -1 lw 1.4 lc rgb variable, \
         data using (here(number("value"))):(at_row(0)):(column("flip") == 0 ? 0.9 * mark : 1.3 * mark):(sign(column("flip"))):(flipped(column("flip"))) \
             with points ps variable pt variable lc rgb variable
    eval(once); eval(unrow_labels)
}
unset multiplot
set output
