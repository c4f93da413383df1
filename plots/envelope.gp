# Errors against real runs: a column of panels a quantity, a line of panels what it is drawn over.
#
# Columns: quantity (1…), quantity_title, over (1…), over_title, series (1…), series_title, x, error,
# colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "envelope.gp") - 1]
heading = "Errors of the simulator against real systems"
load folder."common.gp"

stats data using "quantity" nooutput; across = int(STATS_max)
stats data using "over" nooutput; down = int(STATS_max)
stats data using "series" nooutput; rows = int(STATS_max)
array titles[across]; array overs[down]; array ends[down]; array filled[across * down]
array names[rows]; array colours[rows]; array points[rows]
do for [i=1:across * down] { filled[i] = 0 }
do for [i=1:down] { ends[i] = 0 }
place(q, o) = (q - 1) * down + o
take(q, o, r) = (titles[q] = cell("quantity_title"), overs[o] = cell("over_title"), names[r] = cell("series_title"), \
    colours[r] = int(column("colour")), points[r] = int(column("point")), filled[place(q, o)] = 1, \
    ends[o] = ends[o] >= column("x") ? ends[o] : column("x"), 0)
stats data using (take(int(column("quantity")), int(column("over")), int(column("series")))) nooutput

width = 1200.0; left = 72.0; between = 78.0; tall = 190.0
body = down * tall; height = 48 + down * (tall + 66)
eval(begin)
tall = tall * stretch; block = tall + 66
each = (width - left - 24.0 - between * (across - 1)) / across
here(q, o, r, v) = int(column("quantity")) == q && int(column("over")) == o && int(column("series")) == r ? v : NaN
unset key
do for [q=1:across] {
    do for [o=1:down] {
        if (!filled[place(q, o)]) { continue }
        start = left + (q - 1) * (each + between); ceiling = top - 26.0 - (o - 1) * block
        set lmargin at screen start / width
        set rmargin at screen (start + each) / width
        set bmargin at screen (ceiling - tall) / full
        set tmargin at screen ceiling / full
        set xrange [0:1.08 * ends[o]]; set xtics 0, step(ends[o], 5) nomirror out scale 0.6 tc rgb ink
        set yrange [*:*]; set offsets 0, 0, graph 0.08, graph 0.08
        unit = strstrt(titles[q], " (")
        set title (o == 1 ? titles[q][:unit - 1] : "") font size(12) offset 0, -0.6
        set ylabel "error".titles[q][unit:] offset ylabel_shift - 0.8, 0
        set xlabel overs[o]
        set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead back lc rgb middle dt 2 lw 1.2
        plot for [r=rows:1:-1] data using (here(q, o, r, column("x"))):(column("error")) \
            with points pt points[r] ps 0.9 lc rgb colours[r] notitle
        eval(once); unset title
    }
}
# The legend stands where the last line has no panels.
line_dash = 0
set lmargin at screen left / width; set rmargin at screen 0.6
set bmargin at screen 0.1; set tmargin at screen 0.2
# In as many columns as keep it above the caption.
in_column = int((tall + 30) / 18); in_column = (rows + (rows + in_column - 1) / in_column - 1) / ((rows + in_column - 1) / in_column)
longest = 8; do for [r=1:rows] { longest = longer(longest, strlen(names[r])) }
do for [r=1:rows] {
    n = r; text = names[r]; point = points[r]; colour = colours[r]
    x = left + (46 + 6.2 * longest) * ((r - 1) / in_column); y = top - 46.0 - (down - 1) * block - 18 * ((r - 1) % in_column); eval(legend)
}
unset arrow 1; unset border; unset tics; unset xlabel; unset ylabel; unset offsets; unset grid
set xrange [0:1]; set yrange [0:1]
plot NaN notitle
unset multiplot
set output
