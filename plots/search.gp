# Paths of a decision by time and cost, from `esgsim search --out`: what cuts each, those found, the budget.
#
# Columns: those of spans.gp; a bar is a cell of the plane, whose row is named by its lower cost.
folder = ARG0[:strstrt(ARG0, "search.gp") - 1]
heading = "Paths of a decision"
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array costs[rows]; array parts[8]; array paints[8]; entries = 0
longest = 0; budget = NaN; least = 1e300; most = -1e300
known(t) = sum [i=1:entries] (parts[i] eq t ? 1 : 0)
add(t) = known(t) > 0 ? 0 : (entries = entries + 1, parts[entries] = t, paints[entries] = int(column("colour")), \
    longest = strlen(t) > longest ? strlen(t) : longest, 0)
take(r) = (costs[r] = real(cell("name")), int(column("shape")) == 3 ? (budget = column("from"), 0) : add(cell("part")), \
    least = column("from") < least ? column("from") : least, most = column("until") > most ? column("until") : most, 0)
stats data using (take(int(column("row")))) nooutput
# Rows are equally high on the logarithmic axis. The first and the last have paths; others may be missing.
cheapest = costs[rows]; growth = rows > 1 ? (costs[1] / cheapest) ** (1.0 / (rows - 1)) : 1.01
dearest = costs[1] * growth

entries = entries + (budget == budget ? 1 : 0)
if (budget == budget) { parts[entries] = sprintf("budget %g ms", budget); longest = strlen(parts[entries]) > longest ? strlen(parts[entries]) : longest }
width = wide(900.0); left = or_sized(76.0, 66.0); right = 24.0
tall = high(360.0, 200.0, 300.0); body = tall
entry_width = 34 + 6.5 * longest
key_columns = int((width - 14) / entry_width); key_columns = key_columns < 1 ? 1 : key_columns
key_lines = (entries + key_columns - 1) / key_columns
key_height = 18 * key_lines + 12
height = 34 + key_height + tall + or_sized(54, 50)
eval(begin)
tall = tall * stretch; each = width - left - right
set lmargin at screen left / width
set rmargin at screen (left + each) / width
set bmargin at screen (floor + 48.0) / full
set tmargin at screen (floor + 48.0 + tall) / full
set logscale xy 10
from = least; to = most; set xrange [from:to]; eval(log_ticks)
from = cheapest; to = dearest; set yrange [from:to]; eval(log_y_ticks)
set format x "%g"
set xlabel "time of the path (ms)" offset 0, xlabel_shift
text = "$ per 1,000 jobs"; eval(y_title)
do for [k=1:entries] {
    x = 14.0 + entry_width * ((k - 1) / key_lines); y = key_top - 12.0 - 18 * ((k - 1) % key_lines)
    if (budget == budget && k == entries) { set arrow 200 + k from screen x / width, y / full to screen (x + 14.0) / width, y / full nohead front lw 1.6 dt (6 * dash, 4 * dash) lc rgb ink } \
    else { set object k rectangle from screen x / width, (y - 5.5) / full to screen (x + 14.0) / width, (y + 5.5) / full fc rgb paints[k] fs solid 1.0 border lc rgb middle }
    set label 100 + k "".parts[k] at screen (x + 20.0) / width, y / full left front font size(11) tc rgb ink
}
unset key; unset grid
if (budget == budget) { set arrow 1 from budget, graph 0 to budget, graph 1 nohead front lw 1.6 dt (6 * dash, 4 * dash) lc rgb ink }
set style fill solid 1.0 noborder
low(r) = cheapest * growth ** (rows - r)
found(v) = cell("part") eq "found" ? v : NaN
plot data using (int(column("shape")) == 0 ? column("until") : NaN):(low(column("row"))):(column("from")):(column("until")):(low(column("row"))):(low(column("row") - 1)):(int(column("colour"))) \
         with boxxyerror lc rgb variable notitle, \
     data using (found(column("from"))):(low(column("row"))) with points pt 6 ps 1.4 * mark lw 1.2 lc rgb ink notitle
unset multiplot
set output
