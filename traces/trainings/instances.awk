# Draws a set of instances in the layout dilu (traces/README.md):
#
#   awk -f instances.awk -v count=3200 -v seed=1
#
# The distributions are those of the generator in Dilu's repository (sigserverless/Dilu at 1134655,
# scheduling/simulations/workload/service_generator.py), in our own words; U is uniform:
#
#   share  type           GPUs    request       limit                          memory [GB]
#   20 %   training       2, 4    U(0.4, 0.8)   max(request + 0.2, U(0.6, 1))  25, 30, 35, 40
#   60 %   inference      1       U(0.2, 0.4)   max(request + 0.2, U(0.3, 0.6))  3 .. 10
#   20 %   llm-inference  1       U(0.4, 0.6)   U(request + 0.2, 0.8)          20 .. 30
#
# In random order one starts per second. Of inference and language models as many as 60 % of all
# end, after 1, 2 or 3 minutes; of trainings as many as 10 % of all, after 10 .. 15 minutes. The
# others run on. Random numbers: x <- 16807 x mod (2^31 - 1), the same under every awk.

function uniform() {
    state = (16807 * state) % 2147483647
    return state / 2147483647
}

function draw(low, high) { return int(0.5 + 100 * (low + uniform() * (high - low))) }

function pick(low, high) { return low + int(uniform() * (high - low + 1)) }

function most(a, b) { return a > b ? a : b }

function shuffle(list, first, last,    i, k, kept) {
    for (i = last; i > first; i--) {
        k = pick(first, i)
        kept = list[i]; list[i] = list[k]; list[k] = kept
    }
}

# Ends `ending` of the instances whose type is, or is not, training.
function end_some(trainings, ending, low, high,    n, i, list) {
    n = 0
    for (i = 1; i <= count; i++)
        if ((type[order[i]] == "training") == trainings)
            list[++n] = i
    shuffle(list, 1, n)
    for (i = 1; i <= n && i <= ending; i++)
        end[list[i]] = list[i] - 1 + 60 * pick(low, high)
}

function line(second, action, i,    list, g) {
    list = memory[i]
    for (g = 2; g <= gpus[i]; g++)
        list = list ", " memory[i]
    printf "{'Time': '2024-01-01 %02d:%02d:%02d', 'Action': '%s', 'Instance': {'service_name': '%s-%d', 'type': '%s', 'gpu_num': %d, 'sm_requests': %.2f, 'sm_limits': %.2f, 'memory': [%s]}}\n", \
        int(second / 3600), int(second / 60) % 60, second % 60, action, type[i], i, type[i], \
        gpus[i], request[i] / 100, limit[i] / 100, list
}

BEGIN {
    state = 1 + seed
    for (i = 0; i < 10; i++)
        uniform()
    for (i = 1; i <= count; i++) {
        order[i] = i
        gpus[i] = 1
        if (i <= int(count / 5)) {
            type[i] = "training"
            gpus[i] = 2 * pick(1, 2)
            memory[i] = 20 + 5 * pick(1, 4)
            request[i] = draw(0.4, 0.8)
            limit[i] = most(request[i] + 20, draw(0.6, 1))
        } else if (i <= 2 * int(count / 5)) {
            type[i] = "llm-inference"
            memory[i] = pick(20, 30)
            request[i] = draw(0.4, 0.6)
            limit[i] = draw((request[i] + 20) / 100, 0.8)
        } else {
            type[i] = "inference"
            memory[i] = pick(3, 10)
            request[i] = draw(0.2, 0.4)
            limit[i] = most(request[i] + 20, draw(0.3, 0.6))
        }
    }
    shuffle(order, 1, count)
    end_some(0, int(0.6 * count + 0.5), 1, 3)
    end_some(1, int(0.1 * count + 0.5), 10, 15)
    for (i = 1; i <= count; i++)
        if (i in end) {
            due[end[i]] = due[end[i]] " " order[i]
            last = most(last, end[i])
        }
    for (second = 0; second < count || second <= last; second++) {
        if (second < count)
            line(second, "start", order[second + 1])
        n = split(due[second], ending, " ")
        for (k = 1; k <= n; k++)
            line(second, "delete", ending[k])
    }
}
