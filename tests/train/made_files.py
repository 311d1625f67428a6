"""Small files in the published layouts, rows of the published length."""

import io
import pickle
import wave
from pathlib import Path

import numpy as np

from mrconv.data import cifar, commands, generate_listops
from mrconv.data.png import encoded

LETTERS = np.array(list("etaoin shrdlu.,"))


def listops(folder: Path, noise: np.random.Generator) -> dict[str, object]:
    generate_listops(str(folder), 100)
    return {"data.path": folder}


def letters(noise: np.random.Generator, count: int) -> str:
    return "".join(noise.choice(LETTERS, count))


def text(folder: Path, noise: np.random.Generator) -> dict[str, object]:
    for part in ("train", "test"):
        for label in ("neg", "pos"):
            (folder / part / label).mkdir(parents=True)
            for i in range(4):
                content = letters(noise, int(noise.integers(3000, 5000)))
                (folder / part / label / f"{i}_7.txt").write_text(content)
    return {"data.path": folder}


def retrieval(folder: Path, noise: np.random.Generator) -> dict[str, object]:
    folder.mkdir()
    for part in ("train", "eval", "test"):
        rows = [
            f"{i % 2}.0\t1\t2\t{letters(noise, 4500)}\t{letters(noise, 2000 + 500 * i)}\n"
            for i in range(6)
        ]
        (folder / f"new_aan_pairs.{part}.tsv").write_text("".join(rows))
    return {"data.path": folder, "data.cache": folder / "cache"}


def photographs(folder: Path, noise: np.random.Generator) -> dict[str, object]:
    """With ``cifar.PER_FILE`` images a file, which a test makes few."""
    folder.mkdir()
    for name in cifar.BATCHES:
        pixels = noise.integers(0, 256, (cifar.PER_FILE, 3072), dtype=np.uint8)
        held = {"labels": noise.integers(0, 10, cifar.PER_FILE).tolist(), "data": pixels}
        (folder / name).write_bytes(pickle.dumps(held, 2))
    return {"data.path": folder}


def images(size: int):
    def make(folder: Path, noise: np.random.Generator) -> dict[str, object]:
        level = folder / "curv_contour_length_14"
        (level / "imgs" / "0").mkdir(parents=True)
        (level / "metadata").mkdir()
        lines = []
        for i in range(40):
            pixels = noise.integers(0, 256, (size, size), dtype=np.uint8)
            (level / "imgs" / "0" / f"sample_{i}.png").write_bytes(encoded(pixels))
            lines.append(f"imgs/0 sample_{i}.png {i} {i % 2} 1 14 0.9\n")
        (level / "metadata" / "0.npy").write_text("".join(lines))
        return {"data.path": folder, "data.cache": folder / "cache"}

    return make


def sounds(folder: Path, noise: np.random.Generator) -> dict[str, object]:
    folder.mkdir()
    for part, split in ((0, None), (1, "validation_list.txt"), (2, "testing_list.txt")):
        for word in commands.WORDS[35]:
            (folder / word).mkdir(exist_ok=True)
            stream = io.BytesIO()
            with wave.open(stream, "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(noise.integers(-9000, 9000, 16000, dtype=np.int16).tobytes())
            (folder / word / f"{part}_nohash_0.wav").write_bytes(stream.getvalue())
        if split:
            names = [f"{word}/{part}_nohash_0.wav\n" for word in commands.WORDS[35]]
            (folder / split).write_text("".join(names))
    return {"data.path": folder, "data.cache": folder / "cache"}


#: Makes the files of a recipe in a folder, and gives its overrides.
FILES = {
    "listops": listops,
    "text": text,
    "retrieval": retrieval,
    "image": photographs,
    "scifar": photographs,
    "pathfinder": images(32),
    "pathx": images(128),
    "speech-commands": sounds,
}
