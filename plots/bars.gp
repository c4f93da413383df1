# Panels of stacked bars side by side, a row a contender. Loaded by the scripts of figures that look so.
#
# Columns: panel (1…), panel_title, axis, row (1… from the top), contender, part (1…), part_title,
# from, to, colour, label (right of the bar's last part; a blank: none), subject, caption.
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
stats data using "part" nooutput; parts = int(STATS_max)
array titles[panels]; array axes[panels]; array names[rows]; array ends[panels]; array labelled[panels]; array used[panels]
array part_names[parts]; array paints[parts]
do for [p=1:panels] { titles[p] = ""; axes[p] = ""; ends[p] = 0; labelled[p] = 0; used[p] = 0 }
do for [r=1:rows] { names[r] = "" }
do for [k=1:parts] { part_names[k] = ""; paints[k] = 0 }
longest = 0
take(p, r, k) = (titles[p] = cell("panel_title"), axes[p] = cell("axis"), names[r] = cell("contender"), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    used[p] = k > used[p] ? k : used[p], part_names[k] = cell("part_title"), paints[k] = int(column("colour")), \
    ends[p] = column("to") > ends[p] ? column("to") : ends[p], \
    labelled[p] = strlen(cell("label")) > labelled[p] ? strlen(cell("label")) : labelled[p], 0)
stats data using (take(int(column("panel")), int(column("row")), int(column("part")))) nooutput

eval(fit_rows)
width = wide(1200.0); left = 20.0 + name_width * longest; right = 24.0; between = 30.0; narrowest = 180.0
eval(fit_panels)
# The legend goes on in another line where the canvas ends.
array part_x[parts]; array part_line[parts]
x = or_sized(left, 14.0); legend_line = 0
do for [k=1:parts] {
    if (sized && x > 14 && x + 28 + 6.6 * strlen(part_names[k]) > width) { x = 14.0; legend_line = legend_line + 1 }
    part_x[k] = x; part_line[k] = legend_line
    x = x + or_sized(44 + 7.0 * strlen(part_names[k]), 34 + 6.6 * strlen(part_names[k]))
}
key_height = 17 * legend_line
body = lines * row_height * rows
block = 24 + row_height * rows + or_sized(52, 56)
height = 34 + 26 + key_height + lines * block
eval(begin)
row_height = row_height * stretch; block = 24 + row_height * rows + or_sized(52, 56)
each = (width - left - right - between * (columns - 1)) / columns
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
set style fill solid 1.0 border lc rgb "white"
unset key
here(k, v) = int(column("panel")) == p && int(column("part")) == k ? v : NaN
do for [p=1:panels] {
    eval(place_panel)
    base = floor + 52.0 + (lines - 1 - (p - 1) / columns) * block; ceiling = base + row_height * rows
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen ceiling / full
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if ((p - 1) % columns == 0) { eval(row_labels) }
    set title titles[p] font size(12) offset 0, -0.6
    set xlabel axes[p] offset 0, xlabel_shift
    taken = 12 + 7.0 * labelled[p]
    limit = ends[p] > 0 ? ends[p] : 1
    reach = limit * (taken < 0.6 * each ? each / (each - taken) : 2.5)
    set xrange [0:reach]
    set format x "%g"
    set xtics 0, fitting(limit, each * limit / reach, 5), limit * 1.0001
    if (p == 1) {
        do for [k=1:parts] {
            x = part_x[k]; y = key_top - 16.0 - 17 * part_line[k]
            set object k rectangle from screen x / width, y / full to screen (x + 14.0) / width, (y + 11.0) / full \
                fc rgb paints[k] fs solid 1.0 border lc rgb middle
            set label k + 10 part_names[k] at screen (x + 20.0) / width, (y + 5.5) / full left front font size(11) tc rgb ink
        }
    }
    plot for [k=1:used[p]] data using (here(k, column("to"))):(column("row")):(column("from")):(column("to")):(column("row") - 0.36):(column("row") + 0.36) \
             with boxxyerror lc rgb paints[k] notitle, \
         data using (int(column("panel")) == p ? column("to") : NaN):(column("row")):(cell("label")) \
             with labels left offset 0.4, 0 font size(10.5) tc rgb ink notitle
    eval(once); eval(unrow_labels)
    if (p == 1) { do for [k=1:parts] { unset object k; unset label k + 10 } }
}
unset multiplot
set output
