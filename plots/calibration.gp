# A fitted latency model beside what was measured: fitted against measured, and the residuals.
#
# Columns: function, batch, vcpu, vgpu_share, measured_ms, fitted_ms; caption is optional.
folder = ARG0[:strstrt(ARG0, "calibration.gp") - 1]
heading = "Fit of the latency model"
optional_caption = 1
load folder."common.gp"

names = ""; count = 0; total = 0.0; points = 0
known(n) = strstrt(" ".names." ", " ".n." ") > 0
share(m, f) = (total = total + abs(f - m) / m, points = points + 1, 0)
take(n) = (known(n) ? 0 : (names = names.(count > 0 ? " " : "").n, count = count + 1, 0), \
    share(column("measured_ms"), column("fitted_ms")), 0)
stats data using (take("".strcol("function"))) nooutput
stats data using "measured_ms" nooutput; low = STATS_min; high = STATS_max
stats data using "fitted_ms" nooutput; low = STATS_min < low ? STATS_min : low; high = STATS_max > high ? STATS_max : high
stats data using (100 * (column("fitted_ms") - column("measured_ms")) / column("measured_ms")) nooutput
widest = abs(STATS_min) > abs(STATS_max) ? abs(STATS_min) : abs(STATS_max)
longest = 8
do for [n in names] { longest = strlen(n) > longest ? strlen(n) : longest }
caption = sprintf("%d points of %d functions, measured and fitted; mean absolute error %.2f %% of the measured latency, largest %.2f %%. %s", \
    points, count, 100 * total / points, widest, caption)

colours = "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #767676"
markers = "7 5 9 11 13 6 4 8 10 12 1 2 3"
width = 1200.0; height = 34 + 400 + 60 + (22 * count > 400 ? 22 * count - 400 : 0)
eval(begin)
right = 50 + 7.0 * longest; left = 76.0; between = 84.0
each = (width - left - right - between) / 2
set bmargin at screen (floor + 50.0) / full
set tmargin at screen (top - 6.0) / full
set logscale x 10
set xrange [low / 1.2:high * 1.2]
set format x "%g"
set xlabel "measured (ms, logarithmic)"
in(n, v) = strcol("function") eq word(names, n) ? v : NaN
colour(n) = word(colours, 1 + (n - 1) % 8)
marker(n) = int(word(markers, 1 + (n - 1) % 13))
do for [p=1:2] {
    set lmargin at screen (left + (p - 1) * (each + between)) / width
    set rmargin at screen (left + (p - 1) * (each + between) + each) / width
    unset key; unset arrow
    if (p == 1) {
        set logscale y 10; set yrange [low / 1.2:high * 1.2]; set format y "%g"
        set ylabel "fitted (ms, logarithmic)"
        set arrow 1 from low, low to high, high nohead back lc rgb middle dt (6, 4)
        plot for [n=1:count] data using (in(n, column("measured_ms"))):(column("fitted_ms")) \
            with points pt marker(n) ps 0.8 lc rgb colour(n) title word(names, n)
        eval(once)
    } else {
        unset logscale y; set yrange [-1.1 * widest - 0.01:1.1 * widest + 0.01]
        set ylabel "(fitted - measured) / measured (%)"
        set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead back lc rgb middle dt (6, 4)
        set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 1 spacing 1.25
        plot for [n=1:count] data using (in(n, column("measured_ms"))):(100 * (column("fitted_ms") - column("measured_ms")) / column("measured_ms")) \
            with points pt marker(n) ps 0.8 lc rgb colour(n) title word(names, n)
    }
}
unset multiplot
set output
