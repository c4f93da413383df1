# Rows of spans over an axis, with arrows between rows and lines across. Loaded by the scripts of figures
# that look so; esgsim prints the same charts with characters.
#
# Columns: row (1… from the top), name, shape (0: bar, 1: thin, what was planned; 2: arrow from row `other` at
# `from` to this row at `until`; 3: line across at `from`), other, from, until, part (what it shows), colour,
# text (beside it), axis, subject, caption.
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array names[rows]; array parts[40]; array paints[40]; array shapes[40]; entries = 0
do for [r=1:rows] { names[r] = "" }
longest = 0; least = 1e300; most = -1e300; axis = ""
known(t) = sum [i=1:entries] (parts[i] eq t ? 1 : 0)
add(t, s) = s == 2 || known(t) > 0 || entries == 40 ? 0 : (entries = entries + 1, parts[entries] = t, shapes[entries] = s, \
    paints[entries] = int(column("colour")), longest = strlen(t) > longest ? strlen(t) : longest, 0)
take(r) = (names[r] = cell("name"), axis = cell("axis"), add(cell("part"), int(column("shape"))), \
    least = column("from") < least ? column("from") : least, most = column("from") > most ? column("from") : most, \
    most = column("until") > most ? column("until") : most, 0)
stats data using (take(int(column("row")))) nooutput
if (most <= least) { most = least + 1 }

longest_part = longest; longest = 4
do for [r=1:rows] { longest = longer(longest, strlen(names[r])) }
count = rows; limit = or_sized(40, canvas eq "column" ? 18 : 34)
if (longest > limit) { eval(shorten) }
width = wide(900.0); left = 20.0 + name_width * longest; right = 24.0
row_height = or_sized(30.0, 26.0); body = rows * row_height
# The legend is above the rows at every size.
part_limit = canvas eq "column" ? 48 : 60
entry_width = 34 + 6.5 * (longest_part < part_limit ? longest_part : part_limit)
key_columns = int((width - 14) / entry_width); key_columns = key_columns < 1 ? 1 : key_columns
key_lines = (entries + key_columns - 1) / key_columns; key_columns = (entries + key_lines - 1) / key_lines
key_height = 18 * key_lines + 12
height = 34 + key_height + rows * row_height + or_sized(54, 50)
divide = "rows"; eval(begin)
row_height = row_height * stretch
each = width - left - right
set lmargin at screen left / width
set rmargin at screen (left + each) / width
set bmargin at screen (floor + 48.0) / full
set tmargin at screen (floor + 48.0 + rows * row_height) / full
set border 1; set grid noytics xtics
set yrange [rows + 0.5:0.5]; set xrange [least:most + 0.004 * (most - least)]
ticks = each / 70 < 4 ? 4 : each / 70 > 8 ? 8 : int(each / 70)
tick = step(most - least, ticks); if (exists("whole")) { tick = ceil(tick) }
set xtics tick
set ytics 1, 1, rows scale 0 format ""
set format x "%g"
set xlabel axis offset 0, xlabel_shift
eval(row_labels)
do for [k=1:entries] {
    x = 14.0 + entry_width * ((k - 1) / key_lines); y = key_top - 12.0 - 18 * ((k - 1) % key_lines)
    tip = shapes[k] == 0 ? 5.5 : 2.0
    if (shapes[k] == 3) { set arrow 200 + k from screen x / width, y / full to screen (x + 14.0) / width, y / full nohead front lw 1.6 dt 2 lc rgb paints[k] } \
    else { set object k rectangle from screen x / width, (y - tip) / full to screen (x + 14.0) / width, (y + tip) / full fc rgb paints[k] fs solid 1.0 border lc rgb middle }
    limit = part_limit; set label 100 + k "".shortened(parts[k], limit / 2) at screen (x + 20.0) / width, y / full left front font size(11) tc rgb ink
}
unset key
set style fill solid 1.0 border lc rgb "white"
is(s, v) = int(column("shape")) == s ? v : NaN
shade(c) = int(column("colour"))
row(n) = column("row")
# A text is right of its bar where it has room, else left of it, else on it.
text_width(t) = (6.2 * strlen(t) + 8) * (most - least) / each
side(t) = strlen(t) < 2 ? 0 : column("until") + text_width(t) < most ? 1 : column("from") - text_width(t) > least ? 2 : 3
beside(s, v) = side(cell("text")) == s ? is(0, v) : NaN
set style arrow 1 head filled size screen 7.0 / width, 20 front lw 1.0 lc rgb middle
plot data using (is(0, column("until"))):(row(0)):(column("from")):(column("until")):(row(0) - 0.3):(row(0) + 0.18):(shade(0)) \
         with boxxyerror lc rgb variable notitle, \
     data using (is(1, column("until"))):(row(0)):(column("from")):(column("until")):(row(0) + 0.24):(row(0) + 0.36):(shade(0)) \
         with boxxyerror lc rgb variable notitle, \
     data using (is(2, column("from"))):(column("other") + 0.18):(column("until") - column("from")):(row(0) - 0.48 - column("other")) \
         with vectors arrowstyle 1 notitle, \
     data using (is(3, column("from"))):(0.5):(0):(rows) with vectors nohead lw 1.6 dt (6 * dash, 4 * dash) lc rgb ink notitle, \
     data using (beside(1, column("until"))):(row(0) - 0.06):(cell("text")) \
         with labels left offset 0.6, 0 font size(10.5) tc rgb ink notitle, \
     data using (beside(2, column("from"))):(row(0) - 0.06):(cell("text")) \
         with labels right offset -0.6, 0 font size(10.5) tc rgb ink notitle, \
     data using (beside(3, (column("from") + column("until")) / 2)):(row(0) - 0.06):(cell("text")) \
         with labels center font size(10.5) tc rgb "white" notitle
unset multiplot
set output
