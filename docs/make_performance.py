"""docs/performance.md: why things are done as they are, around the tables that the benchmarks print.

    python -m docs.make_performance

Reads benchmarks/results. A number stands in the page only as part of a benchmark's own table.
"""

from __future__ import annotations

from pathlib import Path

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"


def tables(name: str) -> list[str]:
    """The tables of a results page, in order."""
    path = RESULTS / f"{name}.md"
    if not path.is_file():
        raise InputError(f"There is no {path}", todo="Run the benchmark whose docstring names that file")
    found: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def command(name: str) -> str:
    """The command that a results page says it was made by."""
    lines = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
    return next(line.strip() for line in lines if line.startswith("    "))


def source(name: str) -> str:
    return f"`{command(name)}`; all of it in [{name}.md](../benchmarks/results/{name}.md)."


def paragraph(name: str, beginning: str) -> str:
    """The paragraph of a results page that begins so."""
    paragraphs = (RESULTS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")
    return next(each for each in paragraphs if each.startswith(beginning)).strip()


def page() -> str:
    """The page as it should be."""
    whole, alone = tables("features_to_score")
    return f"""# Performance

Every table is printed by a command of benchmarks/, which times all ways in turn in one run and gives ratios; times
alone mean nothing on another machine. This page is put together by `python -m docs.make_performance`.

## From features to a score

{source("features_to_score")}

{whole}

**Principal components** come from the covariance, the sum of outer products of centred unit rows. It is taken in one
pass over blocks of rows in float64, about a point near the mean, because about the origin nearly parallel rows would
lose their digits. The full decomposition of the stacked rows, which gives the same components, costs several times as
much and needs them all in memory. Coordinates are float32: their error, about 1e-7, is that of a unit row's own
rounding.

**k-means** is our own (mauve_core/numerics: `starts`, `lloyd`, `nearest`, `clustering`), for four reasons.

- *Starts.* k-means++, the best of three draws for each centre, ends lower than the best of several random starts. It
  is known to be slow one centre at a time; here draws are made and measured in batches, by a few matrix products.
- *No distance twice.* A row whose centre has not moved is measured against the centres that have, nothing else. In
  late iterations few still move, and they cost next to nothing. The partition is the one that measuring everything
  gives.
- *Restarts* run two iterations on a sample and are then compared; the best goes on with all rows.
- *Cores.* Restarts, partitions and blocks of rows go to threads of our own, each with a single-threaded BLAS. A BLAS
  that spreads one product over cores waits by spinning, which beside other work on the machine costs many times the
  work itself. Nothing that is computed depends on the number of cores.

Libraries beside it, from the same reduced rows:

{alone}

faiss starts from random rows and measures every distance in every iteration; scikit-learn draws its starts one by
one. Distances are |x|^2 - 2 x.c + |c|^2 in float32. For centred unit rows that is exact to about 1e-7, far below the
distance of a text from its centre; closer ties keep a text where it is. Centres, objectives and scores are float64.
On a CUDA device the same code runs on torch; a text half-way between two clusters may fall to the other there.

## Many comparisons

{source("many_comparisons")}

{tables("many_comparisons")[0]}

The human side is read once: its moments serve every pair and the joint space. Partitions of all candidates and seeds go
to all cores at once. Bootstrap resamples are counts by weights in the partitions that are there; nothing is clustered
for them.

By default a seed has **one start**, where the published setting is the best of five. One of ours ends as low as the
best of five random ones (the tables above), and a score is the mean over seeds in any case. `ScoreConfig(restarts=5)`
and `compute_mauve(kmeans_num_redo=5)`, which is that function's default, run five.

## Spread over seeds

{source("seed_spread")}

{tables("seed_spread")[0]}

The published score is that of one partition, and another seed gives another. A run reports the mean over its seeds,
with their standard deviation. Each of the scores in the mean is the published one, so the mean estimates what the
published score is on average over k-means starts, with the same expectation and a standard deviation smaller by the
square root of their number. It is not the score of a finer partition, and it says nothing about other texts: that is
what the bootstrap interval is for. Estimates for one partition stand in a run beside the mean (`Estimate.values`).

## Encoding on a CPU

{source("encoder_peer")}

{_encoders()}

Texts of a batch lie end to end in one row of tokens (mauve_core/encoders/packed.py). Linear layers see real tokens
only, attention goes text by text, and in the last layer only the token that becomes the feature asks and is fed
forward. As many lanes of one thread work as there are cores.
The weights' products alone, in float32 and with nothing around them, are most of the time of every way; above each
table stands by how much mauve-text could at most be beaten if all the rest cost nothing. What is saved is padding, the
last layer and the activation. More would take products of fewer bits, and bfloat16 rounds each factor by up to 2^-9,
where features should agree to 1e-4. OpenVINO and ONNX Runtime take part in the benchmark where they are installed.

## Encoding on a GPU

Not measured: no GPU was at hand. `{command("encoder_device")}` is the toy size of the script that measures it;
without `--toy` it takes GPT-2 large's shape in bfloat16 and reports the share of the card's matrix peak, measured in
the same run, and the ratio to mauve-text.

## Cost against n, k and d, and memory

{source("scale")}

![Cost and memory](../benchmarks/results/scale.svg)

{tables("scale")[0]}

{tables("scale")[1]}

Features are mapped from their file, read by blocks and never copied whole. float16 halves them; what that does to
scores is in [half_precision.md](../benchmarks/results/half_precision.md): as much as another draw of the start, or
less.

## The map of many texts

{source("map_sample")}

{tables("map_sample")[0]}

{paragraph("map_sample", "The first map")}

{tables("map_sample")[1]}

UMAP gets the exact neighbours of each text, from scikit-learn's products of blocks. Its own approximate search, made
for millions of rows, compiles in every process; what it still compiles is kept on disk beside its source.

## The app

{source("app_walk")}

{tables("app_walk")[0]}

Processor time of the server from a message of the browser to the end of its answer; the network, the browser and
drawing are not in it. Figures are sent without Plotly's check of every property, which the tests do instead. Only the
open tab is made. What depends on a run alone (score bases, words, properties, trust) is found out when the run is
made and lies beside it. The server's event loop is uvloop's and figures are written by orjson, where they can be had.

{source("ten_browsers")}
{paragraph("ten_browsers", "## What went wrong").removeprefix("## ")}. {paragraph("ten_browsers", "Resident MB")}

{tables("ten_browsers")[0]}
"""


def _encoders() -> str:
    """The table of each model under its heading, and what is the most that can be gained."""
    lines = (RESULTS / "encoder_peer.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    bounds = [line for line in lines if line.startswith("mauve-text takes ")]
    parts = zip(headings, bounds, tables("encoder_peer"), strict=True)
    return "\n\n".join(f"**{heading}**\n\n{bound}\n\n{table}" for heading, bound, table in parts)


def main() -> None:
    write_atomically(HERE / "performance.md", lambda stream: stream.write(page().encode()))


if __name__ == "__main__":
    main()
