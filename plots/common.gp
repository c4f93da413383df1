# What every figure shares: reading the CSV, the terminal that the output's name asks for, the
# caption. Loaded by the figures' own scripts, which expect `data` (a CSV file) and `out` (a file
# name ending in .svg, .png or .pdf):
#
#   LC_ALL=C.UTF-8 gnuplot -e "data='hit-rate.csv'; out='hit-rate.svg'" plots/hit-rate.gp
#
# Optional: `canvas` ('column', 'page' or 'slide'), a size other than the script's own; `no_title` and
# `no_caption`, which leave these out:
#
#   LC_ALL=C.UTF-8 gnuplot -e "data='hit-rate.csv'; out='hit-rate.pdf'; canvas='column'; no_title=1" plots/hit-rate.gp
#
# Texts are UTF-8. In another locale `set encoding utf8` warns that it cannot convert a degree sign.
#
# Colours, markers and dashes are columns of the CSV: plots/palette.c gives each policy its own.
if (!exists("data") || !exists("out")) {
    print "give data and out: LC_ALL=C.UTF-8 gnuplot -e \"data='F.csv'; out='F.svg'\" plots/NAME.gp"
    exit status 1
}
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile commentschars ""
# A row that a plot passes over does not break its lines.
set datafile missing NaN
set minussign

ink = "#222222"; faint = "#d8d8d8"; middle = "#767676"

# A text of the CSV. An apostrophe at its beginning is not part of it: it keeps spreadsheets from
# taking the text for a formula.
cell(name) = (raw = "".strcol(name), raw[1:1] eq "'" ? raw[2:] : raw)

# Contenders that the figure does not name have this colour (plots/palette.h): together they are "others".
pale = 0xC4C4C4
called(name) = int(column("colour")) == pale ? "others" : cell(name)

# What the figure is of and its caption stand in the first row. (strcol() of an empty last field
# would yield that of an earlier row.)
caption = ""; subject = ""
if (!exists("optional_caption")) {
    stats data using (column(0) == 0 ? (subject = cell("subject"), caption = cell("caption"), 0) : 0) nooutput
    if (subject eq "-") { subject = "" }
}

# Keys that all runs have stand in the CSV alone.
shared_at = strstrt(caption, " In all runs: ")
if (shared_at > 0) { rest = caption[shared_at + 1:]; shared_end = strstrt(rest, ". "); caption = caption[:shared_at - 1].(shared_end > 0 ? rest[shared_end + 1:] : "") }

# Scripts lay a figure out in units of the default's pixels. A named canvas is `canvas_width` units
# wide. One unit is `zoom` pixels of 1/96 inch: the smallest text, 10.5 units, has 7 points in a
# column and on a page.
sized = exists("canvas") ? strlen(canvas) > 0 : 0
if (!sized) { canvas = "" }
if (sized && canvas ne "column" && canvas ne "page" && canvas ne "slide") {
    print "canvas='".canvas."': column, page or slide"
    exit status 1
}
canvas_width = canvas eq "column" ? 360.0 : canvas eq "page" ? 756.0 : 800.0
zoom = canvas eq "slide" ? 1.6 : sized ? 8 / 9.0 : 1
# The width of a figure, the height of a panel, and any other value, of which the first is the default's.
wide(own) = sized ? canvas_width : own
high(own, column, page) = !sized ? own : canvas eq "column" ? column : page
or_sized(own, value) = sized ? value : own
# Panels side by side: all, or as many as fit on a named canvas, equally many in each line.
fit_panels = 'columns = panels; if (sized) { columns = int((width - left - right + between) / (narrowest + between)); \
    columns = columns < 1 ? 1 : columns > panels ? panels : columns }; \
    lines = (panels + columns - 1) / columns; columns = (panels + lines - 1) / lines'

# An end of an interval around a positive value. Where Student's t would reach 0, it is that of the logarithm: the
# half-width by the delta method, half-width / value. The caption says so; the CSV keeps t.
logged = 0
end_of(name, v, low, high) = v > 0 && low <= 0 && high > v ? (logged = 1, ratio = 0.5 * (high - low) / v, v * exp((name eq "low" ? -1 : 1) * (ratio < 20 ? ratio : 20))) : name eq "low" ? low : high
say_logged = 'if (logged) { caption = caption." Intervals that would reach 0 are of the logarithm." }'
# On a logarithmic axis the frame goes at most ten times beyond a value.
lower(a, b) = a < b ? a : b
near(v, end) = end < v / 10.0 ? v / 10.0 : end > 10 * v ? 10 * v : end

# Where panel `p` is: those of a last line that would leave half of it blank share its width.
place_panel = 'beside = panels - (p - 1) / columns * columns; beside = lines > 1 && 2 * beside <= columns ? beside : columns; \
    each = (width - left - right - between * (beside - 1)) / beside; across = left + (p - 1) % columns * (each + between)'

# Text in lines of at most `limit` characters. (Words taken by `for [w in text]` lose their
# apostrophes.)
wrapped = ""; wrapped_lines = 0
wrap = 'line = ""; wrapped = ""; wrapped_lines = 1; rest = text." "; while (strlen(rest) > 0) { \
    if (sized && strstrt(rest, " ") - 1 > limit) { rest = rest[:limit]." ".rest[limit + 1:] }; \
    w = rest[:strstrt(rest, " ") - 1]; rest = rest[strstrt(rest, " ") + 1:]; \
    if (strlen(line) + strlen(w) + 1 > limit) \
        {wrapped = wrapped.line."\n"; line = w; wrapped_lines = wrapped_lines + 1} \
    else {line = line.(strlen(line) > 0 && strlen(w) > 0 ? " " : "").w} }; wrapped = wrapped.line'

# The first `count` of `names` at most `limit` characters long: a longer one loses its middle, of which so much
# stays on either side that no two become alike.
longer(n, m) = n > m ? n : m
# What an axis from `low` to `high` leaves at its ends: where values are nearly equal, so much that ticks still differ.
room_of(low, high) = high > low ? longer(0.06 * (high - low), 0.005 * abs(high)) : high != 0 ? 0.1 * abs(high) : 1
shortened(name, ahead) = strlen(name) <= limit ? name : name[:ahead]."…".name[strlen(name) - limit + ahead + 2:]
shorten = 'array shorter[count]; longest = 0; do for [r=1:count] { alike = 1; do for [h in "0.3 0.5 0.2 0.7 0.1 0.9"] { if (alike) { \
        shorter[r] = shortened(names[r], int(limit * h)); alike = 0; do for [i=1:r - 1] { if (shorter[i] eq shorter[r]) { alike = 1 } } } } }; \
    do for [r=1:count] { names[r] = shorter[r]; longest = longer(longest, strlen(names[r])) }'

# Much on a slide makes its text smaller. Names of rows have one line each; on a named canvas they have at most `label_limit` characters.
label_limit = canvas eq "column" ? 22 : 40
name_width = or_sized(6.9, 7.3)
fit_rows = 'if (canvas eq "slide" && rows > 10) { canvas_width = 960.0 }; squeeze = 0.85; row_height = or_sized(20.0, 16.0); count = rows; limit = label_limit; if (sized) { eval(shorten) }'
# Names of rows 1 to `rows`, left of the panel: a tick's label would be read as a format, and be cut.
row_labels = 'do for [r=1:rows] { set label 1000 + r "".names[r] at graph 0, first r right offset -0.8, 0 front tc rgb ink }'
unrow_labels = 'do for [r=1:rows] { unset label 1000 + r }'

# begin(width, height, body): in units; the caption's lines, and those of the title beyond the first, are
# added to the height. `body` is the part of the height that grows by what a title or caption that is
# left out does not need, and on a slide to its height: by the factor `stretch`. Afterwards `top` and
# `floor` are the heights on the page between which panels go, in units from its lower edge. Of them
# `key_height` units above `top` are a legend's, at `key_top`.
if (!exists("heading")) { heading = "" }
if (!exists("no_title")) { no_title = 0 }
if (!exists("no_caption")) { no_caption = 0 }
key_height = 0
measure = 'text = heading.(strlen(subject) > 0 ? ": ".subject : ""); limit = int(width / 9.0); eval(wrap); \
    titled = wrapped; title_height = strlen(heading) > 0 ? 14 + or_sized(20, 22.5) * wrapped_lines - or_sized(0, 2.5) : 8; \
    text = caption; limit = int(width / or_sized(6.2, 6.8)); eval(wrap); caption_height = 20 + or_sized(15, 16.5) * wrapped_lines; spare = 0; \
    if (no_title) { titled = ""; spare = spare + title_height - 8; title_height = 8 }; \
    if (no_caption) { wrapped = ""; spare = spare + caption_height - 6; caption_height = 6 }; \
    full = height + title_height - 34 + caption_height'
# A figure for print is at most 9 in high, text of a slide at least 14 of 720 pixels: `body` shrinks to `squeeze`
# of its height at least. What then has no room is divided: the script prints how many panels of each file have
# room, each with how many rows, by the columns that number them, and ends with status 3 (plots/plot.c). `block` is
# the height of a line of panels; `divide` says what is divided: "grid", all its "rows", or the entries of a "legend".
squeeze = 0.6; divide = "grid"; divided_rows = "row"
most_high = canvas eq "slide" ? 540.0 : 972.0
no_room = 'least = full - (1 - squeeze) * body; says = ""; \
    if (divide eq "grid") { free = most_high - (full - lines * block); fit = int(free / (block - (1 - squeeze) * body / lines)); \
        if (fit > 0) { says = sprintf(" panel %d", fit * columns) } else { \
            fit = int((free - block + body / lines) / (squeeze * body / lines / rows)); \
            if (fit > 0) { says = sprintf(" panel %d %s %d", columns, divided_rows, fit) } } } \
    else { fit = divide eq "rows" ? int((most_high - full + body) / (squeeze * body / rows)) : int((most_high - least + key_height - 10) / 18) * key_columns - (entries - rows); \
        if (fit > 0) { says = sprintf(" %s %d", divided_rows, fit) } }; \
    says = strlen(says) > 0 ? "; divide:".says : "; draw fewer policies (--policies)"; \
    if (canvas eq "slide") { print sprintf("its text would be %.1f of 720 pixels high, which is less than 14", 10.5 * 720 / least).says } \
    else { print sprintf("it would be %.1f in high, which is more than 9", least * zoom / 96).says }; exit status 3'
begin = 'eval(measure); if (canvas eq "slide") { \
        if (16 * full > 9 * width) { width = full * 16 / 9.0 < 960 ? full * 16 / 9.0 : 960.0; eval(measure) }; \
        spare = width * 9 / 16.0 - full; zoom = 1280 / width; mark = extension eq ".svg" ? 0.85 * zoom : mark } \
    else { if (sized && full + spare > most_high) { spare = most_high - full } }; \
    if (sized && spare < (squeeze - 1) * body) { eval(no_room) }; \
    stretch = 1 + spare / (1.0 * body); full = full + spare; \
    eval(terminal); set output out; \
    floor = caption_height; key_top = full - title_height; top = key_top - key_height; \
    set multiplot; \
    set label 1 titled at screen 12.0 / width, screen 1 - 16.0 / full left front font size(15) tc rgb ink; \
    set label 2 wrapped at screen 12.0 / width, screen (caption_height - 16.0) / full left front font size(11) tc rgb middle'
# After the first plot, lest later panels repeat the labels.
once = 'unset label 1; unset label 2'

# `format` names the picture's format where the name of `out` does not.
extension = exists("format") ? ".".format : strlen(out) > 4 ? out[strlen(out) - 3:] : ""
# A font of so many units: terminals on cairo count in points, and scale them.
size(units) = sprintf(",%g", extension eq ".svg" ? units * zoom : 0.75 * units)
# What the terminals do not agree on: the size of a point, the length of a dash of our own, and how
# far labels stand from their axes and lines of a legend from each other, in characters.
mark = extension eq ".svg" ? 0.85 * zoom : 1.0
dash = extension eq ".svg" ? 1.0 : extension eq ".png" ? 2.2 : 1.6
xlabel_shift = extension eq ".svg" ? 0.5 : 0.3
ylabel_shift = extension eq ".svg" ? 1.2 : 0.0
key_spacing = extension eq ".svg" ? 1.0 : 1.25
# Text of a default PDF is smaller than that of the other formats; on a named canvas it is not.
if (extension eq ".svg") {
    terminal = 'set terminal svg size int(width * zoom + 0.5), int(full * zoom + 0.5) fixed noenhanced font sprintf("sans-serif,%g", 12 * zoom) background "white" linewidth zoom'
} else { if (extension eq ".png") {
    # 300 pixels per inch for print, 1920 by 1080 for a slide.
    terminal = 'dots = !sized ? 2 : (canvas eq "slide" ? 1.5 : 3.125) * zoom; \
        set terminal pngcairo size int(dots * width + 0.5), int(dots * full + 0.5) noenhanced font "sans-serif,9" fontscale dots linewidth dots pointscale dots background "white"'
} else { if (extension eq ".pdf") {
    terminal = 'set terminal pdfcairo size width * zoom / 96.0 in, full * zoom / 96.0 in noenhanced font "sans-serif,9" fontscale or_sized(0.5, 0.75 * zoom) linewidth or_sized(1, 1.5 * zoom) background "white"'
} else {
    print out.": the name of a figure ends in .svg, .png or .pdf"
    exit status 1
}}}

# Axes: left and bottom only, a faint grid behind the data.
set border 3 lc rgb middle
set tics nomirror out scale 0.6 tc rgb ink
set grid lc rgb faint lt 1 lw 0.7
set xtics tc rgb ink; set ytics tc rgb ink
set xlabel tc rgb ink offset 0, xlabel_shift; set ylabel tc rgb ink offset ylabel_shift, 0; set title tc rgb ink
set key tc rgb ink
unset mxtics; unset mytics

# A title of at most two lines, broken at the blank or dash nearest to its middle.
split = 'broken = text; if (strlen(text) > limit) { best = 0; do for [i=2:strlen(text)-1] { \
    if ((text[i:i] eq "-" || text[i:i] eq " ") && abs(i - strlen(text) / 2) < abs(best - strlen(text) / 2)) { best = i } }; \
    if (best > 0) { broken = text[:best]."\n".text[best+1:] } }'
# `text` with `other` in the place of `words`, if they are in it.
instead(text, words, other) = (found = strstrt(text, words), found == 0 ? text : text[:found - 1].other.text[found + strlen(words):])
# An axis title of at most two lines, if it is longer than its axis on a named canvas.
y_title = 'limit = sized ? int(tall / 6.8) : 1000; eval(split); set ylabel broken offset ylabel_shift - (broken eq text ? 0 : 1.3), 0'
x_title = 'limit = sized ? int((each + between) / 6.8) : 1000; eval(split); set xlabel broken offset 0, xlabel_shift'
# A round step for `count` ticks or fewer over `span`.
step(span, count) = (raw_step = 1.0 * span / count, power = 10.0 ** floor(log10(raw_step)), \
    power * (raw_step / power > 5 ? 10 : raw_step / power > 2 ? 5 : raw_step / power > 1 ? 2 : 1))
# The same for an axis from 0 whose `span` is so many pixels long: as many ticks as their labels leave room for,
# `most` at most, and one besides 0 at least.
below(span) = (power = 10.0 ** floor(log10(span)), power * floor(span / power))
label_width(span) = 12 + 7.0 * (span >= 10 ? strlen(sprintf("%.0f", span)) : 4)
fitting(span, pixels, most) = (fits = int(pixels / label_width(span)), \
    fits <= 1 ? below(span) : step(span, fits < most ? fits : most))
# Ticks in round steps between `from` and `to`: as many as `most_ticks` allows, but three at least.
ticks_in(s, l, h) = int(floor(h / s + 1e-9) - ceil(l / s - 1e-9)) + 1
three(l, h) = (power = 10.0 ** floor(log10((h - l) / 2.0)), power * (ticks_in(5 * power, l, h) >= 3 ? 5 : \
    ticks_in(2.5 * power, l, h) >= 3 ? 2.5 : ticks_in(2 * power, l, h) >= 3 ? 2 : ticks_in(power, l, h) >= 3 ? 1 : 0.5))
even_step(l, h, most) = (tick_step = step(h - l, most), ticks_in(tick_step, l, h) >= 3 ? tick_step : three(l, h))
# Along `each` units of an x axis: where their labels have no room, every other tick has one. Upright: `tall` units.
no_xtics = 'unset xtics; set xtics () nomirror out scale 0.6 tc rgb ink; set format x "%g"'
no_ytics = 'unset ytics; set ytics () nomirror out scale 0.6 tc rgb ink; y_format = "%g"'
x_ticks = 'tick_step = even_step(from, to, most_ticks); first_tick = int(ceil(from / tick_step - 1e-9)); last_tick = int(floor(to / tick_step + 1e-9)); \
    tick_room = 0; do for [i=first_tick:last_tick] { tick_room = tick_room + 10 + 7.0 * strlen(sprintf("%g", i * tick_step)) }; \
    every = tick_room > each * tick_step * (last_tick - first_tick + 1) / (to - from) ? 2 : 1; odd = every == 2 && abs(first_tick) % 2 == 1 && abs(last_tick) % 2 == 1; \
    eval(no_xtics); do for [i=first_tick:last_tick] { set xtics add (captioned && (i + odd) % every == 0 ? sprintf("%g", i * tick_step) : "" i * tick_step) }'
y_ticks = 'tick_step = even_step(from, to, most_ticks); eval(no_ytics); do for [i=int(ceil(from / tick_step - 1e-9)):int(floor(to / tick_step + 1e-9))] { set ytics add (labelled ? sprintf("%g", i * tick_step) : "" i * tick_step) }'
# A panel whose neighbour has the labels of its ticks has none.
labelled = 1; captioned = 1
# Of a logarithmic axis: even steps where it spans less than a factor of eight; else at 1, 2, 5 or 1, 3 or 1 of each
# decade, as many as have room, but three at least.
decade_ticks(digits, l, h) = sum [d=int(floor(log10(l))):int(floor(log10(h)))] sum [w=1:words(digits)] \
    (word(digits, w) * 10.0 ** d >= l && word(digits, w) * 10.0 ** d <= h)
digits_for(l, h, most) = decade_ticks("1 2 5", l, h) <= most || decade_ticks("1 3", l, h) < 3 ? "1 2 5" : \
    decade_ticks("1 3", l, h) <= most || decade_ticks("1", l, h) < 3 ? "1 3" : "1"
log_ticks = 'if (to < 8 * from) { most_ticks = int(each / 60) > 7 ? 7 : int(each / 60) > 3 ? int(each / 60) : 3; eval(x_ticks) } \
    else { log_room = int(each / (14 + 7.0 * longer(strlen(sprintf("%g", 10.0 ** floor(log10(to)))), strlen(sprintf("%g", 10.0 ** floor(log10(from))))))); digits = digits_for(from, to, log_room); \
        crowded = decade_ticks(digits, from, to) > log_room && decade_ticks("1", from, to) > 1; sparse = each / log10(1.0 * to / from) < 36; eval(no_xtics); \
        do for [d=int(floor(log10(from))):int(floor(log10(to)))] { do for [w in digits] { if (!sparse || d % 2 == 0) { set xtics add (crowded && w ne "1" ? "" : sprintf("%g", w * 10.0 ** d) w * 10.0 ** d) } } } }'
log_y_ticks = 'if (to < 8 * from) { most_ticks = 4; eval(y_ticks) } \
    else { digits = digits_for(from, to, int(tall / 16.0)); eval(no_ytics); \
        do for [d=int(floor(log10(from))):int(floor(log10(to)))] { do for [w in digits] { set ytics add (labelled ? sprintf("%g", w * 10.0 ** d) : "" w * 10.0 ** d) } } }'

# A legend above the panels on a named canvas, of `count` names and of other entries with at most `other_longest`
# characters, `entries` in all. fit_key precedes `begin`. (gnuplot's key leaves out, without a word, entries beyond
# the height of the panel that draws it.) Many names of a column share its width.
other_longest = 0
fit_key = 'if (canvas eq "slide" && entries > 10) { width = 960.0; canvas_width = 960.0 }; n = 0; limit = entries > 8 ? (canvas eq "column" ? 19 : canvas eq "page" ? 48 : 40) : canvas eq "column" ? 48 : 60; if (sized) { eval(shorten) }; longest = longer(longest, other_longest); \
    key_width = 46 + 6.5 * longest; key_columns = int((width - 16) / key_width); key_columns = key_columns < 1 ? 1 : key_columns; \
    key_lines = (entries + key_columns - 1) / key_columns; key_columns = (entries + key_lines - 1) / key_lines; \
    if (sized) { key_height = 18 * key_lines + 10; height = height + key_height }'

# Entry `n` of a legend of our own, where gnuplot's key has no room: a line and a marker (0: none) at
# (x, y) pixels, `text` right of it. `unlegend` takes the first n away.
# gnuplot's SVG joins lines of one colour and width whatever their dashes, so the width differs a little.
legend_colour = -1; thicker = 0
legend = 'thicker = colour == legend_colour ? 0.02 - thicker : 0; legend_colour = colour; if (line_dash > 0) { set arrow 100 + n from screen x / width, y / full to screen (x + 28.0) / width, y / full nohead front lw 1.6 + thicker dt line_dash lc rgb sprintf("#%06X", colour) }; \
    set label 100 + n "".text at screen (x + 14.0) / width, y / full left front offset 2.4, or_sized(0, -0.25) font size(11) tc rgb ink point pt point ps 0.8 * mark lc rgb sprintf("#%06X", colour)'
# `key_add` puts `text` into the legend above the panels, as its next entry.
key_add = 'n = n + 1; x = 14 + key_width * ((n - 1) / key_lines); \
    y = key_top - 12.0 - 18 * ((n - 1) % key_lines); eval(legend)'
unlegend = 'do for [i=1:n] { unset arrow 100 + i; unset label 100 + i }'
