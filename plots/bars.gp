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

width = 1200.0; left = 20.0 + 6.9 * longest; right = 24.0; between = 30.0
height = 34 + 26 + 24 + 20.0 * rows + 52
eval(begin)
base = floor + 52.0; ceiling = base + 20.0 * rows
each = (width - left - right - between * (panels - 1)) / panels
set yrange [rows + 0.5:0.5]
set border 1
set grid noytics xtics
set style fill solid 1.0 border lc rgb "white"
set bmargin at screen base / full
set tmargin at screen ceiling / full
unset key
here(k, v) = int(column("panel")) == p && int(column("part")) == k ? v : NaN
do for [p=1:panels] {
    set lmargin at screen (left + (p - 1) * (each + between)) / width
    set rmargin at screen (left + (p - 1) * (each + between) + each) / width
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if (p == 1) { eval(row_labels) }
    set title titles[p] font size(12) offset 0, -0.6
    set xlabel axes[p] offset 0, xlabel_shift
    taken = 12 + 7.0 * labelled[p]
    limit = ends[p] > 0 ? ends[p] : 1
    reach = limit * (taken < 0.6 * each ? each / (each - taken) : 2.5)
    set xrange [0:reach]
    set format x "%g"
    set xtics 0, fitting(limit, each * limit / reach, 5), limit * 1.0001
    if (p == 1) {
        x = left
        do for [k=1:parts] {
            y = top - 16.0
            set object k rectangle from screen x / width, y / full to screen (x + 14.0) / width, (y + 11.0) / full \
                fc rgb paints[k] fs solid 1.0 border lc rgb middle
            set label k + 10 part_names[k] at screen (x + 20.0) / width, (y + 5.5) / full left front font size(11) tc rgb ink
            x = x + 44 + 7.0 * strlen(part_names[k])
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
