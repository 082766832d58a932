"""Inception v3's features, FID and KID against torch-fidelity and clean-fid, from equal files and equal features.

Weights are random: a distance between features depends on them, agreement does not. Both packages need torchvision.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from mauve_core import read_corpus
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders.catalogue import INCEPTION_CLEAN, INCEPTION_FID
from mauve_core.estimators.kernel_discrepancy import kernel_distance
from mauve_core.estimators.transport import frechet_cost
from mauve_core.images.kind import ImageEncoder

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision", reason="torchvision is not installed", exc_type=ImportError)
fidelity = pytest.importorskip("torch_fidelity", reason="torch-fidelity is not installed")
cleanfid = pytest.importorskip("cleanfid.fid", reason="clean-fid is not installed")

from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3  # noqa: E402
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric  # noqa: E402
from torch_fidelity.metric_kid import kid_features_to_metric  # noqa: E402

from tests.encoders.vision.random_inception import draw_mixed, write_weights  # noqa: E402

pytestmark = pytest.mark.slow

FOLDERS = ("real", "made")
N = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("torch")
    write_weights(found)
    for seed, name in enumerate(FOLDERS):
        draw_mixed(found / name, N, seed=seed, suffix=".png")
    draw_mixed(found / "mixed", 100, seed=7)
    return found


def weights(home: Path) -> str:
    (found,) = home.glob("hub/checkpoints/*")
    return str(found)


def opened(folder: Path) -> list[Image.Image]:
    return [Image.open(path).convert("RGB") for path in sorted(folder.iterdir())]


def encoded(name: str, folder: Path, home: Path) -> NDArray[np.float32]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_HOME", str(home))
        return np.asarray(ImageEncoder(EncoderConfig(model=name), "cpu").encode(read_corpus(folder)).array)


@pytest.fixture(scope="module")
def of_files(home: Path) -> list[NDArray[np.float32]]:
    """Our features of the two folders with TensorFlow's resize."""
    return [encoded(INCEPTION_FID, home / name, home) for name in FOLDERS]


def test_features_are_those_of_torch_fidelity(home: Path) -> None:
    peer = FeatureExtractorInceptionV3("peer", ["2048"], feature_extractor_weights_path=weights(home))
    images = opened(home / "mixed")
    assert len({image.size for image in images}) > 90
    pixels = [torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] for image in images]
    expected = np.concatenate([peer(each)[0].numpy() for each in pixels])
    assert np.ptp(expected, axis=0).mean() > 0.01, "features of different images differ"
    # Convolutions of several images at once round differently from those of one.
    np.testing.assert_allclose(encoded(INCEPTION_FID, home / "mixed", home), expected, atol=1e-5)


def clean_network(home: Path) -> Any:
    """clean-fid's extractor reads layers from a TorchScript file; here, those of torch-fidelity without its resize."""
    peer = FeatureExtractorInceptionV3("peer", ["2048"], feature_extractor_weights_path=weights(home))
    layers = torch.nn.Sequential(*(layer for name, layer in peer.named_children() if name != "fc"))

    def run(images: Any) -> Any:
        return layers((images - 128) / 128).flatten(1)

    return run


def test_features_are_those_of_clean_fid(home: Path) -> None:
    files = sorted(map(str, (home / "mixed").iterdir()))
    expected = cleanfid.get_files_features(
        files, clean_network(home), num_workers=0, batch_size=4, device="cpu", verbose=False
    )
    np.testing.assert_allclose(encoded(INCEPTION_CLEAN, home / "mixed", home), expected, atol=1e-5)


def features(n: int, m: int, d: int = 48) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=(n, d)), 0.3 + rng.normal(size=(m, d)) @ rng.normal(scale=0.2, size=(d, d))]


@pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")  # clean-fid gives it to SciPy
def test_equal_features_have_equal_frechet_distances() -> None:
    sides = features(300, 400)
    statistics = [fid_features_to_statistics(torch.from_numpy(side)) for side in sides]
    expected = fid_statistics_to_metric(*statistics, verbose=False)["frechet_inception_distance"]
    assert frechet_cost(*sides) == pytest.approx(expected, rel=1e-9)
    moments = [value for each in statistics for value in (each["mu"], each["sigma"])]
    assert frechet_cost(*sides) == pytest.approx(cleanfid.frechet_distance(*moments), rel=1e-9)


def test_equal_features_have_equal_kernel_distances() -> None:
    """A subset of all rows is the whole set in another order, so that the packages draw nothing."""
    sides = features(200, 200)
    tensors = [torch.from_numpy(side) for side in sides]
    found = kid_features_to_metric(*tensors, kid_subsets=2, kid_subset_size=200, verbose=False)
    assert kernel_distance(*sides) == pytest.approx(found["kernel_inception_distance_mean"], rel=1e-9)
    assert kernel_distance(*sides) == pytest.approx(cleanfid.kernel_distance(*sides, num_subsets=2), rel=1e-9)


def test_equal_files_have_torch_fidelitys_distances(home: Path, of_files: list[NDArray[np.float32]]) -> None:
    expected = fidelity.calculate_metrics(
        **{f"input{index}": str(home / name) for index, name in enumerate(FOLDERS, 1)},
        fid=True, kid=True, kid_subsets=2, kid_subset_size=N, batch_size=1, cuda=False, save_cpu_ram=True, cache=False,
        verbose=False, feature_extractor_weights_path=weights(home),
    )  # fmt: skip
    ours = frechet_cost(*of_files), kernel_distance(*of_files)
    # The package takes roots of eigenvalues of a singular product, and means of kernel values near 1 in float32.
    assert ours[0] == pytest.approx(expected["frechet_inception_distance"], rel=1e-4)
    assert ours[1] == pytest.approx(expected["kernel_inception_distance_mean"], abs=1e-6)
