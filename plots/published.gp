# Published and ours: what is published as a bar, ours as dots. A panel each published figure, with a row for each set of
# assumptions; or a panel each kind of claim, with rows of its own.
#
# Columns: panel (1…; 0: of claims, by their axis), panel_title (of claims the evidence), axis, row (1…), setting (the
# row's name), contender (of claims the verdict), value, low, high, range_low, range_high (empty: no such bound), shift
# (from the row's middle), colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "published.gp") - 1]
heading = "Published and ours"
load folder."common.gp"

stats data using "panel" nooutput; panels = int(STATS_max); of_claims = panels == 0
stats data using "row" nooutput; rows = int(STATS_max)
# Claims have a panel each axis; gains are on that of ratios.
axis_in(name) = of_claims && (cell(name)[1:5] eq "ratio" || cell(name)[1:4] eq "gain") ? "ratio (line: no effect)" : cell(name)
kinds = "|"; grades = "|"
if (of_claims) { stats data using (strstrt(kinds, "|".axis_in("axis")."|") > 0 ? 0 : (kinds = kinds.axis_in("axis")."|", panels = panels + 1)) nooutput }
bars_before(text) = (at = strstrt(text, "|"), at == 0 ? 0 : 1 + bars_before(text[at + 1:]))
panel_in(name) = of_claims ? bars_before(kinds[:strstrt(kinds, "|".axis_in("axis")."|")]) : int(column(name))
array titles[panels]; array axes[panels]; array logs[panels]; array first[panels]; array last[panels]; array names[rows]; array panel_of[rows]
array least[panels]; array most[panels]; array nearest[panels]; array farthest[panels]; array at_place[rows]
array marks[40]; array shapes[40]; array colours[40]
do for [p=1:panels] { titles[p] = ""; axes[p] = ""; logs[p] = 0; first[p] = rows + 1; last[p] = 0
    least[p] = 1e300; most[p] = -1e300; nearest[p] = 1e300; farthest[p] = -1e300 }
do for [r=1:rows] { names[r] = ""; panel_of[r] = 0; at_place[r] = r }
# A gain of −90 % is the ratio 0.1.
number(name) = strlen(strcol(name)) == 0 ? NaN : cell("axis")[1:4] eq "gain" ? 1 + column(name) / 100.0 : column(name)
spaced(text) = (at = strstrt(text, "_"), at == 0 ? text : spaced(text[:at - 1]." ".text[at + 1:]))
# The rows of claims stand panel by panel.
if (of_claims) {
    stats data using (panel_of[int(column("row"))] = panel_in("panel"), 0) nooutput
    place = 0; do for [p=1:panels] { do for [r=1:rows] { if (panel_of[r] == p) { place = place + 1; at_place[r] = place } } }
    do for [r=1:rows] { panel_of[r] = 0 }
}
verdicts = "shown|sign only|not shown|contradicted"
verdict(name) = bars_before(verdicts[:strstrt(verdicts, name)]) + 1
look(of) = !of_claims ? column(of) : real(word(of eq "point" ? "7 9 6 13" : "0x009E73 0xE69F00 0x767676 0xD55E00", verdict(cell("contender"))))
# The least and greatest number of a panel: of the range, and of all.
told(p, v) = v == v && !(logs[p] && v <= 0) ? (least[p] = v < least[p] ? v : least[p], most[p] = v > most[p] ? v : most[p], 0) : 0
range(p, v) = v == v && !(logs[p] && v <= 0) ? (nearest[p] = v < nearest[p] ? v : nearest[p], farthest[p] = v > farthest[p] ? v : farthest[p], told(p, v)) : 0
known = "|"; count = 0; shared = 0
meet(name) = strstrt(known, "|".name."|") > 0 ? 0 : (known = known.name."|", count = count + 1, marks[count] = name, shapes[count] = int(look("point")), colours[count] = look("colour"), 0)
place_in(name) = at_place[int(column(name))]
take(p, r) = (titles[p] = of_claims ? "" : spaced(cell("panel_title")), axes[p] = axis_in("axis"), logs[p] = axis_in("axis")[1:5] eq "ratio" && of_claims, names[r] = cell("setting"), \
    first[p] = r < first[p] ? r : first[p], last[p] = r > last[p] ? r : last[p], \
    shared = shared || (panel_of[r] > 0 && panel_of[r] != p), panel_of[r] = p, meet(cell("contender")), \
    range(p, number("range_low")), range(p, number("range_high")), told(p, number("value")), told(p, number("low")), told(p, number("high")))
stats data using (take(panel_in("panel"), place_in("row"))) nooutput
if (of_claims) {
    do for [grade in "published readme secondary recalled assumed"] {
        told_of = 0; stats data using (told_of = told_of + (cell("panel_title") eq grade), 0) nooutput
        if (told_of > 0) { grades = grades.sprintf("%s%d %s", grades eq "|" ? "" : ", ", told_of, grade) } }
    caption = caption." A gain of −90 % is the ratio 0.1. Evidence: ".grades[2:]." (published: read in the paper or its abstract; readme: in its authors' repository)."
}
entries = count; mark_count = count; shown = 0
do for [p=1:panels] { shown = shown + (last[p] > 0); if (shared && last[p] > 0) { first[p] = 1; last[p] = rows } }

# What is the same in the names of all sets of assumptions is left out: the caption has it.
if (shared && rows > 1) { rest = names[1]."‚ "; while (strlen(rest) > 0) {
    part = rest[:strstrt(rest, "‚ ") - 1]; rest = rest[strstrt(rest, "‚ ") + 2:]; alike = 1
    do for [r=1:rows] { alike = alike && strstrt("‚ ".names[r]."‚ ", "‚ ".part."‚ ") > 0 && names[r] ne part }
    if (alike) { do for [r=1:rows] { text = instead("‚ ".names[r]."‚ ", "‚ ".part."‚ ", "‚ "); names[r] = text[3:strlen(text) - 2] } } } }
# Rows that panels share stand beside the first of a line; else the panels are above each other.
label_limit = shared ? label_limit : canvas eq "column" ? 30 : canvas eq "page" ? 60 : 80
do for [r=1:rows] { if (!sized && strlen(names[r]) > 80) { names[r] = names[r][:50]."…".names[r][strlen(names[r]) - 28:] } }
eval(fit_rows)
longest = 4; do for [r=1:rows] { longest = longer(longest, strlen(names[r])) }
row_height = shared ? row_height * (rows > 8 ? 1.0 : 1.3) : row_height
width = wide(1200.0); left = 20.0 + name_width * longest; right = 24.0; between = 26.0; narrowest = high(170.0, 100.0, 130.0); squeeze = 0.75
columns = shared ? int((width - left - right + between) / (narrowest + between)) : 1
columns = columns < 1 ? 1 : columns > panels ? panels : columns
lines = shared ? (panels + columns - 1) / columns : shown
columns = shared ? (panels + lines - 1) / lines : 1
do for [m=1:mark_count] { other_longest = longer(other_longest, strlen(marks[m])) }
key_wide = or_sized(40, 34) + 6.5 * other_longest; key_columns = int((width - or_sized(left, 16)) / key_wide); key_columns = key_columns < 1 ? 1 : key_columns
key_height = 18 * ((entries + key_columns - 1) / key_columns) + 8
each = (width - left - right - between * (columns - 1)) / columns
tallest = 0; widest = 0; do for [p=1:panels] { tallest = longer(tallest, strlen(titles[p])); widest = longer(widest, strlen(axes[p])) }
head = or_sized(28, 30) + (tallest > int((each + between) / 7.0) ? 18 : 0); foot = 46 + (sized && widest > int((each + between) / 6.8) ? 14 : 0)
body = shared ? lines * row_height * rows : row_height * rows
divide = shared ? "grid" : "rows"
height = 34 + key_height + lines * (head + foot) + body
block = head + foot + row_height * rows; eval(begin)
row_height = row_height * stretch
each = (width - left - right - between * (columns - 1)) / columns

set grid noytics xtics
unset key
set border 1
here(v) = panel_in("panel") == p ? v : NaN
do for [m=1:mark_count] {
    n = m; text = marks[m]; line_dash = 0; point = shapes[m]; colour = colours[m]
    x = or_sized(left, 14) + key_wide * ((m - 1) % key_columns); y = key_top - 14.0 - 18 * ((m - 1) / key_columns); eval(legend)
}
ceiling = top; place = 0; begun = 0
do for [p=1:panels] {
  if (last[p] > 0) {
    tall = row_height * (last[p] - first[p] + 1)
    across = left + place % columns * (each + between)
    base = ceiling - head - tall
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen base / full
    set tmargin at screen (base + tall) / full
    set yrange [last[p] + 0.5:first[p] - 0.5]
    unset ytics
    set ytics 1, 1, rows scale 0 format ""
    if (place % columns == 0) { do for [r=first[p]:last[p]] { set label 1000 + r "".names[r] at graph 0, first r right offset -0.8, 0 front tc rgb ink } }
    # A panel of one range reaches as far again and a half, one of ratios a factor of 30 from what is published; what is
    # beyond is an arrow.
    far = 1.5 * (longer(farthest[p] - nearest[p], longer(abs(nearest[p]), abs(farthest[p]))))
    low = least[p]; high = most[p]
    unset logscale x; unset arrow
    if (logs[p]) {
        set logscale x 10
        low = longer(low / 1.3, nearest[p] / 30); high = -longer(-high * 1.3, -farthest[p] * 30)
        set xrange [low:high]; from = low; to = high; eval(log_ticks)
    } else {
        if (shared) { low = longer(low, nearest[p] - far); high = -longer(-high, -farthest[p] - far) }
        room = 0.05 * (high > low ? high - low : abs(high) > 0 ? abs(high) : 1); low = low - room; high = high + room
        most_ticks = int(each / 50); most_ticks = most_ticks < 3 ? 3 : most_ticks > 6 ? 6 : most_ticks
        set xrange [low:high]; from = low; to = high; eval(x_ticks)
    }
    none = logs[p] ? 1 : 0
    if (none > low && none < high) { set arrow 1 from none, graph 0 to none, graph 1 nohead back lc rgb ink lw 0.8 }
    text = titles[p]; limit = int((each + between) / 7.0); eval(split)
    set title broken font size(12) offset 0, -0.6
    text = axes[p]; eval(x_title)
    within(v) = v < low ? low : v > high ? high : v
    bar_low(v) = v == v ? within(v) : low
    bar_high(v) = v == v ? within(v) : high
    at_row(s) = place_in("row") + 0.75 * column("shift")
    off(v) = v == v && (v < low || v > high)
    reach = (canvas eq "column" ? 0.07 : 0.04)
    near_edge(v, e) = logs[p] ? (e < 0 ? low : high) / (high / low) ** (e * reach) : (e < 0 ? low : high) - e * reach * (high - low)
    plot data using (here(0.5 * (bar_low(number("range_low")) + bar_high(number("range_high"))))):(place_in("row")): \
             (bar_low(number("range_low"))):(bar_high(number("range_high"))):(place_in("row") - 0.5):(place_in("row") + 0.5) \
             with boxxyerror fc rgb "#d9d9d9" fs solid border lc rgb "#d9d9d9" lw 1, \
         data using (here(number("range_low") == number("range_high") ? number("range_low") : NaN)):(place_in("row") - 0.5):(0):(1) \
             with vectors nohead lc rgb "#909090" lw 2.5, \
         data using (here(off(number("value")) ? NaN : number("value"))):(at_row(0)):(within(number("low"))):(within(number("high"))):(look("colour")) \
             with xerrorbars pt -1 lw 1.2 lc rgb variable, \
         for [e in "-1 1"] data using (here(off(number("value")) && sgn(number("value") - low) + 0 == (e + 0 < 0 ? -1 : 1) ? near_edge(0, e + 0) : NaN)):(at_row(0)): \
             ((e + 0 < 0 ? low : high) - near_edge(0, e + 0)):(0):(look("colour")) with vectors filled head size screen 6.0 / width, 25 lw 1.4 lc rgb variable, \
         data using (here(off(number("value")) ? NaN : number("value"))):(at_row(0)):(look("point")):(look("colour")) \
             with points pt variable ps 0.8 * mark lc rgb variable
    eval(once); eval(unrow_labels)
    if (!begun) { n = mark_count; eval(unlegend); begun = 1 }
    place = place + 1
    if (place % columns == 0) { ceiling = base - foot }
  }
}
unset multiplot
set output
