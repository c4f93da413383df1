# A fitted latency model beside what was measured: fitted against measured, the residuals of the fit,
# and how far each point lies from what a fit that had not seen it says.
#
# Columns: function, batch, share (per cent of a GPU), measured_ms, fitted_ms, left_out_ms (empty:
# none); caption is optional.
folder = ARG0[:strstrt(ARG0, "calibration.gp") - 1]
heading = "Fit of the latency model"
optional_caption = 1
load folder."common.gp"

stats data using (column(0) == 0 ? (subject = cell("subject"), 0) : 0) nooutput
number(name) = strlen(strcol(name)) > 0 ? column(name) : NaN
error_of(name) = 100 * (number(name) - column("measured_ms")) / column("measured_ms")
array functions[200]; found = 0
known(n) = sum [i=1:found] (functions[i] eq n ? 1 : 0)
take(n) = known(n) > 0 || found == 200 ? 0 : (found = found + 1, functions[found] = n, 0)
stats data using (take(cell("function"))) nooutput

# Of "ssd 4 vCPU" the network has the colour and the vCPUs the marker; names without vCPUs have a marker of their own.
# Entries of the legend: the networks, then the vCPUs.
array names[2 * found]; array network[found]; array size_of[found]; array sizes[found]; networks = 0; size_count = 0; longest = 8
do for [f=1:found] {
    text = functions[f]; blanks = strlen(text) > 5 && text[strlen(text) - 4:] eq " vCPU" ? strlen(text) - 5 : 0
    at = blanks; while (at > 0 && text[at:at] ne " ") { at = at - 1 }
    head = at > 0 ? text[:at - 1] : text; tail = at > 0 ? text[at + 1:] : ""
    network[f] = 0; size_of[f] = 0
    do for [i=1:networks] { if (names[i] eq head) { network[f] = i } }
    if (network[f] == 0) { networks = networks + 1; names[networks] = head; network[f] = networks; longest = strlen(head) > longest ? strlen(head) : longest }
    do for [i=1:size_count] { if (sizes[i] eq tail) { size_of[f] = i } }
    if (size_of[f] == 0) { size_count = size_count + 1; sizes[size_count] = tail; size_of[f] = size_count }
}
by_size = size_count > 1
count = networks
if (by_size) { do for [i=1:size_count] { count = count + 1; names[count] = strlen(sizes[i]) > 0 ? sizes[i] : "no vCPUs given" } }
low = 1e300; high = -1e300
reach(v) = (low = v < low ? v : low, high = v > high ? v : high, 0)
stats data using (reach(column("measured_ms"))) nooutput
stats data using (reach(column("fitted_ms"))) nooutput
array totals[2]; array widest[2]; array points[2]
do for [p=1:2] { totals[p] = 0.0; widest[p] = 0.0; points[p] = 0 }
tally(p, e) = e == e ? (totals[p] = totals[p] + abs(e), points[p] = points[p] + 1, \
    widest[p] = abs(e) > widest[p] ? abs(e) : widest[p], 0) : 0
stats data using (tally(1, error_of("fitted_ms"))) nooutput
stats data using (tally(2, error_of("left_out_ms"))) nooutput
caption = sprintf("%d points of %d functions. Mean absolute error of the fit: %.2f %% of the measured latency, largest %.2f %%.", \
    points[1], found, totals[1] / points[1], widest[1])
if (points[2] > 0) {
    caption = caption.sprintf(" Of a fit that has not seen the point: %.2f %%, largest %.2f %%.", totals[2] / points[2], widest[2])
}

colours = "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #767676"
markers = "7 5 9 11 13 6 4 8 10 12 1 2 3"
panels = points[2] > 0 ? 3 : 2
width = wide(1300.0); entries = count
right = or_sized(50 + 7.0 * longest, 24); left = or_sized(76.0, 90.0); between = 84.0; narrowest = 150.0
eval(fit_panels)
tall = high(370.0, 160.0, 220.0); body = lines * tall
height = 34 + lines * (tall + or_sized(90, 82)) + (!sized && 18 * count > 400 ? 18 * count - 400 : 0)
eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + 82
each = (width - left - right - between * (columns - 1)) / columns
set logscale x 10
from = low / 1.2; to = high * 1.2
set xrange [from:to]
eval(log_ticks)
set format x "%g"
set xlabel "measured (ms, logarithmic)" offset 0, xlabel_shift
in(f, v) = cell("function") eq functions[f] ? v : NaN
colour_of(n) = word(colours, 1 + (n - 1) % 8)
marker_of(n) = int(word(markers, 1 + (n - 1) % 13))
colour(f) = colour_of(network[f])
marker(f) = marker_of(by_size ? size_of[f] : network[f])
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + between); ceiling = top - 26.0 - (p - 1) / columns * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen (ceiling - tall) / full
    set tmargin at screen ceiling / full
    unset key; unset arrow
    # gnuplot's own key leaves out, without a word, what has no room.
    if (p == 1) { do for [k=1:count] {
        text = names[k]; line_dash = 0; point = k > networks ? marker_of(k - networks) : by_size ? 7 : marker_of(k)
        colour = k > networks ? 0x222222 : int("0x".colour_of(k)[2:])
        if (sized) { eval(key_add) } else { n = k; x = width - right + 10; y = top - 14.0 - 18 * (k - 1); eval(legend) }
    } }
    if (p == 1) {
        set logscale y 10; set yrange [from:to]; set format y "%g"
        set title "fit" font size(12) offset 0, -0.6
        text = "fitted (ms, logarithmic)"; eval(y_title)
        set arrow 1 from from, from to to, to nohead back lc rgb middle dt (6 * dash, 4 * dash)
        plot for [f=1:found] data using (in(f, column("measured_ms"))):(column("fitted_ms")) \
            with points pt marker(f) ps 0.8 * mark lc rgb colour(f) notitle
        eval(once); eval(unlegend)
    } else {
        unset logscale y; set yrange [-1.1 * widest[p - 1] - 0.01:1.1 * widest[p - 1] + 0.01]
        set title (p == 2 ? "residuals of the fit" : "points that the fit has not seen") font size(12) offset 0, -0.6
        text = p == 2 ? "(fitted - measured) / measured (%)" : "(predicted - measured) / measured (%)"; eval(y_title)
        set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead back lc rgb middle dt (6 * dash, 4 * dash)
        plot for [f=1:found] data using (in(f, column("measured_ms"))):(error_of(p == 2 ? "fitted_ms" : "left_out_ms")) \
            with points pt marker(f) ps 0.8 * mark lc rgb colour(f) notitle
    }
}
unset multiplot
set output
