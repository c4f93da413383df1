# What every figure shares: reading the CSV, the terminal that the output's name asks for, the
# caption. Loaded by the figures' own scripts, which expect `data` (a CSV file) and `out` (a file
# name ending in .svg, .png or .pdf):
#
#   gnuplot -e "data='hit-rate.csv'; out='hit-rate.svg'" plots/hit-rate.gp
#
# Colours, markers and dashes are columns of the CSV: plots/palette.c gives each policy its own.
if (!exists("data") || !exists("out")) {
    print "give data and out: gnuplot -e \"data='F.csv'; out='F.svg'\" plots/NAME.gp"
    exit status 1
}
set encoding utf8
set datafile separator comma
set datafile columnheaders
set datafile commentschars ""
set minussign

ink = "#222222"; faint = "#d8d8d8"; middle = "#767676"

# The caption stands in the first row's column of that name.
caption = ""
if (!exists("optional_caption")) {
    stats data using (strlen(strcol("caption")) > 0 ? (caption = "".strcol("caption"), 0) : 0) nooutput
}

# Text in lines of at most `limit` characters.
wrapped = ""; wrapped_lines = 0
wrap = 'line = ""; wrapped = ""; wrapped_lines = 1; do for [w in text] { \
    if (strlen(line) + strlen(w) + 1 > limit) \
        {wrapped = wrapped.line."\n"; line = w; wrapped_lines = wrapped_lines + 1} \
    else {line = line.(strlen(line) > 0 ? " " : "").w} }; wrapped = wrapped.line'

# begin(width, height): in pixels; the caption's lines are added to the height. Afterwards `top` and
# `floor` are the heights on the page between which panels go, in pixels from its lower edge.
if (!exists("heading")) { heading = "" }
begin = 'text = caption; limit = int(width / 6.4); eval(wrap); caption_height = 10 + 15 * wrapped_lines; \
    full = height + caption_height; eval(terminal); set output out; \
    floor = caption_height; top = full - (strlen(heading) > 0 ? 34 : 8); \
    set multiplot; \
    set label 1 heading at screen 12.0 / width, screen 1 - 16.0 / full left front font ",14" tc rgb ink; \
    set label 2 wrapped at screen 12.0 / width, screen (caption_height - 8.0) / full left front font ",11" tc rgb middle'
# After the first plot, lest later panels repeat the labels.
once = 'unset label 1; unset label 2'

extension = strlen(out) > 4 ? out[strlen(out) - 3:] : ""
family = "DejaVu Sans,Verdana,sans-serif"
if (extension eq ".svg") {
    terminal = 'set terminal svg size width, full fixed noenhanced font "sans-serif,12" background "white" linewidth 1'
} else { if (extension eq ".png") {
    terminal = 'set terminal pngcairo size 2 * width, 2 * full noenhanced font "sans-serif,9" fontscale 2 linewidth 2 pointscale 2 background "white"'
} else { if (extension eq ".pdf") {
    terminal = 'set terminal pdfcairo size width / 96.0 in, full / 96.0 in noenhanced font "sans-serif,9" linewidth 1 background "white"'
} else {
    print out.": the name of a figure ends in .svg, .png or .pdf"
    exit status 1
}}}

# Axes: left and bottom only, a faint grid behind the data.
set border 3 lc rgb middle
set tics nomirror out scale 0.6 tc rgb ink
set grid lc rgb faint lt 1 lw 0.7
set xtics tc rgb ink; set ytics tc rgb ink; set xlabel tc rgb ink; set ylabel tc rgb ink; set title tc rgb ink
set key tc rgb ink
