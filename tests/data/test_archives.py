"""Files of folders and archives: the same whatever holds them, and one sentence for damage."""

import gzip
import tarfile
import zipfile
from hashlib import md5

import pytest

from mrconv.data.archives import check_digest, data_files
from mrconv.errors import FileError

WANTED = r"(pos|neg)/\d+\.txt"
GET = "Get it again."
FILES = {
    "top/pos/1.txt": b"good" * 500,
    "top/neg/20.txt": b"",
    "top/neg/3.txt": bytes(range(256)) * 40,
    "top/neg/3.txt.bak": b"no",
    "top/README": b"no",
    "pos/4.txt": b"no folder above",
}
EXPECTED = {"pos/1.txt", "neg/20.txt", "neg/3.txt", "pos/4.txt"}


@pytest.fixture(params=["folder", "tar", "tar.gz", "zip"])
def held(tmp_path, request, tar_of):
    """The same files in a folder and in every kind of archive, under a name that tells nothing."""
    path = tmp_path / "held"
    if request.param == "folder":
        for name, content in FILES.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    elif request.param == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in FILES.items():
                archive.writestr(name, content)
    else:
        whole = tar_of(FILES)
        path.write_bytes(gzip.compress(whole) if request.param == "tar.gz" else whole)
    return path


def test_the_same_from_everywhere(held):
    found = data_files("Set", held, WANTED, GET)
    assert list(found) == sorted(EXPECTED)
    for name, read in found.items():
        (content,) = [one for path, one in FILES.items() if path.endswith(name)]
        assert read() == content


def test_names_that_lead_elsewhere_are_only_names(tmp_path, tar_of):
    path = tmp_path / "in" / "a.tar"
    path.parent.mkdir()
    path.write_bytes(tar_of({"../pos/1.txt": b"up", "/neg/2.txt": b"root"}))
    found = data_files("Set", path, WANTED, GET)
    assert {name: read() for name, read in found.items()} == {
        "pos/1.txt": b"up",
        "neg/2.txt": b"root",
    }
    assert [*tmp_path.iterdir()] == [path.parent]
    assert [*path.parent.iterdir()] == [path]


def test_links_and_devices_are_left_out(tmp_path, tar_of):
    path = tmp_path / "a.tar"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE):
        path.write_bytes(tar_of({"pos/1.txt": b""}, type=kind, linkname="/etc/passwd"))
        assert data_files("Set", path, WANTED, GET) == {}


def test_twice(tmp_path, says, tar_of):
    path = tmp_path / "a.tar"
    path.write_bytes(tar_of({"a/pos/1.txt": b"1", "b/pos/1.txt": b"2"}))
    sentence = (
        f"Set: {path} must hold every file once; got pos/1.txt twice. "
        "Name the folder of one data set."
    )
    with says(FileError, sentence):
        data_files("Set", path, WANTED, GET)


# damage


def refused(path, got: str) -> str:
    return (
        "Set: path must be a folder or a whole .tar, .tar.gz or .zip file; "
        f"got {path}, {got}. {GET}"
    )


def test_missing(tmp_path, says):
    path = tmp_path / "nothing"
    with says(FileError, refused(path, "No such file or directory")):
        data_files("Set", path, WANTED, GET)


@pytest.mark.parametrize("place", ["content", "end of content", "header"])
def test_a_truncated_tar(tmp_path, says, tar_of, place):
    path = tmp_path / "a.tar"
    whole = tar_of(FILES)
    start = whole.index(FILES["top/neg/3.txt"])
    after = start + len(FILES["top/neg/3.txt"])
    path.write_bytes(
        whole[: {"content": start + 1000, "end of content": after, "header": after + 300}[place]]
    )
    with says(FileError, refused(path, "unexpected end of data")):
        data_files("Set", path, WANTED, GET)


@pytest.mark.parametrize("keep", [5, 100, -4, -1])
def test_a_truncated_tar_gz(tmp_path, keep, tar_of):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(tar_of(FILES))[:keep])
    with pytest.raises(FileError) as told:
        data_files("Set", path, WANTED, GET)
    assert str(told.value).startswith(refused(path, "")[: -len(f". {GET}")])


def test_a_wrong_checksum_in_gzip(tmp_path, tar_of):
    path = tmp_path / "a.tar.gz"
    whole = bytearray(gzip.compress(tar_of(FILES)))
    whole[-8] ^= 1
    path.write_bytes(whole)
    with pytest.raises(FileError, match=r"a\.tar\.gz, CRC check failed 0x\w+ != 0x\w+\. Get it"):
        data_files("Set", path, WANTED, GET)


def test_a_damaged_zip(tmp_path, says):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pos/1.txt", b"content")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"content", b"CONTENT", 1))
    with says(FileError, refused(path, "Bad CRC-32 for file 'pos/1.txt'")):
        data_files("Set", path, WANTED, GET)
    path.write_bytes(whole[:-10])
    with says(FileError, refused(path, "File is not a zip file")):
        data_files("Set", path, WANTED, GET)


@pytest.mark.parametrize("content", [b"", b"no archive", b"x" * 2000])
def test_no_archive(tmp_path, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"^Set: path must be a folder or a whole \.tar"):
        data_files("Set", path, WANTED, GET)


# the published sum


def test_digest(tmp_path, says):
    path, other = tmp_path / "a", "0" * 32
    path.write_bytes(b"content")
    digest = md5(b"content").hexdigest()
    check_digest("Set", path, [other, digest], GET)
    check_digest("Set", tmp_path, [other], GET)
    sentence = (
        f"Set: {path} must have the published MD5 sum {other} or {other}; got {digest}. {GET} "
        "Or pass verify=False for an archive of your own."
    )
    with says(FileError, sentence):
        check_digest("Set", path, [other, other], GET)
