# The greatest load that each policy sustains: a panel a setting, a row a policy, a mark for each other
# condition (such as the SLO). A line goes from what holds to what fails.
#
# Columns: panel (1…), panel_title, key (the axis), row (1…; drawn by what they sustain), contender, mark (1…), mark_title,
# value, low, high, ends (1: beyond what was run, -1: below it, 0: at value), colour, point, shape (of the
# mark), subject, caption.
folder = ARG0[:strstrt(ARG0, "sustained.gp") - 1]
heading = "What each policy sustains"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
stats data using "mark" nooutput; marks = int(STATS_max)
array titles[panels]; array names[rows]; array conditions[marks]; array shapes[marks]
do for [p=1:panels] { titles[p] = "" }
do for [r=1:rows] { names[r] = "" }
do for [m=1:marks] { conditions[m] = ""; shapes[m] = 7 }
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
longest = 4; widest = 4; least = 1e300; most = -1e300; axis = ""
reach(v) = v == v ? (least = v < least ? v : least, most = v > most ? v : most, 0) : 0
take(p, r, m) = (titles[p] = cell("panel_title"), axis = cell("key"), names[r] = cell("contender"), \
    conditions[m] = cell("mark_title"), shapes[m] = int(column("shape")), reach(number("value")), reach(number("low")), reach(number("high")), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    widest = strlen(conditions[m]) > widest ? strlen(conditions[m]) : widest, 0)
stats data using (take(int(column("panel")), int(column("row")), int(column("mark")))) nooutput
# The row that sustains the most comes first.
array sums[rows]; array places[rows]; array titled_row[rows]
do for [r=1:rows] { sums[r] = 0 }
add(r, v, e) = (sums[r] = sums[r] + (e < 0 ? 0 : v), 0)
stats data using (add(int(column("row")), column("value"), column("ends"))) nooutput
do for [r=1:rows] { places[r] = 1; do for [o=1:rows] { places[r] = places[r] + (sums[o] > sums[r] || (sums[o] == sums[r] && o < r)) }; titled_row[places[r]] = names[r] }
do for [r=1:rows] { names[r] = titled_row[r] }
at_row(m) = places[int(column("row"))] + place(m)

eval(fit_rows)
# A row has room for its marks above each other.
row_height = row_height < 6.0 + 6.0 * marks ? 6.0 + 6.0 * marks : row_height
width = wide(1200.0); left = 20.0 + name_width * longest; right = 20.0; between = 24.0; narrowest = high(220.0, 80.0, 130.0); squeeze = 0.6
columns = int((width - left - right + between) / (narrowest + between))
columns = columns < 1 ? 1 : columns > panels ? panels : columns
lines = (panels + columns - 1) / columns
columns = (panels + lines - 1) / lines
key_columns = int((width - 16) / (34 + 6.5 * widest)); key_columns = key_columns < 1 ? 1 : key_columns
key_height = marks > 1 ? 18 * ((marks + key_columns - 1) / key_columns) + 8 : 0
# All panels have one axis: its title stands below the last line.
foot = 32; last_foot = canvas eq "column" ? 36 : 20; body = lines * row_height * rows
height = 34 + key_height + lines * (or_sized(34, 46) + row_height * rows + foot) + last_foot
block = or_sized(34, 46) + row_height * rows + foot; eval(begin)
row_height = row_height * stretch; block = or_sized(34, 46) + row_height * rows + foot
each = (width - left - right - between * (columns - 1)) / columns
low = least > 0 && most >= 2 * least ? 0 : least - 0.1 * (most > least ? most - least : abs(most))
high = most + (canvas eq "column" ? 0.2 : 0.1) * (most - low > 0 ? most - low : 1)

set yrange [rows + 0.5:0.5]
set xrange [low:high]
set format x "%g"
set xtics nomirror autofreq step(high - low, each / 45 > 6 ? 6 : each / 45 < 3 ? 3 : int(each / 45))
set grid noytics xtics
unset key
set border 1
bar(name) = number(name) == number(name) ? number(name) : number("value")
# An arrow stays inside the axis.
away(ends, v) = ends > 0 ? shift : 0.8 * (v - low) < shift ? -0.8 * (v - low) : -shift
place(m) = (m - (marks + 1) / 2.0) * 0.72 / marks
here(v) = int(column("panel")) == p && int(column("mark")) == m ? v : NaN
if (marks > 1) { do for [m=1:marks] {
    n = m; text = conditions[m]; line_dash = 0; point = shapes[m]; colour = 0x222222
    x = or_sized(left, 14) + (34 + 6.5 * widest) * ((m - 1) % key_columns); y = key_top - 14.0 - 18 * ((m - 1) / key_columns); eval(legend)
} }
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
    do for [r=1:rows - 1] { set arrow 500 + r from graph 0, first r + 0.5 to graph 1, first r + 0.5 nohead back lc rgb faint lw 0.7 }
    text = titles[p]; limit = int((each + between) / 7.0); eval(split)
    set title broken font size(12) offset 0, -0.6
    if (p > panels - columns) { text = axis; eval(x_title) } else { unset xlabel }
    shift = (canvas eq "column" ? 0.13 : 0.07) * (high - low)
    plot for [m=1:marks] data using (here(number("value"))):(at_row(m)):(bar("low")):(bar("high")):(column("colour")) \
             with xerrorbars pt -1 lw 1.2 lc rgb variable, \
         for [m=1:marks] data using (column("ends") != 0 ? here(number("value")) : NaN):(at_row(m)):(away(column("ends"), column("value"))):(0):(column("colour")) \
             with vectors filled head size screen 5.0 / width, 25 lw 1.6 lc rgb variable, \
         for [m=1:marks] data using (here(number("value"))):(at_row(m)):(column("ends") < 0 ? 6 : shapes[m]):(column("colour")) \
             with points pt variable ps 0.8 * mark lc rgb variable
    eval(once); eval(unrow_labels)
    if (p == 1) { n = marks; eval(unlegend) }
}
unset multiplot
set output
