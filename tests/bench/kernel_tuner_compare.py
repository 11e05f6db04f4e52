#!/usr/bin/env python3
"""kernel_tuner_compare.py -- the same kernel, space, card and time for autotune and Kernel Tuner.

  tests/bench/kernel_tuner_compare.py build/autotune [--seconds 40] [--n 1024] [--strategy random_sample]

Needs a GPU, and in Python kernel_tuner with cuda-python (pip install kernel_tuner[cuda]). A tiled
matrix product in CUDA text goes to Kernel Tuner as it is, with its parameters as -D, and to autotune
as a template around the same text. Both compile with NVRTC, check every configuration and time it;
Kernel Tuner takes 7 launches, its default, autotune as many as its own rules say. Random order, one
after the other, never at the same time. Trials are configurations that were finished, failures
included. Each tool's best is also given as autotune times it, as Kernel Tuner leaves what fits in the
second-level cache there.
"""
import argparse, json, os, subprocess, sys, tempfile, time

KERNEL = r"""
extern "C" __global__ void __launch_bounds__(TX * TY) matmul(int n, const float *a, const float *b, float *c) {
  __shared__ float as[BK][TY * TM + PAD], bs[BK][TX * TN];
  float sum[TM][TN] = {};
  const int tx = threadIdx.x, ty = threadIdx.y, me = ty * TX + tx;
  const int row = blockIdx.y * TY * TM, column = blockIdx.x * TX * TN;
  for (int k = 0; k < n; k += BK) {
    for (int i = me; i < TY * TM * BK; i += TX * TY) as[i % BK][i / BK] = a[(row + i / BK) * n + k + i % BK];
    for (int i = me; i < TX * TN * BK; i += TX * TY) bs[i / (TX * TN)][i % (TX * TN)] = b[(k + i / (TX * TN)) * n + column + i % (TX * TN)];
    __syncthreads();
#pragma unroll UNROLL
    for (int p = 0; p < BK; p++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] += as[p][ty * TM + i] * bs[p][tx + j * TX];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j++) c[(row + ty * TM + i) * n + column + tx + j * TX] = sum[i][j];
}
"""

SPACE = {"TX": [8, 16, 32], "TY": [4, 8, 16, 32], "TM": [1, 2, 4, 8], "TN": [1, 2, 4, 8],
         "BK": [8, 16, 32], "UNROLL": [1, 4, 8], "PAD": [0, 1]}
CONDITIONS = ["TX * TY >= 64", "TX * TY <= 1024", "4 * BK * (TY * TM + PAD + TX * TN) <= 49152", "UNROLL <= BK",
              "TM * TN <= 64"]


def template(n):
    space = ", ".join("{ '%s', { %s } }" % (k, ", ".join(map(str, v))) for k, v in SPACE.items())
    require = ", ".join("{ 'condition %d', '%s' }" % (i, c) for i, c in enumerate(CONDITIONS))
    return f"""return {{
  name = "matmul", version = 1, brief = "c = a b, square, whole tiles", cite = "tiled matrix product",
  problem = {{ {{ "n", 256, 8192, default = {n} }} }},
  args = {{ {{ "n", "i32", value = "n" }},
    {{ "a", "f32", "in", count = "n * n", fill = {{ "uniform", -1, 1 }} }},
    {{ "b", "f32", "in", count = "n * n", fill = {{ "uniform", -1, 1 }} }},
    {{ "c", "f32", "out", count = "n * n" }} }},
  space = {{ {space} }},
  derive = {{}},
  require = {{ {require} }},
  default = {{ TX = 16, TY = 16, TM = 1, TN = 1, BK = 16, UNROLL = 1, PAD = 0 }},
  stages = {{ {{ kernel = "matmul", grid = {{ "n // (TX * TN)", "n // (TY * TM)" }}, block = {{ "TX", "TY" }},
    args = {{ "n", "a", "b", "c" }} }} }},
  source = [[{KERNEL}]],
  reference = {{
    stages = {{ {{ kernel = "slow", grid = {{ "n // 16", "n // 16" }}, block = {{ 16, 16 }}, args = {{ "n", "a", "b", "c" }} }} }},
    source = [[
extern "C" __global__ void slow(int n, const float *a, const float *b, float *c) {{
  const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < n; k++) sum += (double)a[i * n + k] * b[k * n + j];
  c[i * n + j] = (float)sum;
}}
]] }},
  tolerance = {{ abs = "2^-24 * 4 * n", rel = 0 }}, flops = "2 * n * n * n", bytes = "12 * n * n",
  sizes = {{ emu = {{ "n=256" }}, test = {{ "n=256" }}, bench = {{ "n={n}" }} }},
}}
"""


def run_autotune(options, folder):
    path = os.path.join(folder, "matmul.lua")
    with open(path, "w") as f:
        f.write(template(options.n))
    environment = dict(os.environ, TUNED_DB=os.path.join(folder, "tuned.db"))
    base = [options.autotune, path, f"n={options.n}", "--device", options.device]
    start = time.perf_counter()
    out = subprocess.run(base + ["--budget", f"{options.seconds}s", "--strategy", "random", "--json"],
                         env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if out.returncode:
        sys.exit("autotune failed: " + out.stderr)
    rows = [json.loads(x) for x in subprocess.run(
        [options.autotune, "show"] + base[1:] + ["--json", "--top", "100000"], env=environment,
        capture_output=True, text=True).stdout.splitlines()]
    times = {r["config"]: r.get("seconds", r.get("modelled_seconds")) for r in rows if r["status"] == "ok"}
    if not times:
        sys.exit("autotune: no configuration worked; " + str(rows[:1]) + out.stderr[-300:])
    return {"tool": "autotune", "trials": len(rows), "failed": len(rows) - len(times), "seconds": seconds,
            "best_config": min(times, key=times.get), "best_sec": min(times.values()), "times": times}


def run_kernel_tuner(options):
    import numpy as np
    import kernel_tuner
    from importlib import metadata
    n = np.int32(options.n)
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    answer = [None, None, None, a @ b]
    start = time.perf_counter()
    results, _ = kernel_tuner.tune_kernel(
        "matmul", KERNEL, (options.n, options.n), [n, a, b, np.zeros_like(a)], SPACE, lang=options.language,
        grid_div_x=["TX", "TN"], grid_div_y=["TY", "TM"], block_size_names=["TX", "TY"], restrictions=CONDITIONS,
        answer=answer, atol=1e-2, strategy=options.strategy,
        strategy_options={"max_fevals": 100000, "time_limit": options.seconds}, quiet=True)
    seconds = time.perf_counter() - start
    good = [r for r in results if isinstance(r.get("time"), float)]
    best = min(good, key=lambda r: r["time"])
    phases = {k: sum(r.get(k, 0) for r in results) / 1e3 for k in ("compile_time", "benchmark_time", "verification_time", "framework_time", "strategy_time")}
    return {"tool": "kernel_tuner " + metadata.version("kernel_tuner"),
            "trials": len(results), "failed": len(results) - len(good), "seconds": seconds,
            "best_config": ",".join(f"{k}={best[k]}" for k in SPACE), "best_sec": best["time"] / 1e3, "phases": phases}


def main():
    p = argparse.ArgumentParser(description="autotune and Kernel Tuner on the same kernel, space, card and time")
    p.add_argument("autotune")
    p.add_argument("--seconds", type=int, default=40)
    p.add_argument("--n", type=int, default=1024)
    p.add_argument("--device", default="0")
    p.add_argument("--language", default="CUDA", help="Kernel Tuner's back end: CUDA (cuda-python) or CUPY")
    p.add_argument("--strategy", default="random_sample", help="Kernel Tuner's")
    p.add_argument("--json", help="write everything to this file")
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours = run_autotune(options, folder)
    theirs = None
    try:
        theirs = run_kernel_tuner(options)
    except (ImportError, RuntimeError) as e:
        print(f"kernel_tuner can't be used here: {str(e).splitlines()[0]}", file=sys.stderr)
    print(f"matmul n={options.n}, {options.seconds} s each, random order")
    for r in [ours] + ([theirs] if theirs else []):
        print(f"  {r['tool']:20s} {r['trials']:5d} trials ({r['failed']} failed) in {r['seconds']:6.1f} s = "
              f"{r['trials'] / r['seconds']:7.2f} a second; best {1e6 * r['best_sec']:8.2f} us  {r['best_config']}")
    if theirs:
        ratio = ours["trials"] / ours["seconds"] / (theirs["trials"] / theirs["seconds"])
        same = ours["times"].get(theirs["best_config"])
        print(f"  autotune tries {ratio:.1f} times as many a second")
        print(f"  best, both timed by autotune: {1e6 * ours['best_sec']:.2f} us; of kernel_tuner's choice: "
              + (f"{1e6 * same:.2f} us" if same else "not among autotune's trials"))
        print("  kernel_tuner's seconds by phase: " + ", ".join(f"{k[:-5]} {v:.1f}" for k, v in theirs["phases"].items()))
    if options.json:
        with open(options.json, "w") as f:
            json.dump([ours, theirs], f)


if __name__ == "__main__":
    main()
