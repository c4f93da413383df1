# One run over simulated time: utilisation; free vGPUs and those that no waiting batch could use;
# queues; containers. Utilisation alone where no request ever ran or waited.
#
# Columns: time_s, gpu, vcpu, gpu_memory, stranded (per cent), waiting, running, idle, starting (counts;
# means over the samples of a bin), subject, subject, caption.
folder = ARG0[:strstrt(ARG0, "timeline.gp") - 1]
heading = "Over time"
load folder."common.gp"

stats data using "time_s" nooutput; first = STATS_min; last = STATS_max
stats data using "idle" nooutput; most = STATS_max
stats data using "starting" nooutput; most = STATS_max > most ? STATS_max : most
stats data using "waiting" nooutput; busiest = STATS_max
stats data using "running" nooutput; busiest = STATS_max > busiest ? STATS_max : busiest
# On a named canvas the legend of a panel is above it; on a slide the panels are two by two.
width = wide(1000.0); left = 72.0; head = or_sized(14.0, 22.0); panels = busiest > 0 || most > 0 ? 4 : 1; columns = canvas eq "slide" && panels > 1 ? 2 : 1; lines = panels / columns
inner = high(135.0, 75.0, 100.0); body = lines * inner; foot = or_sized(44, 32)
each = columns == 2 ? (width - 2 * left - 36) / 2 : width - left - or_sized(170.0, 18)
height = 34 + lines * (inner + 16 + head) + foot
eval(begin)
tall = inner * stretch + 16 + head
set xrange [first:(last > first ? last : first + 1)]
set style data lines
array key_names[9] = ["vGPUs", "vCPUs", "GPU memory", "free", "stranded", "jobs waiting", "batches running", "idle and warm", "starting"]
array key_colours[9] = [0x0072B2, 0xD55E00, 0x009E73, 0xD8D8D8, 0xD55E00, 0xD55E00, 0x0072B2, 0x009E73, 0xCC79A7]
array key_dashes[9] = [1, 2, 3, 0, 0, 1, 2, 1, 2]
array key_panels[9] = [1, 1, 1, 2, 2, 3, 3, 4, 4]
# Without work waiting nothing is stranded.
number(name) = strlen(strcol(name)) > 0 ? column(name) : 0
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + left + 18); ceiling = floor + foot + (lines - (p - 1) / columns) * tall - head
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set tmargin at screen ceiling / full
    set bmargin at screen (ceiling - inner * stretch) / full
    set key at screen (width - 160.0) / width, screen ceiling / full left top Left reverse samplen 2.5 spacing key_spacing
    if (sized) {
        unset key; x = across - 12
        do for [k=1:9] {
            if (key_panels[k] == p) {
                text = key_names[k]; colour = key_colours[k]; line_dash = key_dashes[k]; point = line_dash > 0 ? 0 : 5; n = k; y = ceiling + 13.0
                eval(legend); x = x + 46 + 7 * strlen(text)
            }
        }
        n = 9
    }
    set format x (p > panels - columns ? "%g" : "")
    unset xlabel
    if (p > panels - columns) { set xlabel "simulated time (s)" offset 0, xlabel_shift }
    if (p == 1) {
        set ylabel "held (%)" offset ylabel_shift, 0
        set yrange [0:102]; set ytics 25
        plot data using "time_s":"gpu" lw 1.8 lc rgb "#0072B2" title "vGPUs", \
             data using "time_s":"vcpu" lw 1.6 dt 2 lc rgb "#D55E00" title "vCPUs", \
             data using "time_s":"gpu_memory" lw 1.6 dt 3 lc rgb "#009E73" title "GPU memory"
        eval(once)
    }
    if (p == 2) {
        set ylabel "free vGPUs (%)" offset ylabel_shift, 0
        set style fill solid 1.0 noborder
        free(g) = g == g ? 100 - g : NaN
        plot data using "time_s":(free(column("gpu"))) with fillsteps lc rgb faint title "free", \
             data using "time_s":(free(column("gpu")) * number("stranded") / 100) with fillsteps lc rgb "#D55E00" title "stranded"
    }
    if (p == 3) {
        set ylabel "jobs, batches" offset ylabel_shift, 0
        set yrange [0:(busiest > 0 ? 1.06 * busiest : 1)]; set ytics autofreq step(busiest > 0 ? busiest : 1, 5)
        plot data using "time_s":"waiting" lw 1.8 lc rgb "#D55E00" title "jobs waiting", \
             data using "time_s":"running" lw 1.6 dt 2 lc rgb "#0072B2" title "batches running"
    }
    if (p == 4) {
        set ylabel "containers" offset ylabel_shift, 0
        set yrange [0:(most > 0 ? 1.06 * most : 1)]; set ytics autofreq step(most > 0 ? most : 1, 5)
        plot data using "time_s":"idle" lw 1.8 lc rgb "#009E73" title "idle and warm", \
             data using "time_s":"starting" lw 1.6 dt 2 lc rgb "#CC79A7" title "starting"
    }
    if (sized) { eval(unlegend) }
}
unset multiplot
set output
