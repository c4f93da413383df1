# Verdicts on conclusions: a row a change of one assumption, a column a conclusion; those alone that flip, or are
# flipped. results/flips.py makes its CSV.
#
# Columns: conclusion, change, column (of the conclusion, 0…), row (of the change, 0…: none), verdict (1: holds, 0:
# undecided, -1: fails), flips (1: decided the other way than without a change), subject, caption.
folder = ARG0[:strstrt(ARG0, "flips.gp") - 1]
heading = "Which assumption flips which conclusion"
load folder."common.gp"

stats data using "column" nooutput; all_columns = int(STATS_max) + 1
stats data using "row" nooutput; all_rows = int(STATS_max) + 1
array column_of[all_columns]; array row_of[all_rows]; array heads[all_columns]; array names[all_rows]
do for [c=1:all_columns] { column_of[c] = 0 }
do for [r=1:all_rows] { row_of[r] = r == 1 }
take(c, r) = (heads[c] = cell("conclusion"), names[r] = cell("change"), column("flips") > 0 ? (column_of[c] = 1, row_of[r] = 1) : 0, 0)
stats data using (take(int(column("column")) + 1, int(column("row")) + 1)) nooutput
panels = 0; rows = 0
do for [c=1:all_columns] { if (column_of[c]) { panels = panels + 1; column_of[c] = panels; heads[panels] = heads[c] } }
do for [r=1:all_rows] { if (row_of[r]) { rows = rows + 1; row_of[r] = rows; names[rows] = names[r] } }
longest = 4; do for [r=1:rows] { longest = longer(longest, strlen(names[r])) }

eval(fit_rows)
row_height = 24.0; width = wide(840.0); left = 20.0 + name_width * longest; right = 20.0; body = rows * row_height
height = 34 + 74 + body + 8; eval(begin)
row_height = row_height * stretch; each = (width - left - right) / panels
set lmargin at screen left / width
set rmargin at screen (width - right) / width
set bmargin at screen (floor + 8) / full
set tmargin at screen (floor + 8 + rows * row_height) / full
set xrange [0.5:panels + 0.5]; set yrange [rows + 0.5:0.5]
unset border; unset key; unset grid; unset xtics; unset ytics
eval(row_labels)
do for [c=1:panels] { text = heads[c]; limit = int(each / 7.4); eval(wrap)
    set label 3000 + c wrapped at first c, screen (floor + 8 + rows * row_height + 8 + 14 * wrapped_lines) / full center front tc rgb ink font size(11) }
at_column(v) = column_of[int(column("column")) + 1] > 0 && row_of[int(column("row")) + 1] > 0 ? v : NaN
word_of(v) = v > 0 ? "holds" : v < 0 ? "fails" : "undecided"
plot data using (at_column(column_of[int(column("column")) + 1])):(row_of[int(column("row")) + 1]):(0.49):(0.46): \
         (column("verdict") > 0 ? 0x9CC9E3 : column("verdict") < 0 ? 0xF2B48A : 0xE8E8E8) with boxxyerror fs solid 1.0 noborder fc rgb variable, \
     data using (at_column(column_of[int(column("column")) + 1])):(row_of[int(column("row")) + 1]): \
         (word_of(column("verdict")).(column("flips") > 0 ? ": flips" : "")) with labels font size(11) tc rgb ink
unset multiplot
set output
