"""Terms that scattertext and BERTopic's class-based TF-IDF list for two sides; run by the Python that has them.

Standard input holds one JSON object a line, ``{"human": [text, ...], "model": [...]}``. Each answer is one line: by
peer, the terms of the model's side, those of the human side, and CPU seconds. scattertext's terms are those whose
p-value by its log odds with a Dirichlet prior, adjusted by Benjamini and Hochberg, is at most 5%, the smallest first;
class-based TF-IDF has no test and lists the terms whose weights differ most always.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scattertext
from scipy.stats import false_discovery_control
from sklearn.feature_extraction.text import CountVectorizer

# Terms of a side, at most, and those of a topic in BERTopic.
TERMS = 10

LEAST_TEXTS = 4
Q = 0.05
# Weight of the prior, the one in scattertext's examples.
PRIOR = 10


def of_scattertext(human: Sequence[str], model: Sequence[str]) -> tuple[list[str], list[str]]:
    table = pd.DataFrame({"side": ["human"] * len(human) + ["model"] * len(model), "text": [*human, *model]})
    corpus = scattertext.CorpusFromPandas(
        table, category_col="side", text_col="text", nlp=scattertext.whitespace_nlp_with_sentences
    ).build()
    corpus = corpus.remove_infrequent_words(LEAST_TEXTS)
    counts = corpus.get_term_freq_df()
    of_model = scattertext.LogOddsRatioUninformativeDirichletPrior(alpha_w=PRIOR).get_p_vals(
        counts[["model freq", "human freq"]].to_numpy()
    )
    adjusted = false_discovery_control(np.clip(2 * np.minimum(of_model, 1 - of_model), 0, 1), method="bh")
    order = [index for index in np.argsort(-of_model, kind="stable") if adjusted[index] <= Q]
    own = [str(counts.index[index]) for index in order if of_model[index] > 0.5]
    other = [str(counts.index[index]) for index in order[::-1] if of_model[index] < 0.5]
    return own[:TERMS], other[:TERMS]


def of_bertopic(human: Sequence[str], model: Sequence[str]) -> tuple[list[str], list[str]]:
    """Each side as one topic, and the terms whose weights differ most: alone, the weights put *the* and *of* first.

    The module is loaded by its path: the package itself asks for torch and more.
    """
    vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=1)
    counts = vectorizer.fit_transform([" ".join(model), " ".join(human)])
    weights = _class_tfidf()(reduce_frequent_words=True).fit(counts).transform(counts).toarray()
    terms = vectorizer.get_feature_names_out()
    more = weights[0] - weights[1]
    first, second = ([str(terms[index]) for index in np.argsort(-row, kind="stable")[:TERMS]] for row in (more, -more))
    return first, second


def _class_tfidf() -> Any:
    package = importlib.util.find_spec("bertopic")
    path = Path(package.submodule_search_locations[0]) / "vectorizers" / "_ctfidf.py"
    spec = importlib.util.spec_from_file_location("ctfidf", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ClassTfidfTransformer


PEERS = {
    f"scattertext {version('scattertext')}": of_scattertext,
    f"class-based TF-IDF of bertopic {version('bertopic')}": of_bertopic,
}


def main() -> None:
    for line in sys.stdin:
        sides, answer = json.loads(line), {}
        for name, peer in PEERS.items():
            started = time.process_time()
            own, other = peer(sides["human"], sides["model"])
            answer[name] = {"model": own, "human": other, "seconds": time.process_time() - started}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
