# Latency of functions over the share of a GPU, a line a batch size: of a profile, its grid's points and
# what is interpolated between them; of a calibration, what was measured and what was fitted.
#
# Columns: function (1…), name, batch, share (per cent of a GPU), latency_ms, grid (1: has a marker),
# line (1: a line goes through it), colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "profile.gp") - 1]
heading = "Latency over batch and share of a GPU"
load folder."common.gp"

stats data using "function" nooutput; panels = int(STATS_max)
stats data using "latency_ms" nooutput; quickest = STATS_min; slowest = STATS_max
array names[panels]; array sizes[panels]
do for [f=1:panels] { sizes[f] = "" }
batches = ""; array colours[64]; array points[64]; count = 0
known(b) = strstrt(" ".batches." ", " ".b." ") > 0
add(b) = (batches = batches.(count > 0 ? " " : "").b, count = count + 1, \
    colours[count] = int(column("colour")), points[count] = int(column("point")), 0)
has(f, b) = strstrt(" ".sizes[f]." ", " ".b." ") > 0
take(f) = (names[f] = cell("name"), has(f, cell("batch")) ? 0 : (sizes[f] = sizes[f]." ".cell("batch"), 0), \
    known(cell("batch")) ? 0 : add(cell("batch")), 0)
stats data using (take(int(column("function")))) nooutput

columns = panels < 3 ? panels : 3
lines = int((panels + columns - 1) / columns)
width = wide(1100.0); left = 84.0; right = 20.0; between = 24.0; narrowest = high(150.0, 104.0, 150.0)
if (sized) { eval(fit_panels) }
entry = or_sized(100.0, 96.0); key_columns = or_sized(10, int((width - 14) / entry))
tall = high(200.0, 120.0, 160.0); body = lines * tall; block = tall + or_sized(70, 78)
height = 34 + 18 * int((count + key_columns - 1) / key_columns) + 10 + lines * block + 20
eval(begin)
block = block + (stretch - 1) * tall; tall = tall * stretch
each = (width - left - right - between * (columns - 1)) / columns
# Where a batch size stands in the legend.
place_of(b) = words((" ".batches." ")[:strstrt(" ".batches." ", " ".b." ")]) + 1
set logscale y 10
set yrange [quickest / 1.3:slowest * 1.3]
set xrange [0:104]; set xtics 25
set bars 0
in(f, b, v) = int(column("function")) == f && cell("batch") eq b ? v : NaN
do for [f=1:panels] {
    line = int((f - 1) / columns); place = (f - 1) % columns
    ceiling = floor + 20 + (lines - line) * block - or_sized(26, 34)
    set tmargin at screen ceiling / full
    set bmargin at screen (ceiling - tall) / full
    set lmargin at screen (left + place * (each + between)) / width
    set rmargin at screen (left + place * (each + between) + each) / width
    text = names[f]; limit = sized ? int((each + between) / 7.0) : 1000; eval(split)
    set title broken font size(12) offset 0, -0.6
    unset xlabel
    if (f + columns > panels) { set xlabel "share of a GPU (%)" offset 0, xlabel_shift }
    unset ylabel
    set format y (place == 0 ? "%g" : "")
    if (place == 0) { text = "latency of a batch (ms)"; eval(y_title) }
    unset key
    if (f == 1) {
        do for [b=1:count] {
            text = "batch ".word(batches, b); line_dash = 0; point = points[b]; colour = colours[b]; n = b
            x = or_sized(left, 14) + entry * ((b - 1) % key_columns); y = top - 12.0 - 18 * int((b - 1) / key_columns); eval(legend)
        }
        n = count
    }
    plot for [i=1:words(sizes[f])] data using (in(f, word(sizes[f], i), column("line") == 1 ? column("share") : NaN)):(column("latency_ms")) \
             smooth unique with lines lw 1.5 lc rgb colours[place_of(word(sizes[f], i))] notitle, \
         for [i=1:words(sizes[f])] data using (in(f, word(sizes[f], i), column("grid") == 1 ? column("share") : NaN)):(column("latency_ms")) \
             with points pt points[place_of(word(sizes[f], i))] ps 0.8 * mark lc rgb colours[place_of(word(sizes[f], i))] notitle
    eval(once); eval(unlegend)
}
unset multiplot
set output
