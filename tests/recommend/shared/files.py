"""Models in files, in pickles and as copies: everything comes back, exactly."""

import copy
import io
import json
import zipfile

import joblib
import numpy as np
import pytest

import edgewise
from edgewise import ModelFileError

from .setting import Setting, assert_same, everything


class SavingTests(Setting):
    def saved(self, folder):
        """Return the path of a saved model."""
        path = folder / "model.edgewise"
        self.fitted().save(path)
        return path


class FileTests(SavingTests):
    def test_a_file_brings_everything_back(self, tmp_path):
        model = self.fitted()
        loaded = edgewise.load(self.saved(tmp_path))
        assert type(loaded) is type(model)
        assert repr(loaded.get_params()) == repr(model.get_params())
        assert_same(everything(model), everything(loaded))
        assert vars(loaded).keys() >= {name for name in vars(model) if name.endswith("_")}
        for unknown in ("mean", "nan"):
            ours, theirs = (one.predict("zed", "x0", unknown=unknown) for one in (model, loaded))
            np.testing.assert_array_equal(ours, theirs)

    def test_a_model_from_a_file_folds_in_and_fits(self, tmp_path):
        model = self.fitted()
        loaded = edgewise.load(self.saved(tmp_path))
        new = {"new": self.likes("a"), "newer": self.likes("b")}
        ours, theirs = model.fold_in(new), loaded.fold_in(new)
        assert_same(everything(ours), everything(theirs))
        ours.save(tmp_path / "folded.edgewise")
        assert_same(everything(ours), everything(edgewise.load(tmp_path / "folded.edgewise")))
        assert_same(everything(loaded.fit(self.ratings())), everything(model))

    def test_pickles_and_copies_say_the_same(self, tmp_path):
        model = self.fitted()
        said = everything(model)
        joblib.dump(model, tmp_path / "model.joblib")
        for copied in (joblib.load(tmp_path / "model.joblib"), copy.deepcopy(model)):
            assert_same(said, everything(copied))
            assert_same(said, everything(copied.fit(self.ratings())))


class HostileFileTests(SavingTests):
    """Tests of the code that all recommenders share: a few of them are enough."""

    def test_a_save_that_fails_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = self.saved(tmp_path)
        first = path.read_bytes()

        def fails(*_args, **_kwargs):
            raise OSError("the disk is full")

        monkeypatch.setattr(np.lib.format, "write_array", fails)
        with pytest.raises(OSError, match="the disk is full"):
            self.fitted().save(path)
        assert path.read_bytes() == first
        assert [one.name for one in tmp_path.iterdir()] == [path.name]

    def test_a_damaged_file_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        data = path.read_bytes()
        for wrong in (b"", data[:1000], data[:-30], b"x" + data[1:-1]):
            path.write_bytes(wrong)
            _assert_refused(path, f"with {len(wrong)} bytes")

    def test_a_file_without_one_of_its_arrays_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for name in arrays:
            _rewrite(path, header, {key: one for key, one in arrays.items() if key != name})
            _assert_refused(path, f"without {name}")

    def test_a_file_with_an_array_of_another_size_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for name, array in arrays.items():
            if array.ndim and len(array) and name not in self.free_sizes:
                for other in (array[:-1], np.concatenate([array, array[-1:]]), array[None]):
                    _rewrite(path, header, arrays | {name: other})
                    _assert_refused(path, f"with {name} of shape {other.shape}")

    @pytest.mark.parametrize("number", [-5, 10**6])
    def test_a_file_with_places_out_of_range_is_refused(self, tmp_path, number):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for name, array in arrays.items():
            if array.dtype.kind not in "iu" or not array.size or name in self.free_integers:
                continue
            if array.dtype.itemsize > 1 and (number > 0 or array.dtype.kind == "i"):
                _rewrite(path, header, arrays | {name: np.full_like(array, number)})
                _assert_refused(path, f"with {name} full of {number}")

    def test_a_file_with_numbers_that_are_none_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for name, array in arrays.items():
            # A feature may be missing.
            if array.dtype.kind == "f" and array.size and "_features" not in name:
                _rewrite(path, header, arrays | {name: np.full_like(array, np.nan)})
                _assert_refused(path, f"with {name} full of NaN")

    def test_a_file_with_an_array_of_another_type_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        types = header.get("types", {})
        for name, array in arrays.items():
            if array.size:
                used = np.dtype(types.get(name.removesuffix(".npy"), array.dtype))
                other = {n: t for n, t in types.items() if n != name.removesuffix(".npy")}
                for wrong in (np.float16, np.int16, used.newbyteorder(">")):
                    if array.dtype.kind != "b" and np.dtype(wrong) != used:
                        with np.errstate(all="ignore"):
                            changed = arrays | {name: array.astype(wrong)}
                        _rewrite(path, header | {"types": other}, changed)
                        _assert_refused(path, f"with {name} of type {np.dtype(wrong)}")

    def test_a_file_with_nothing_for_an_array_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for key, saved in header["state"].items():
            if saved == [None] and key != "losses_":  # a blend may have none
                _rewrite(path, header | {"state": header["state"] | {key: None}}, arrays)
                _assert_refused(path, f"with {key}=None")

    def test_a_file_with_another_header_is_refused(self, tmp_path):
        path = self.saved(tmp_path)
        header, arrays = _members(path)
        for key in ("estimator", "parameters", "unsaved", "state"):
            for wrong in (None, 3, "x", {"no such thing": 1}):
                _rewrite(path, header | {key: wrong}, arrays)
                _assert_refused(path, f"with {key}={wrong!r}")
        for key in header["state"]:
            without = {one: value for one, value in header["state"].items() if one != key}
            for wrong in (["x"], "x", {"no such thing": 1}):
                _rewrite(path, header | {"state": without | {key: wrong}}, arrays)
                _assert_refused(path, f"with {key}={wrong!r}")

    def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(self, tmp_path):
        path = self.saved(tmp_path)
        first = path.read_bytes()
        edgewise.load(path).save(path)
        assert path.read_bytes() == first
        assert [one.name for one in tmp_path.iterdir()] == [path.name]

    def test_integer_ids_come_back_from_a_file(self, tmp_path):
        model = self.make().fit(self.ratings(numbers=True))
        model.save(tmp_path / "model.edgewise")
        assert_same(everything(model), everything(edgewise.load(tmp_path / "model.edgewise")))


def _assert_refused(path, what):
    try:
        edgewise.load(path)
    except ModelFileError:
        return
    pytest.fail(f"was read {what}")


def _members(path):
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name != "model.json"
        }
    return header, arrays


def _rewrite(path, header, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(f"{name}.npy", buffer.getvalue())
