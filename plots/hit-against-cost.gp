# SLO hit rate against cost, a figure a setting: 95 % intervals both ways, the Pareto front of the
# contenders that ran, and the bound that none of them can pass.
#
# Columns: row, contender, cost, cost_half, hit, hit_half, front (1: no other is both cheaper and
# better), bound_cost, bound_hit, colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "hit-against-cost.gp") - 1]
heading = "SLO hit rate against cost"
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array names[rows]; array costs[rows]; array hits[rows]; array cost_half[rows]; array hit_half[rows]
array colours[rows]; array points[rows]
longest = 12; bound_cost = NaN; bound_hit = NaN; low = 1e300; high = -1e300
half(name) = strlen(strcol(name)) > 0 ? column(name) : 0
take(r) = (names[r] = "".strcol("contender"), costs[r] = column("cost"), hits[r] = column("hit"), \
    cost_half[r] = half("cost_half"), hit_half[r] = half("hit_half"), \
    colours[r] = int(column("colour")), points[r] = int(column("point")), \
    bound_cost = column("bound_cost"), bound_hit = column("bound_hit"), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    low = costs[r] - cost_half[r] < low ? costs[r] - cost_half[r] : low, \
    high = costs[r] + cost_half[r] > high ? costs[r] + cost_half[r] : high, 0)
stats data using (take(int(column("row")))) nooutput
if (bound_cost == bound_cost && bound_cost < low) { low = bound_cost }

lines = rows + 2
width = 1000.0
height = 34 + 60 + (22 * lines > 400 ? 22 * lines : 400)
eval(begin)
right = 60 + 7.0 * longest
set lmargin at screen 72.0 / width
set rmargin at screen (width - right) / width
set bmargin at screen (floor + 50.0) / full
set tmargin at screen (top - 6.0) / full
room = high > low ? 0.06 * (high - low) : 0.1 * high
set xrange [low - room:high + room]
set yrange [-4:104]
set format x "%g"
set ytics 20
set xlabel "cost ($ per 1,000 requests)"; set ylabel "SLO hit rate (%)"
set key at screen 1 - (right - 14.0) / width, screen (top - 2.0) / full left top Left reverse samplen 1.5 spacing 1.25 width 0
if (bound_cost == bound_cost) {
    set arrow 1 from bound_cost, graph 0 to bound_cost, graph 1 nohead lc rgb ink dt (6, 4) lw 1.2
    set arrow 2 from graph 0, first bound_hit to graph 1, first bound_hit nohead lc rgb ink dt (6, 4) lw 1.2
}
plot data using (column("front") == 1 ? column("cost") : NaN):(column("hit")) smooth unique \
         with steps lc rgb "#b8b8b8" lw 3 title "Pareto front of these", \
     NaN with lines lc rgb ink dt (6, 4) lw 1.2 title "bound", \
     for [r=1:rows] data using (int(column("row")) == r ? costs[r] : NaN):(hits[r]):(cost_half[r]):(hit_half[r]) \
         with xyerrorbars ps 0 lw 1.4 lc rgb colours[r] notitle, \
     for [r=1:rows] data using (int(column("row")) == r ? costs[r] : NaN):(hits[r]) \
         with points pt points[r] ps 1.2 lc rgb colours[r] title names[r]
eval(once)
unset multiplot
set output
