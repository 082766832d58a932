"""docs/performance.md: the reasons for what is done, around the tables that the benchmarks print.

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
    return f"`{command(name)}`; full results in [{name}.md](../benchmarks/results/{name}.md)."


def paragraph(name: str, beginning: str) -> str:
    """The paragraph of a results page that begins so."""
    paragraphs = (RESULTS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")
    return next(each for each in paragraphs if each.startswith(beginning)).strip()


def machine(name: str) -> str:
    """The first words after the command of a results page, up to a semicolon: the device."""
    lines = (RESULTS / f"{name}.md").read_text(encoding="utf-8").split(command(name))[1].split()
    return " ".join(lines).split(";")[0]


def page() -> str:
    """The page as it should be."""
    whole, alone = tables("features_to_score")
    return f"""# Performance

A command in benchmarks/ prints every table. It times all alternatives in turn in one run and reports ratios, because
times alone mean nothing on another machine. `python -m docs.make_performance` assembles this page.

## From features to a score

{source("features_to_score")} {machine("features_to_score")}.

{whole}

**Principal components** come from the covariance, the sum of outer products of centered unit rows. One pass over
blocks of rows computes it in float64, about a point near the mean: about the origin, nearly parallel rows would lose
their digits. The full decomposition of the stacked rows gives the same components, but costs several times as much
and needs all rows in memory. Coordinates are float32; their error, about 1e-7, is that of a unit row's own rounding.

**k-means** is our own (mauve_core/clusters), because no library combines good starts, cheap late iterations and
independence from the number of cores.

- *Starts.* k-means++ with the best of three draws for each center ends lower than the best of several random starts.
  One center at a time, it is slow; here a few matrix products draw and measure a batch of centers.
- *No distance twice.* A row whose center has not moved is measured only against the centers that have. Few centers
  move in late iterations, so these cost almost nothing. The partition is the one that measuring everything gives.
- *Restarts* run two iterations on a sample and are then compared; the best continues with all rows.
- *Cores.* Partitions, restarts and blocks of rows, outermost loop first, run on threads of our own, each with a
  single-threaded BLAS. A BLAS that spreads one product over cores waits by spinning, which costs many times the work
  itself when the machine is busy. No result depends on the number of cores.

Libraries, from the same reduced rows:

{alone}

faiss starts from random rows and measures every distance in every iteration; scikit-learn draws its starts one by
one. Distances are |x|^2 - 2 x.c + |c|^2 in float32. For centered unit rows this is exact to about 1e-7, far below the
distance of a text from its center; a text stays where it is in a closer tie. Centers, objectives and scores are
float64. On a CUDA device the same code runs on torch; there, a text halfway between two clusters may fall to the
other.

Spark's MLlib, mini-batches and k-means [over shards](scale.md) on 200,000 rows are in
[shards_peers.md](../benchmarks/results/shards_peers.md), which also says when the start of MLlib, k-means||, ends lower
than k-means++.

## Partitions and seeds

The human side is read once: its moments serve every pair and the joint space. Partitions of all candidates and seeds
run on all cores at once. A bootstrap resample is a weighted count in the existing partitions; nothing is clustered
again.

A seed has **one start** by default; the published setting is the best of five. One of our starts ends as low as the
best of five random ones (see the tables above), and a score is a mean over seeds in any case.
`ScoreConfig(restarts=5)` and `compute_mauve(kmeans_num_redo=5)`, the default of that function, run five.

The published score is that of one partition, and another seed gives another score. A run reports the mean over its
seeds with their standard deviation. Each score in the mean is a published score, so the mean has the same expectation
and a standard deviation that is smaller by the square root of the number of seeds. It is not the score of a finer
partition, and it says nothing about other texts; that is what the bootstrap interval is for. A run also stores the
score of each partition (`Estimate.values`).

## Encoding on a CPU

{source("encoder_peer")}

{_encoders()}

The texts of a batch form one row of tokens without padding (mauve_core/encoders/packed.py). Linear layers see real
tokens only, attention runs text by text, and the last layer computes queries and feed-forward only for the token that
becomes the feature. Each core runs one single-threaded worker. In every alternative, the float32 products of the
weights alone take most of the time; the bound above each table is the largest possible speedup over mauve-text if
everything else were free. The savings are padding, the last layer and the activation. Further savings need products
with fewer bits, but bfloat16 rounds each factor by up to 2^-9, while features should agree to 1e-4. Known models take
this path, each tested against transformers; other models run through transformers.

## On a GPU

{source("device")} {machine("device")}.

{tables("device")[1]}

One kernel reads texts of unequal length, where torch has it: which of its options this torch knows is asked once, and
otherwise attention is padded. bfloat16 is not the default, because it changes features in the second digit;
`--dtype auto` chooses it where the device has it, and `--dtype tf32` rounds only the factors of products.
`python benchmarks/encoding_precision.py` holds what both do to MAUVE against its spread over seeds
([encoding_precision.md](../benchmarks/results/encoding_precision.md)).

{tables("device")[2]}

From features to a score, all steps of all seeds and restarts run on the device (mauve_core/clusters). Five
starts of 100,000 + 100,000 texts take a fifth of the time of plain lines of torch, which run them one after another,
and end in the CPU's partitions: the objectives are the same.

{tables("device")[3]}

A single start of 50,000 texts is slower than plain torch and flash-kmeans, which end at a higher objective. Five starts
take no longer than one, so launching the steps takes the time, not what they compute.

{tables("device")[4]}

On a CUDA device a recorded step is replayed for each token, batches fill the memory, and a draw takes one random
number, made before the batch: a text depends on its prompt and the seed alone. That is as fast as transformers' static
cache, without its compiling. Models without such a step go through `generate`.

Resampled and exchanged texts are counted on the GPU, too; the counts equal the CPU's, because texts are drawn on
the CPU. The map is drawn there, without compiling:

{tables("device")[5]}

A whole run from a cold start waits mostly for Python: importing torch and transformers and opening the device took 12 s
of the first 22 on this machine.

{tables("device")[6]}

## Cost against n, k and d, and memory

{source("scale")}

![Cost and memory](../benchmarks/results/scale.svg)

{tables("scale")[0]}

{tables("scale")[1]}

Features are memory-mapped, read in blocks and never copied whole: checks, digests, moments and projections pass over
them, and only the few principal coordinates are held in memory. Bootstrap resamples and their histograms come in
blocks, too; their frontiers are kept, so a comparison has a budget of them. float16 halves the
features (`encode --half`, any float16 file), and such a run keeps them so; the feature store keeps float32.

## The app

{source("soak")}
{paragraph("soak", "## What went wrong").removeprefix("## ")}. {paragraph("soak", "Resident memory of the server")}

{tables("soak")[0]}

## What a reader waits for

{source("click_to_rest")}

{tables("click_to_rest")[0]}

{paragraph("click_to_rest", "Seconds from a press")}

A page with a chart waits for Plotly's script, and Streamlit 1.67 draws each chart that it mounts twice. So charts are
few on a page, names beside curves are drawn without Plotly's arrows, which take it long, and a folded part is made when
a reader opens it. A page that opens without a chart does not load Plotly until the browser is idle.

What stands on the first screen, in order, and the words on each page: {source("first_screen")}
"""


def _encoders() -> str:
    """The table of each model under its heading, and the largest possible gain."""
    lines = (RESULTS / "encoder_peer.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    bounds = [line for line in lines if line.startswith("mauve-text takes ")]
    parts = zip(headings, bounds, tables("encoder_peer"), strict=True)
    return "\n\n".join(f"**{heading}**\n\n{bound}\n\n{table}" for heading, bound, table in parts)


def main() -> None:
    write_atomically(HERE / "performance.md", lambda stream: stream.write(page().encode()))


if __name__ == "__main__":
    main()
