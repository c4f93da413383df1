# One run over simulated time: utilisation and fragmentation, queues, containers.
#
# Columns: time_s, gpu, vcpu, gpu_memory, stranded (per cent), waiting, running, idle, starting (counts;
# means over the samples of a bin), title, caption.
folder = ARG0[:strstrt(ARG0, "timeline.gp") - 1]
load folder."common.gp"

title = ""
stats data using (strlen(strcol("title")) > 0 ? (title = "".strcol("title"), 0) : 0) nooutput
heading = "Over time: ".title
stats data using "time_s" nooutput; first = STATS_min; last = STATS_max
width = 1000.0; height = 34 + 3 * 190 + 44
eval(begin)
set lmargin at screen 72.0 / width
set rmargin at screen (width - 170.0) / width
set xrange [first:(last > first ? last : first + 1)]
set key at screen 1, screen 1 left
set style data lines
do for [p=1:3] {
    ceiling = floor + 44 + (4 - p) * 190 - 14.0
    set tmargin at screen ceiling / full
    set bmargin at screen (ceiling - 160.0) / full
    set key at screen (width - 160.0) / width, screen ceiling / full left top Left reverse samplen 2 spacing 1.3
    set format x (p == 3 ? "%g" : "")
    unset xlabel
    if (p == 3) { set xlabel "simulated time (s)" }
    if (p == 1) {
        set ylabel "share (%)"
        set yrange [0:100]; set ytics 25
        plot data using "time_s":"gpu" lw 1.8 lc rgb "#0072B2" title "vGPUs held", \
             data using "time_s":"vcpu" lw 1.6 dt 2 lc rgb "#D55E00" title "vCPUs held", \
             data using "time_s":"gpu_memory" lw 1.6 dt 3 lc rgb "#009E73" title "GPU memory", \
             data using "time_s":"stranded" lw 1.4 dt 4 lc rgb "#000000" title "stranded vGPUs"
        eval(once)
    }
    if (p == 2) {
        set ylabel "jobs, batches"
        set yrange [0:*]; set ytics autofreq
        plot data using "time_s":"waiting" lw 1.8 lc rgb "#D55E00" title "jobs waiting", \
             data using "time_s":"running" lw 1.6 dt 2 lc rgb "#0072B2" title "batches running"
    }
    if (p == 3) {
        set ylabel "containers"
        plot data using "time_s":"idle" lw 1.8 lc rgb "#009E73" title "idle, warm", \
             data using "time_s":"starting" lw 1.6 dt 2 lc rgb "#CC79A7" title "starting"
    }
}
unset multiplot
set output
