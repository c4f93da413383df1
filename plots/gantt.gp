# What each GPU does over time: a panel a policy, all on one clock; a row a GPU.
#
# Columns: panel (1…), panel_title, row (1… from the top; 0: an instant of no GPU), name (of the GPU's kind), part
# (0: all of the row and the window; 1: a batch in time, 2: late, 3: a lease of a training, 4: a container
# that starts ahead of work, 5: a request dropped, 6: a training arrives), from, ready, started, until (s: held,
# then starting, then at work), low, high (of the GPU), number (of the training, or one of
# its own; of part 0 the end of the run, s), subject, caption.
folder = ARG0[:strstrt(ARG0, "gantt.gp") - 1]
heading = "What the GPUs do"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max)
stats data using "row" nooutput; rows = int(STATS_max)
array titles[panels]; array names[rows]; array seen[9]; first = 1e300; last = -1e300; end = 0
do for [p=1:panels] { titles[p] = "" }
do for [r=1:rows] { names[r] = "" }
do for [k=1:9] { seen[k] = 0 }
array busy[rows]; array place_of[rows]; do for [r=1:rows] { busy[r] = 0 }
array counts[8 * panels]; do for [k=1:8 * panels] { counts[k] = 0 }; before = ""
meet(k) = (seen[k] = 1, 0)
# A batch or lease may lie in several pieces, which follow each other.
one = ""
tally(p, part, k) = (one = sprintf("%d %s %s %s", p, strcol("row"), strcol("number"), strcol("from")), one eq before ? 0 : \
    (before = one, counts[8 * p - 8 + part] = counts[8 * p - 8 + part] + 1, k ? (counts[8 * p] = counts[8 * p] + 1) : 0, 0))
frame(r) = (names[r] = cell("name")." ".(r - 1), first = column("from") < first ? column("from") : first, \
    last = longer(last, column("until")), end = longer(end, column("number")), 0)
take(p, r, part) = (titles[p] = cell("panel_title"), part == 0 ? frame(r) : meet(part), part > 0 && r > 0 ? (busy[r > 0 ? r : 1] = 1) : 0, \
    part > 0 ? tally(p, part, part < 3 && column("started") > column("ready")) : 0, \
    part < 4 && column("ready") > column("from") ? meet(7) : 0, part < 4 && column("started") > column("ready") ? meet(part < 3 ? 8 : 9) : 0)
stats data using (take(int(column("panel")), int(column("row")), int(column("part")))) nooutput
# GPUs beside each other that do nothing in any panel share a row.
place = 0; opened = 0
do for [r=1:rows] {
    fold = r > 1 && !busy[r] && !busy[r > 1 ? r - 1 : 1]
    if (!fold) { place = place + 1; opened = r; names[place] = names[r] }
    place_of[r] = place
    if (!busy[r]) { names[place] = names[place][:strlen(names[place]) - (fold ? strlen(tail) : 0)]; tail = r > opened ? sprintf(" to %d: idle", r - 1) : ": idle"; names[place] = names[place].tail }
}
rows = place
scale = last - first > 7200 ? 3600.0 : 1.0; unit = scale > 1 ? "h" : "s"
told = "batches in time|late batches|leases of GPUs|containers ahead|dropped|arrivals||cold starts|"
do for [p=1:panels] { rest = told; link = ": "
    do for [k=1:8] { if (counts[8 * p - 8 + k] > 0) { titles[p] = titles[p].link.sprintf("%d ", counts[8 * p - 8 + k]).rest[:strstrt(rest, "|") - 1]; link = ", " }; rest = rest[strstrt(rest, "|") + 1:] } }
caption = sprintf("%.1f to %.1f of ".(scale > 1 ? "%.1f" : "%.0f")." %s. ", first / scale, last / scale, end / scale, unit).caption
at(name) = column(name) / scale
marks = seen[5] || seen[6]

# The legend: an entry of its own for what is there.
in_words = "batch, all in time|batch with a late request|lease of a training (shades tell them apart)|container starts ahead of work|request dropped|training arrives|held before it: decision, transfer|cold start|restart (at least 1.5 pixels wide)|"
array words_of[9]; array paints[9] = [0x56B4E9, 0x8C2D04, 0x009E73, 0xE69F00, 0x000000, 0x000000, 0xDDDDDD, 0xB05000, 0x222222]
rest = in_words; do for [k=1:9] { words_of[k] = rest[:strstrt(rest, "|") - 1]; rest = rest[strstrt(rest, "|") + 1:] }
entries = 0; longest = 8
do for [k=1:9] { entries = entries + seen[k]; longest = seen[k] && strlen(words_of[k]) > longest ? strlen(words_of[k]) : longest }

width = wide(1000.0); right = 16.0; longest_name = 4
do for [r=1:rows] { longest_name = longer(longest_name, strlen(names[r])) }
left = 18.0 + name_width * longest_name
row_height = 720.0 / (panels * rows); row_height = sized || row_height > 18 ? 18.0 : row_height < 4 ? 4.0 : row_height; squeeze = 0.2
head = 26.0; foot = or_sized(46, 44); body = panels * rows * row_height
entry_width = 34 + 6.5 * longest; key_columns = int((width - 14) / entry_width); key_columns = key_columns < 1 ? 1 : key_columns
key_lines = (entries + key_columns - 1) / key_columns; key_height = 18 * key_lines + 8
columns = 1; lines = panels; block = head + rows * row_height + (marks ? 12 : 0)
height = 34 + key_height + panels * block + foot
eval(begin)
row_height = row_height * stretch; strip = marks ? 12.0 / row_height : 0; tall = row_height * (rows + strip)
each = width - left - right
n = 0
do for [k=1:9] { if (seen[k]) {
    x = 14.0 + entry_width * (n % key_columns); y = key_top - 12.0 - 18 * (n / key_columns); n = n + 1
    if (k == 5) { set label 200 + k "" at screen (x + 7.0) / width, y / full point pt 2 ps 0.7 * mark lc rgb paints[k] front } \
    else { if (k == 6) { set arrow 200 + k from screen (x + 7.0) / width, (y + 5.0) / full to screen (x + 7.0) / width, (y - 5.0) / full nohead front lw 1.4 lc rgb paints[k] } \
    else { tip = k == 4 ? 1.5 : 5.5
        if (k == 8) { set object k rectangle from screen x / width, (y - tip) / full to screen (x + 14.0) / width, (y + tip) / full fc rgb paints[k] fs pattern 5 border lc rgb paints[k] } \
        else { set object k rectangle from screen x / width, (y - tip) / full to screen (x + 14.0) / width, (y + tip) / full fc rgb paints[k] fs solid 1.0 noborder } } }
    set label 100 + k words_of[k] at screen (x + 20.0) / width, y / full left front font size(11) tc rgb ink
} }
unset key
set border 1; set grid noytics xtics
set xrange [first / scale:last / scale]; from = first / scale; to = last / scale
most_ticks = int(each / 70) > 10 ? 10 : int(each / 70)
set lmargin at screen left / width
set rmargin at screen (left + each) / width
# A name for each row, or as many as have room.
labelled_rows = int(ceil(14.0 / row_height))
here(part, v) = int(column("panel")) == p && int(column("part")) == part ? v : NaN
bar(v) = int(column("panel")) == p && int(column("part")) > 0 && int(column("part")) < 4 ? v : NaN
starting(is) = is && column("started") > column("ready") ? bar(at("started")) : NaN
spot(share) = (column("row") > 0 ? place_of[int(column("row"))] : 0) + 0.46 - 0.92 * share
# Trainings beside each other differ in shade.
array shades[4] = [0x009E73, 0x8CD0BC, 0x4DB596, 0xB9E4D8]
paint(k) = k == 3 ? shades[1 + int(column("number")) % 4] : paints[k == 2 ? 2 : 1]
do for [p=1:panels] {
    ceiling = floor + foot + (panels - p) * (head + tall) + tall
    set tmargin at screen ceiling / full
    set bmargin at screen (ceiling - tall) / full
    set yrange [rows + 0.5:0.5 - strip]
    captioned = p == panels; eval(x_ticks)
    if (p == panels) { set xlabel "simulated time (".unit.")" offset 0, xlabel_shift } else { unset xlabel }
    unset ytics
    do for [r=1:rows:labelled_rows] { set label 1000 + r names[r] at first from, first r right offset -0.8, 0 front tc rgb ink }
    do for [r=1:rows + 1] { set arrow 500 + r from graph 0, first r - 0.5 to graph 1, first r - 0.5 nohead back lc rgb faint lw 0.7 }
    limit = int((width - 24) / 6.6)
    set label 3 shortened(titles[p], limit / 2) at screen or_sized(left, 14.0) / width, (ceiling + 9.0) / full left front font size(12) tc rgb ink
    set style fill solid 1.0 noborder
    plot data using (bar(at("ready"))):(spot(column("low"))):(at("from")):(at("ready")):(spot(column("low"))):(spot(column("high"))) \
             with boxxyerror lc rgb paints[7] notitle, \
         data using (bar(at("until"))):(spot(column("low"))):(at("started")):(at("until")):(spot(column("low"))):(spot(column("high"))):(paint(int(column("part")))) \
             with boxxyerror fs solid 1.0 border lc rgb "white" lw (seen[3] || sized ? 0.12 : 0.25) fc rgb variable notitle, \
         data using (starting(column("part") < 3)):(spot(column("low"))):(at("ready")):(at("started")):(spot(column("low"))):(spot(column("high"))) \
             with boxxyerror fs pattern 5 border lc rgb paints[8] lw 0.4 fc rgb paints[8] notitle, \
         data using (starting(column("part") == 3)):(spot(column("low"))):(at("ready")):(longer(at("started"), at("ready") + 1.5 * (to - from) / each)):(spot(column("low"))):(spot(column("high"))) \
             with boxxyerror fs solid 1.0 noborder fc rgb paints[9] notitle, \
         data using (here(4, at("until"))):(spot(0)):(at("from")):(at("until")):(spot(0.14)):(spot(0)) \
             with boxxyerror fs solid 1.0 noborder fc rgb paints[4] notitle, \
         data using (here(5, at("from"))):(0.5 - strip / 2) with points pt 2 ps 0.6 * mark lc rgb paints[5] notitle, \
         data using (here(6, at("from"))):(0.5 - 0.9 * strip):(0):(0.8 * strip) with vectors nohead lw 1.2 lc rgb paints[6] notitle
    eval(once); do for [k=1:9] { unset object k; unset label 100 + k; unset label 200 + k; unset arrow 200 + k }
}
unset multiplot
set output
