#!/bin/sh
# Tables as people have them, from the outside: one command reads each, or one line says what to type.
. tests/shell.sh

export ESGSIM_WIDTH=10000
esgsim=${SAN_BUILD:-build/sanitized}/esgsim

# table NAME: standard input becomes a table.
table() { cat >"$folder/$1"; }

# told NAME PATTERN: the last command succeeded and said so on standard error.
told() {
    if [ "$status" -eq 0 ] && grep -qE -- "$2" "$folder/err"; then pass "$1"; else explain "$1" "status 0 and /$2/ on standard error"; fi
}

# ---- Requests --------------------------------------------------------------------------------

printf 'timestamp,count\n100,2\n160,3\n220,4\n' | table counts.csv
printf 't,ok\n1,yes\n2,no\n4,yes\n7,yes\n' | table ok.csv
printf '{"at": 5, "in": {"app": "x"}}\n{"at": 7, "in": {"app": "y"}}\n' | table lines.jsonl
printf 't,app\n2023-01-01T08:00:00+08:00,a\n2022-12-31 17:00:05-0700,a\n2023-01-01 00:00:10 UTC,a\n' | table zones.csv
printf '0.5\ta\n0.6\tb\n' | table bare.tsv
printf 'HashApp,HashFunction,2,1\na,f,1,2\na,g,0,1\n' | table minutes.csv
printf 'app,func,end_timestamp,duration\nA,main,1.0,0.1\nB,main,2.0,0.5\n' | table apps.csv
cases <<'END'
0 :: a column of counts is requests :: requests +9$ :: trace stats "$folder/counts.csv" --columns time=timestamp,count=count --unit s
0 :: bins have the width that is given :: span.* 1[0-9][0-9]\. :: trace stats "$folder/counts.csv" --columns time=timestamp,count=count --unit s --bin 10
0 :: rows are selected :: requests +3$ :: trace stats "$folder/ok.csv" --columns time=t --unit s --where ok=yes
0 :: values of one column are alternatives :: requests +4$ :: trace stats "$folder/ok.csv" --columns time=t --unit s --where ok=yes --where ok=no
0 :: objects of JSON are rows :: sources +2 :: trace stats "$folder/lines.jsonl" --columns time=at,application=in.app --unit s
0 :: every offset of a clock is read :: span.* 10\.000 :: trace stats "$folder/zones.csv" --columns time=t --unit date
0 :: a table without a header gets one :: sources +2 :: trace stats "$folder/bare.tsv" --header t,app --columns time=t,application=app --unit s
0 :: a matrix of any minutes in any order :: requests +4$ :: trace stats "$folder/minutes.csv"
0 :: functions of two apps are two :: sources +2 :: trace stats "$folder/apps.csv"
0 :: files are merged in order of time :: requests +8$ :: trace stats "$folder/ok.csv" "$folder/ok.csv" --columns time=t --unit s
0 :: or follow one another :: span.* 12\.000 :: trace stats "$folder/ok.csv" "$folder/ok.csv" --columns time=t --unit s --concatenate
refused :: a rule for a column that is not there :: no table has that column :: trace stats "$folder/ok.csv" --columns time=t --unit s --where okay=yes
refused :: no row is selected :: selects no row :: trace stats "$folder/ok.csv" --columns time=t --unit s --where ok=maybe
refused :: a first row of values is no header :: by --header :: trace stats "$folder/bare.tsv" --columns time=#1 --unit s
refused :: an unknown header is answered with a command :: --columns 'time=t,application=app' :: trace stats "$folder/zones.csv"
refused :: and so are objects :: its columns are at, in :: trace stats "$folder/lines.jsonl"
END
run "$esgsim" trace stats "$folder/counts.csv" --columns time=timestamp,count=count --unit s
told "the width of the bins is stated" 'bins of 60 s, the median difference'
run "$esgsim" trace stats "$folder/counts.csv" --columns time=timestamp --unit s
told "a column that may count is noted" 'add count=count'
cut -d, -f1 "$folder/counts.csv" >"$folder/even.csv"
printf '280\n' >>"$folder/even.csv"
run "$esgsim" trace stats "$folder/even.csv" --columns time=timestamp --unit s
told "equal intervals are noted" 'all lines are 60 s apart'

# ---- Trainings -------------------------------------------------------------------------------

printf 'job_id,submit_time,num_gpus,duration\n1,0,4,600\n2,5,1,60\n' | table jobs.csv
printf 'a,n,p,e,user\n0,2,100,50,u\n1,3,200,60,v\n' | table gangs.csv
printf 'a,g,e\n0,0.5,50\n' | table part.csv
printf 'a,s,e,g\n1700000000,5,9,1\n' | table clocks.csv
printf 'a,g,d\nUnknown,1,5\n2,1,5\n' | table bad.csv
printf 'a,g,d\n0,1,00:01:30\n2,1,1-00:00:00\n' | table clock.csv
cat >"$folder/sacct.txt" <<'END'
JobID|Submit|End|AllocTRES
1|2024-01-01T00:00:00|2024-01-01T01:00:00|cpu=2,gres/gpu:a100=2,gres/gpu:a100_1g.5gb=3
1.batch|2024-01-01T00:00:00|2024-01-01T01:00:00|gres/gpu:a100=2
2|2024-01-02T00:00:00|2024-01-02T01:00:00|gres/gpu:a100=1,gres/gpu=4
3|2024-01-03T00:00:00|2024-01-03T01:00:00|cpu=2
END
cat >"$folder/philly.json" <<'END'
[
 {"jobid": "application_1", "submitted_time": "2017-10-09 07:01:55", "vc": "x", "attempts": [{"start_time": "2017-10-09 07:02:00",
  "end_time": "2017-10-09 07:12:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu3"]}]}]},
 {"jobid": "application_2", "submitted_time": "2017-10-09 07:05:55", "vc": "y", "attempts": []}
]
END
cases <<'END'
0 :: ends stand for durations :: ^ +2 +1 :: trace stats "$folder/gangs.csv" --as trainings --columns 'arrival=a,gpus=n*p%,end=e' --unit s
0 :: a product of percentages is a gang :: ^ +6 +1 :: trace stats "$folder/gangs.csv" --as trainings --columns 'arrival=a,gpus=n*p%,end=e' --unit s
0 :: durations on a clock, and a window :: duration_h mean +24 :: trace stats "$folder/clock.csv" --as trainings --columns arrival=a,gpus=g,duration=d --unit s --from 1
0 :: typed GPUs are summed where no total stands :: ^ +5 +1 :: trace stats "$folder/sacct.txt" --as trainings --columns arrival=Submit,end=End,gpus=AllocTRES --unit date
0 :: a log of Philly by paths :: ^ +3 +1 :: trace stats "$folder/philly.json" --as trainings --columns arrival=submitted_time,gpus=attempts.-1.detail.gpus,end=attempts.-1.end_time,start=attempts.0.start_time,id=jobid --unit date
0 :: and a share stays one :: ^ +1 +1 :: trace stats "$folder/part.csv" --as trainings --columns arrival=a,gpus=g,end=e --unit s
refused :: which our layout cannot hold :: part of a GPU :: trace convert "$folder/part.csv" --as trainings --columns arrival=a,gpus=g,end=e --unit s --out "$folder/own.csv"
refused :: two clocks in one table :: two clocks :: trace stats "$folder/clocks.csv" --as trainings --columns arrival=a,start=s,end=e,gpus=g --unit s
refused :: more than one bad line in a hundred :: 1 of 2 lines cannot be read, above 1 % :: trace stats "$folder/bad.csv" --as trainings --columns arrival=a,gpus=g,duration=d --unit s
refused :: an unknown table of jobs is answered with a command :: --as trainings --columns 'arrival=submit_time,gpus=num_gpus,duration=duration' :: trace stats "$folder/jobs.csv"
END
run "$esgsim" trace stats "$folder/sacct.txt" --as trainings --columns arrival=Submit,end=End,gpus=AllocTRES --unit date
told "steps are no jobs" '1 row of steps of jobs left out'
zcat traces/trainings/gavel_msr_seed_0_103959.trace.gz >"$folder/seven.trace"
awk -F '\t' -v OFS='\t' '{ print $1, $2, "folder", $3, $4, $5, $7, 1, -1, $6 }' "$folder/seven.trace" >"$folder/ten.trace"
awk -F '\t' -v OFS='\t' '{ print $1, $2, "folder", $3, $4, $5, $7, "static", 1, -1, 9, $6 }' "$folder/seven.trace" >"$folder/twelve.trace"
for form in seven ten twelve; do
    run "$esgsim" trace convert "$folder/$form.trace" --out "$folder/$form.csv"
    same "Gavel's form of $form fields" "$folder/seven.csv" "$folder/$form.csv"
done

# ---- Measurements ----------------------------------------------------------------------------

printf '"","Model","batch_size", "lat"\n"1","r",1,2500\n"2","r",2, 3500\n"3","r",4,5600\n' | table r.csv
printf 'model,slice,batch,t\nr,1g.5gb,1,20\nr,2g.10gb,1,12\nr,7g.40gb,1,5\nr,1g.5gb,2,30\n' | table mig.csv
printf '1,20,8.1,123\n2,20,12.3,162\n4,20,20.1,199\n' | table resnet50.csv
printf 'batch,Throughput,Latency\n1,400,10\n2,500,4\n' | table rates.csv
printf ',model,batch,latency_ms\n0,r,1,2.5\n1,r,2,3.4\n' | table index.csv
cp "$folder/resnet50.csv" "$folder/bs_sm_resnet50.csv"
cases <<'END'
0 :: columns of measurements are named :: Model.* 3\.5|r +1 +3 :: calibrate "$folder/r.csv" --columns function=Model,batch=batch_size,latency=lat --unit us
0 :: slices of MIG are shares :: r +1 +4 :: calibrate "$folder/mig.csv" --columns function=model,slice=slice,batch=batch,latency=t --unit ms
0 :: a table without a header gets one :: r +1 +3|resnet50 +1 +3 :: calibrate "$folder/resnet50.csv" --header batch,pct,ms,qps --columns batch=batch,share_pct=pct,latency=ms --unit ms
0 :: a column without a name is ignored :: r +1 +2 :: calibrate "$folder/index.csv" --ignore ''
refused :: four numbers are nobody's table :: has no header :: calibrate "$folder/resnet50.csv"
refused :: seconds that are milliseconds :: has another unit :: calibrate "$folder/bs_sm_resnet50.csv"
refused :: a throughput alone is not ParvaGPU's :: unknown table of measurements :: calibrate "$folder/rates.csv"
refused :: an unknown table is answered with a command :: --columns 'function=Model,batch=batch_size,latency=lat' :: calibrate "$folder/r.csv"
END
run "$esgsim" check traces/profiles/raw/sgprs/speedup.csv
expect "check takes what calibrate takes" 0 'samples'

# ---- Sources that are read once --------------------------------------------------------------

run "$esgsim" trace convert "$folder/seven.trace" --out "$folder/file.csv"
mkfifo "$folder/fifo"
cat "$folder/seven.trace" >"$folder/fifo" &
run timeout 60 "$esgsim" trace convert "$folder/fifo" --out "$folder/from_fifo.csv"
same "a FIFO gives the same trainings as the file" "$folder/file.csv" "$folder/from_fifo.csv"
sh -c 'cat "$1" | "$2" trace convert /dev/stdin --out "$3"' sh "$folder/seven.trace" "$esgsim" "$folder/from_pipe.csv"
same "and so does a pipe" "$folder/file.csv" "$folder/from_pipe.csv"
printf 'BZh9\n' | table log.bz2
run "$esgsim" trace stats "$folder/log.bz2"
expect_refusal "a compression that is not read is named" 'bzip2 -dc'

# ---- Trainings in order of arrival, against a simulator of its own ---------------------------------

cat >"$folder/order.py" <<'END'
import heapq, json, random, subprocess, sys
esgsim, folder = sys.argv[1:]
random.seed(7)
GPUS, now, jobs = 16, 0, []
for _ in range(400):
    now += random.randint(1, 900)
    jobs.append((now, random.choice([1, 1, 1, 2, 4, 8, 16]), random.randint(60, 7200)))
with open(folder + "/order.csv", "w") as out:
    out.write("arrival_s,gpus,duration_s\n" + "".join("%d,%d,%d\n" % job for job in jobs))
with open(folder + "/order.json", "w") as out:
    json.dump({"name": "order", "policy": {"name": "fifo"},
               "training": {"arrivals": {"process": "trace", "file": "order.csv"}},
               "cluster": {"invokers": [{"count": 1, "vcpus": 64, "memory_mb": 262144, "gpus": [
                   {"model": "V100", "sharing": "exclusive", "units": 1, "memory_mb": 16384, "count": GPUS}]}],
                   "price": {"vcpu_hour_usd": 0.03, "vgpu_hour_usd": 1}}}, out)

def mean_completion(skip):
    free, running, queue, coming, total = GPUS, [], [], list(jobs), 0
    while coming or queue:
        now = min([job[0] for job in coming[:1]] + [end for end, _ in running[:1]])
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        while coming and coming[0][0] <= now:
            queue.append(coming.pop(0))
        waiting = []
        for job in queue:
            if job[1] <= free and (skip or not waiting):
                free -= job[1]
                heapq.heappush(running, (now + job[2], job[1]))
                total += now + job[2] - job[0]
            else:
                waiting.append(job)
        queue = waiting
    return total / len(jobs)

for rule in "strict", "skip":
    said = subprocess.run([esgsim, "run", folder + "/order.json", "--json", "--set", "policy.params.head_of_line=" + rule],
                          stdout=subprocess.PIPE, check=True).stdout
    ours, theirs = json.loads(said)["training"]["jct_s"]["mean"], mean_completion(rule == "skip")
    print(rule, "same" if abs(ours / theirs - 1) < 1e-6 else "%g, not %g" % (ours, theirs))
END
run python3 "$folder/order.py" "$esgsim" "$folder"
expect "fifo serves strictly in order of arrival" 0 '^strict same$'
expect "and lets later gangs overtake by head_of_line=skip" 0 '^skip same$'

finish
