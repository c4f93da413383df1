# SLO hit rate against cost, a figure a setting: 95 % intervals both ways, the Pareto front of the
# contenders that ran, and the bound that none of them can pass.
#
# Columns: row, contender, cost_axis, cost, cost_low, cost_high, hit_axis, hit, hit_low, hit_high, front (1: no other is
# both cheaper and better), bound_cost, bound_hit, colour, point, subject, caption.
folder = ARG0[:strstrt(ARG0, "hit-against-cost.gp") - 1]
heading = "SLO hit rate against cost"
load folder."common.gp"

stats data using "row" nooutput; rows = int(STATS_max)
array names[rows]; array costs[rows]; array hits[rows]; array cost_low[rows]; array cost_high[rows]
array hit_low[rows]; array hit_high[rows]
array colours[rows]; array points[rows]
longest = or_sized(21, 0); other_longest = 12; bound_cost = NaN; bound_hit = NaN; cost_axis = ""; hit_axis = ""; low = 1e300; high = -1e300
end(name, value) = strlen(strcol(name)) > 0 ? column(name) : value
take(r) = (names[r] = called("contender"), costs[r] = column("cost"), hits[r] = column("hit"), \
    cost_low[r] = end("cost_low", costs[r]), cost_high[r] = end("cost_high", costs[r]), \
    hit_low[r] = end("hit_low", hits[r]), hit_high[r] = end("hit_high", hits[r]), \
    colours[r] = int(column("colour")), points[r] = int(column("point")), \
    bound_cost = column("bound_cost"), bound_hit = column("bound_hit"), \
    cost_axis = cell("cost_axis"), hit_axis = cell("hit_axis"), \
    longest = strlen(names[r]) > longest ? strlen(names[r]) : longest, \
    low = cost_low[r] < low ? cost_low[r] : low, \
    high = cost_high[r] > high ? cost_high[r] : high, 0)
stats data using (take(int(column("row")))) nooutput
if (bound_cost == bound_cost && bound_cost < low) { low = bound_cost }

# Who is within 10 points of the best stands close together: a second panel shows them from near.
top_hit = -1; near = 0; near_low = 1e300; near_high = -1e300; near_floor = 1e300; near_roof = -1e300
do for [r=1:rows] { top_hit = hits[r] > top_hit ? hits[r] : top_hit }
do for [r=1:rows] {
    if (hits[r] >= top_hit - 10 && costs[r] == costs[r]) {
        near = near + 1
        near_low = cost_low[r] < near_low ? cost_low[r] : near_low
        near_high = cost_high[r] > near_high ? cost_high[r] : near_high
        near_floor = hit_low[r] < near_floor ? hit_low[r] : near_floor
        near_roof = hit_high[r] > near_roof ? hit_high[r] : near_roof
    }
}
near_floor = near_floor < top_hit - 12 ? top_hit - 12 : near_floor
near_roof = near_roof > 100 ? 100 : near_roof
# Where most are above 90 %, the second panel has all, by their misses on a logarithmic axis.
good = 0; least = 1; worst = 100
do for [r=1:rows] { good = good + (hits[r] > 90)
    if (hits[r] < 100 && 100 - hits[r] < least) { least = 100 - hits[r] }
    if (hit_low[r] < worst) { worst = hit_low[r] } }
misses = 2 * good > rows; least = least / 2 > 0.001 ? least / 2 : 0.001; worst = worst > 0 ? worst : 0
by_miss(v) = -log10((100 - v > least ? 100 - v : least) / 100.0)
height_of(v) = misses && p == 2 ? by_miss(v) : v
panels = misses ? 2 : near > 1 && (near < rows || near_roof > near_floor) ? 2 : 1

# The pale ones, which are the last, are named once.
named = rows; while (named > 1 && colours[named] == pale && colours[named - 1] == pale) { named = named - 1 }
entries = named + 2
width = wide(panels == 2 ? 1200.0 : 1000.0)
left = or_sized(72.0, 84.0); between = 60.0; narrowest = 200.0
right = or_sized(60 + 7.0 * longest, 24)
tall = high(4 + (22 * entries > 400 ? 22 * entries : 400), 170.0, canvas eq "slide" ? 210.0 : 250.0)
eval(fit_panels)
body = lines * tall; height = 34 + lines * (tall + or_sized(76, 82))
count = named; divide = "legend"; eval(fit_key); eval(begin)
tall = tall * stretch; block = tall + or_sized(76, 82)
each = (width - left - right - between * (columns - 1)) / columns
set xlabel cost_axis offset 0, xlabel_shift
set format x "%g"
room = room_of(low, high)
do for [p=1:panels] {
    across = left + (p - 1) % columns * (each + between); ceiling = top - 26.0 - (p - 1) / columns * block
    set lmargin at screen across / width
    set rmargin at screen (across + each) / width
    set bmargin at screen (ceiling - tall) / full
    set tmargin at screen ceiling / full
    unset key; unset object; unset ylabel; unset arrow
    if (p == 1) {
        from = low - room; to = high + room; bottom = -4; roof = 104
        set ylabel hit_axis offset ylabel_shift, 0
        set ytics () nomirror out; do for [i=0:5] { set ytics add (sprintf("%d", 20 * i) 20 * i) }
        if (panels == 2) { set title "all" font size(12) offset 0, -0.6 }
    } else { if (misses) {
        from = low - room; to = high + room; bottom = by_miss(worst) - 0.05; roof = by_miss(100) + 0.05
        set title "the same by misses" font size(12) offset 0, -0.6
        set ylabel "SLO misses (%, logarithmic)" offset ylabel_shift, 0
    } else {
        spread = near_high > near_low ? 0.08 * (near_high - near_low) : near_high != 0 ? 0.02 * abs(near_high) : 1
        rise = near_roof > near_floor ? 0.08 * (near_roof - near_floor) : 0.5
        from = near_low - spread; to = near_high + spread
        bottom = near_floor - rise; roof = near_roof + rise
        if (columns == 1) { set ylabel hit_axis offset ylabel_shift, 0 }
        set title "within 10 points of the best" font size(12) offset 0, -0.6
    } }
    set xrange [from:to]; set yrange [bottom:roof]
    most_ticks = panels == 2 ? 5 : 8; eval(x_ticks)
    if (p == 2 && misses) { set ytics () nomirror out; do for [d=-2:4] { if (d >= bottom && d <= roof) { set ytics add (sprintf("%g", 100 * 10.0 ** -d) d) } } } \
    else { if (p == 2) { start = from; end_x = to; from = bottom; to = roof; most_ticks = 8; eval(y_ticks); from = start; to = end_x } }
    if (bound_cost == bound_cost) {
        if (bound_cost >= from && bound_cost <= to) {
            set arrow 1 from bound_cost, graph 0 to bound_cost, graph 1 nohead lc rgb ink dt (6 * dash, 4 * dash) lw 1.2
        }
        if (height_of(bound_hit) >= bottom && height_of(bound_hit) <= roof) {
            set arrow 2 from graph 0, first height_of(bound_hit) to graph 1, first height_of(bound_hit) nohead lc rgb ink dt (6 * dash, 4 * dash) lw 1.2
        }
    }
    if (sized && p == 1) {
        text = "Pareto front"; line_dash = 1; point = 0; colour = 0xB8B8B8; eval(key_add)
        if (bound_hit == bound_hit) { text = "bound"; line_dash = 2; colour = 0x222222; eval(key_add) }
        do for [r=1:named] { text = names[r]; line_dash = 0; point = points[r]; colour = colours[r]; eval(key_add) } }
    if (!sized && p == panels) {
        set key at screen 1 - (right - 14.0) / width, screen (top - 20.0) / full left top Left reverse samplen 1.5 spacing key_spacing width 0
    }
    # The first contenders are drawn last, over the others.
    plot data using (column("front") == 1 ? column("cost") : NaN):(height_of(column("hit"))) smooth unique \
             with steps lc rgb "#b8b8b8" lw 3 title "Pareto front of these", \
         NaN with lines lc rgb ink dt (6 * dash, 4 * dash) lw 1.2 title (bound_hit == bound_hit ? "bound" : ""), \
         for [r=1:named] NaN with points pt points[r] ps 1.2 * mark lc rgb colours[r] title names[r], \
         for [r=rows:1:-1] data using (int(column("row")) == r && colours[r] != pale ? costs[r] : NaN):(height_of(hits[r])):(cost_low[r]):(cost_high[r]):(height_of(hit_low[r])):(height_of(hit_high[r])) \
             with xyerrorbars pt -1 lw 1.4 lc rgb colours[r] notitle, \
         for [r=rows:1:-1] data using (int(column("row")) == r && colours[r] != pale && height_of(hits[r]) > bottom && height_of(hit_low[r]) < bottom ? costs[r] : NaN):(height_of(hits[r])):(0):(bottom - height_of(hits[r])) \
             with vectors filled size screen 7.0 / width, 20 lw 1.4 lc rgb colours[r] notitle, \
         for [r=rows:1:-1] data using (int(column("row")) == r && colours[r] != pale && height_of(hits[r]) > bottom && cost_low[r] < from && costs[r] > from ? costs[r] : NaN):(height_of(hits[r])):(from - costs[r]):(0) \
             with vectors filled size screen 7.0 / width, 20 lw 1.4 lc rgb colours[r] notitle, \
         for [r=rows:1:-1] data using (int(column("row")) == r ? costs[r] : NaN):(height_of(hits[r])) \
             with points pt points[r] ps 1.2 * mark lc rgb colours[r] notitle
    eval(once); eval(unlegend)
}
unset multiplot
set output
