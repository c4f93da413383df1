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

# What the figure is of and its caption stand in the first row. (strcol() of an empty last field
# would yield that of an earlier row.)
caption = ""; subject = ""
if (!exists("optional_caption")) {
    stats data using (column(0) == 0 ? (subject = cell("subject"), caption = cell("caption"), 0) : 0) nooutput
    if (subject eq "-") { subject = "" }
}

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

# Text in lines of at most `limit` characters. (Words taken by `for [w in text]` lose their
# apostrophes.)
wrapped = ""; wrapped_lines = 0
wrap = 'line = ""; wrapped = ""; wrapped_lines = 1; rest = text." "; while (strlen(rest) > 0) { \
    if (sized && strstrt(rest, " ") - 1 > limit) { rest = rest[:limit]." ".rest[limit + 1:] }; \
    w = rest[:strstrt(rest, " ") - 1]; rest = rest[strstrt(rest, " ") + 1:]; \
    if (strlen(line) + strlen(w) + 1 > limit) \
        {wrapped = wrapped.line."\n"; line = w; wrapped_lines = wrapped_lines + 1} \
    else {line = line.(strlen(line) > 0 && strlen(w) > 0 ? " " : "").w} }; wrapped = wrapped.line'

# Names of rows in lines of at most `label_limit` characters on a named canvas, and the height of a row. Many
# rows have one line each where the canvas is wide enough, and narrower panels (`many_rows`).
label_limit = canvas eq "column" ? 18 : 34
fit_rows = 'squeeze = 0.85; many_rows = sized && canvas ne "column" && rows > 10; if (many_rows) { label_limit = 50 }; row_height = or_sized(20.0, 16.0); array name_lines[rows]; do for [r=1:rows] { name_lines[r] = 1 }; \
    if (sized) { longest = 0; do for [r=1:rows] { longest = strlen(names[r]) > longest ? strlen(names[r]) : longest; \
        text = names[r]; limit = label_limit; eval(wrap); names[r] = wrapped; name_lines[r] = wrapped_lines; \
        row_height = 18.0 * wrapped_lines - 2 > row_height ? 18.0 * wrapped_lines - 2 : row_height }; \
        longest = longest > label_limit ? label_limit : longest }'
# Names of rows 1 to `rows`, left of the panel: a tick's label would be read as a format, and be cut.
row_labels = 'do for [r=1:rows] { set label 1000 + r "".names[r] at graph 0, first r right offset -0.8, 0.5 * (name_lines[r] - 1) front tc rgb ink }'
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
    text = caption; limit = int(width / 6.2); eval(wrap); caption_height = 20 + or_sized(15, 16.5) * wrapped_lines; spare = 0; \
    if (no_title) { titled = ""; spare = spare + title_height - 8; title_height = 8 }; \
    if (no_caption) { wrapped = ""; spare = spare + caption_height - 6; caption_height = 6 }; \
    full = height + title_height - 34 + caption_height'
# A figure for print has at most 9.5 in: `body` shrinks to `squeeze` of its height at least. Text of a slide
# has at least 8 pixels of 720. Where that is not possible the script says why and ends with status 3.
squeeze = 0.6; remedy = "; draw fewer policies (--policies) or give another --size, or none"
begin = 'eval(measure); if (canvas eq "slide") { \
        if (16 * full > 9 * width) { width = full * 16 / 9.0; eval(measure) }; \
        spare = width * 9 / 16.0 - full; zoom = 1280 / width; mark = extension eq ".svg" ? 0.85 * zoom : mark }; \
    if (sized && canvas ne "slide" && (full + spare) * zoom > 9.5 * 96) { \
        if (full - (1 - squeeze) * body > 9.5 * 96 / zoom) { print sprintf("it would be %.1f in high, which is more than 9.5", full * zoom / 96).remedy; exit status 3 }; \
        spare = 9.5 * 96 / zoom - full }; \
    stretch = 1 + spare / (1.0 * body); full = full + spare; \
    if (canvas eq "slide" && 10.5 * zoom < 8) { print sprintf("its text would be %.1f of 720 pixels high, which is less than 8", 10.5 * zoom).remedy; exit status 3 }; \
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
# Ticks of a logarithmic axis `each` pixels long: even steps where it spans less than a factor of eight; at
# 1, 2, 5 where there is room; at 1, 3 where powers of ten alone would be fewer than two; else at those.
log_ticks = 'unset xtics; set xtics () nomirror out scale 0.6 tc rgb ink; tick_low = floor(log10(from)); tick_high = ceil(log10(to)); \
    if (to < 8 * from) { tick_step = step(to - from, each / 60 > 7 ? 7 : int(each / 60) > 1 ? int(each / 60) : 2); \
        do for [i=int(ceil(from / tick_step)):int(floor(to / tick_step))] { set xtics add (sprintf("%g", i * tick_step) i * tick_step) }; \
        tick_high = tick_low - 1 }; \
    per_decade = each / log10(1.0 * to / from); tens = floor(log10(to)) - ceil(log10(from)) + 1; \
    do for [d=tick_low:tick_high] { if (per_decade >= 40 || d % 2 == 0) { set xtics add (sprintf("%g", 10.0 ** d) 10.0 ** d) }; \
    if (per_decade >= or_sized(130, 27 + 23 * strlen(sprintf("%g", to)))) { set xtics add (sprintf("%g", 2 * 10.0 ** d) 2 * 10.0 ** d, sprintf("%g", 5 * 10.0 ** d) 5 * 10.0 ** d) } \
    else { if (tens < 2 || (sized && per_decade >= 95)) { set xtics add (sprintf("%g", 3 * 10.0 ** d) 3 * 10.0 ** d) } } }'

# The same upright, for a short axis: even steps below a factor of eight; at 1, 2, 5 below one of hundred.
# Their labels are written with `y_format`.
y_format = "%g"
log_y_ticks = 'unset ytics; set ytics () nomirror out scale 0.6 tc rgb ink; \
    if (to < 8 * from) { tick_step = step(to - from, 4); \
        do for [i=int(ceil(from / tick_step)):int(floor(to / tick_step))] { set ytics add (sprintf(y_format, i * tick_step) i * tick_step) } } \
    else { do for [d=floor(log10(from)):ceil(log10(to))] { set ytics add (sprintf(y_format, 10.0 ** d) 10.0 ** d); \
        if (to < 100 * from) { set ytics add (sprintf(y_format, 2 * 10.0 ** d) 2 * 10.0 ** d, sprintf(y_format, 5 * 10.0 ** d) 5 * 10.0 ** d) } } }'

# A legend above the panels on a named canvas, for `entries` names of at most `longest` characters. fit_key
# precedes `begin`. (gnuplot's key leaves out entries beyond the height of the panel that draws it.) A
# longer name loses its middle.
key_limit = canvas eq "column" ? 48 : 60
short(name) = sized && strlen(name) > key_limit ? name[:key_limit / 2]."…".name[strlen(name) - key_limit / 2 + 2:] : name
fit_key = 'n = 0; key_width = 46 + 6.5 * (longest < key_limit ? longest : key_limit); \
    key_columns = int((width - 16) / key_width); key_columns = key_columns < 1 ? 1 : key_columns; \
    key_lines = (entries + key_columns - 1) / key_columns; key_columns = (entries + key_lines - 1) / key_lines; \
    if (sized) { key_height = 18 * key_lines + 10; height = height + key_height }'

# Entry `n` of a legend of our own, where gnuplot's key has no room: a line and a marker (0: none) at
# (x, y) pixels, `text` right of it. `unlegend` takes the first n away.
# gnuplot's SVG joins lines of one colour and width whatever their dashes, so the width differs a little.
legend_colour = -1; thicker = 0
legend = 'thicker = colour == legend_colour ? 0.02 - thicker : 0; legend_colour = colour; if (line_dash > 0) { set arrow 100 + n from screen x / width, y / full to screen (x + 28.0) / width, y / full nohead front lw 1.6 + thicker dt line_dash lc rgb sprintf("#%06X", colour) }; \
    set label 100 + n "".text at screen (x + 14.0) / width, y / full left front offset 2.4, or_sized(0, -0.25) font size(11) tc rgb ink point pt point ps 0.8 * mark lc rgb sprintf("#%06X", colour)'
# `key_add` puts `text` into the legend above the panels, as its next entry.
key_add = 'n = n + 1; text = short(text); x = 14 + key_width * ((n - 1) / key_lines); \
    y = key_top - 12.0 - 18 * ((n - 1) % key_lines); eval(legend)'
unlegend = 'do for [i=1:n] { unset arrow 100 + i; unset label 100 + i }'
