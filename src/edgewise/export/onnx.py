"""A model as an ONNX graph of standard operators, in double precision.

Trees, and the steps of single columns as one balanced tree each, are a TreeEnsembleRegressor. The
operator returns single precision. So every leaf adds two numbers to each score, one that sums of
leaves hold exactly and a small remainder, and the graph adds both sums in double precision.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper, numpy_helper

from edgewise.common.dtypes import Reals
from edgewise.export.formula import Formula, PairRates, StepFunction, VotingTree
from edgewise.model.rules import Cut, Subset, Test

# Versions of the format and its operators from 2022, which today's runtimes all read.
_IR_VERSION, _OPERATORS, _TREE_OPERATORS = 8, 17, 3

# The bits of a number in single precision.
_SINGLE_BITS = 24


def onnx_model(formula: Formula, dtype: str) -> bytes:
    """Return a model file of ONNX that takes numbers of a type."""
    graph = _Graph(formula, dtype)
    outputs = graph.outputs()
    model = helper.make_model(
        helper.make_graph(graph.nodes, "edgewise", graph.inputs, outputs, graph.constants),
        opset_imports=[
            helper.make_opsetid("", _OPERATORS),
            helper.make_opsetid("ai.onnx.ml", _TREE_OPERATORS),
        ],
        ir_version=_IR_VERSION,
        producer_name="edgewise",
        doc_string="\n".join([formula.title, *formula.derivation]),
    )
    helper.set_model_props(model, _properties(formula))
    checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def _properties(formula: Formula) -> dict[str, str]:
    """Return what a reader of the file may want to know, as JSON."""
    categories = {formula.columns[j]: list(values) for j, values in formula.categories.items()}
    known = {
        "columns": formula.columns,
        "categories": categories,
        "classes": formula.classes,
        "derivation": formula.derivation,
    }
    return {name: json.dumps(value) for name, value in known.items() if value}


class _Graph:
    """A graph as it grows: nodes, constants and inputs."""

    def __init__(self, formula: Formula, dtype: str) -> None:
        self.formula, self.dtype = formula, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._names: set[str] = set()
        self._double_of: dict[int, str] = {}
        self._codes_of: dict[int, str] = {}
        self._known: dict[object, str] = {}
        self._read_columns()

    # Names and nodes

    def free(self, name: str) -> str:
        """Return a name that nothing else has."""
        while not name or name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node, and return the name of its result."""
        domain = "ai.onnx.ml" if operator in ("TreeEnsembleRegressor", "LabelEncoder") else ""
        result = name or self.free(f"{operator} {len(self.nodes)}")
        node = helper.make_node(operator, inputs, [result], domain=domain, **attributes)
        self.nodes.append(node)
        return result

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Return the name of an array; equal small ones are kept once."""
        array = np.asarray(values, dtype=dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes()) if dtype is not object else None
        if key in self._known:
            return self._known[key]
        name = self.free(f"constant {len(self.constants)}")
        self.constants.append(numpy_helper.from_array(array, name))
        if key is not None:
            self._known[key] = name
        return name

    def _input(self, name: str, kind: int, width: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["N", width]))
        return name

    # Columns

    def _read_columns(self) -> None:
        """Make the inputs: one array, or one for each column if some are categorical."""
        formula = self.formula
        number = TensorProto.FLOAT if self.dtype == "float32" else TensorProto.DOUBLE
        if not formula.categories:
            self.whole = self._numbers(self._input(self.free("X"), number, len(formula.columns)))
            return
        self.whole = ""
        used = set(formula.used)
        names = [self.free(name or f"x{j}") for j, name in enumerate(formula.columns)]
        for j, name in enumerate(names):
            values = formula.categories.get(j)
            text = formula.is_text(j)
            self._input(name, TensorProto.STRING if text else number, 1)
            if j not in used:
                continue
            if values is None:
                self._double_of[j] = self._numbers(name)
            else:
                self._codes_of[j] = self._codes(name, values, text)
        for pair in formula.pairs:
            self._double_of[pair.column] = self._look_up_pair(pair)

    def _numbers(self, name: str) -> str:
        """Return numbers in double precision; infinite ones missing if the model has it so."""
        if self.dtype == "float32":
            name = self.add("Cast", name, to=TensorProto.DOUBLE)
        if self.formula.infinite == "missing":
            name = self.add("Where", self.add("IsInf", name), self.constant(np.nan), name)
        return name

    def _codes(self, name: str, values: tuple[Any, ...], text: bool) -> str:
        """Return the codes of a categorical column, of shape (N,)."""
        if text:
            return self.add(
                "LabelEncoder",
                self.add("Reshape", name, self.constant([-1], np.int64)),
                keys_strings=values,
                values_int64s=range(len(values)),
                default_int64=len(values),
            )
        column = self.add("Reshape", self._numbers(name), self.constant([-1, 1], np.int64))
        same = self.add("Equal", column, self.constant([values]))
        # The first of the equal values; where there is none, the last column.
        codes = self.add("Cast", same, to=TensorProto.FLOAT)
        codes = self.add("Concat", codes, self._fill_column(np.float32(0.5)), axis=1)
        return self.add("ArgMax", codes, axis=1, keepdims=0)

    def _gather_columns(self, columns: Sequence[int]) -> str:
        """Return some numeric columns side by side, in double precision."""
        if self.whole:
            if list(columns) == list(range(len(self.formula.columns))):
                return self.whole
            return self.add("Gather", self.whole, self.constant(columns, np.int64), axis=1)
        distinct, index = np.unique(columns, return_inverse=True)
        if len(distinct) == len(columns):
            return self._side_by_side([self._double_of[j] for j in columns])
        distinct_columns = self._side_by_side([self._double_of[j] for j in distinct.tolist()])
        return self.add("Gather", distinct_columns, self.constant(index, np.int64), axis=1)

    def _side_by_side(self, blocks: list[str]) -> str:
        return self.add("Concat", *blocks, axis=1) if len(blocks) > 1 else blocks[0]

    # Tests

    def signs(self, tests: Sequence[Test]) -> str:
        """Return the signs of products of tests, in single precision, of shape (N, tests)."""
        factors: dict[object, Cut | Subset] = {}
        for test in tests:
            factors.update((factor.factor_key, factor) for factor in test.factors)
        cuts = [factor for factor in factors.values() if isinstance(factor, Cut)]
        subsets: dict[int, list[Subset]] = {}
        for factor in factors.values():
            if isinstance(factor, Subset):
                subsets.setdefault(factor.column, []).append(factor)
        blocks = [self._cut_signs(cuts)] if cuts else []
        for j, group in subsets.items():
            table = np.stack([subset.values for subset in group], axis=1)
            blocks.append(self._look_up(j, table, np.float32))
        factor_signs = self._side_by_side(blocks)
        ordered: list[Cut | Subset] = [
            *cuts,
            *(subset for group in subsets.values() for subset in group),
        ]
        positions = {factor.factor_key: index for index, factor in enumerate(ordered)}
        max_factors = max(len(test.factors) for test in tests)
        numbers = [[positions[factor.factor_key] for factor in test.factors] for test in tests]
        if numbers == [[index] for index in range(len(positions))]:
            return factor_signs
        # A column of ones fills up the shorter products.
        padded = self.add("Concat", factor_signs, self._fill_column(np.float32(1.0)), axis=1)
        filled = [indices + [len(positions)] * (max_factors - len(indices)) for indices in numbers]
        product = ""
        for column_indices in zip(*filled, strict=True):
            signs = self.add("Gather", padded, self.constant(column_indices, np.int64), axis=1)
            product = self.add("Mul", product, signs) if product else signs
        return product

    def _cut_signs(self, cuts: list[Cut]) -> str:
        values = self._gather_columns([cut.column for cut in cuts])
        plus, minus = self.constant(1, np.float32), self.constant(-1, np.float32)
        above = self.add("GreaterOrEqual", values, self.constant([cut.threshold for cut in cuts]))
        signs = self.add("Where", above, plus, minus)
        missing = [cut.missing for cut in cuts]
        # No comparison with NaN is true, so that the sign of a missing value is -1 already.
        if all(sign < 0 for sign in missing):
            return signs
        is_missing = self.add("IsNaN", values)
        return self.add("Where", is_missing, self.constant(missing, np.float32), signs)

    def _look_up(self, j: int, table: NDArray[Any], dtype: Any = np.float64) -> str:
        """Return a row of a table for each category, the last for missing values."""
        return self.add("Gather", self.constant(table, dtype), self._codes_of[j], axis=0)

    def _look_up_pair(self, pair: PairRates) -> str:
        """Return the rate of each combination of two columns, of shape (N, 1)."""
        first, second = (self._codes_of[j] for j in pair.sources)
        size = len(self.formula.categories[pair.sources[1]]) + 1
        key = self.add("Mul", first, self.constant(size, np.int64))
        number = self.add(
            "LabelEncoder",
            self.add("Add", key, second),
            keys_int64s=(pair.combinations.astype(np.int64) @ [size, 1]).tolist(),
            values_int64s=range(len(pair.combinations)),
            default_int64=len(pair.combinations),
        )
        return self.add("Gather", self.constant(pair.rates[:, None]), number, axis=0)

    # Scores

    def scores(self) -> str:
        """Return the scores, of shape (N, K)."""
        formula = self.formula
        terms = []
        if formula.steps or formula.trees:
            terms.append(self._tree_scores())
        terms += [self._look_up(levels.column, levels.values) for levels in formula.levels]
        if formula.lines:
            values = self._gather_columns([line.column for line in formula.lines])
            is_missing = self.add("IsNaN", values)
            present = self.add("Where", is_missing, self.constant(0.0), values)
            slopes = np.stack([line.slope for line in formula.lines])
            fills = np.stack([line.missing for line in formula.lines])
            absent = self.add("Cast", is_missing, to=TensorProto.DOUBLE)
            terms.append(self.add("MatMul", present, self.constant(slopes)))
            terms.append(self.add("MatMul", absent, self.constant(fills)))
        if formula.products:
            signs = self.signs([product.test for product in formula.products])
            moves = np.stack([product.moves for product in formula.products])
            exact = self.add("Cast", signs, to=TensorProto.DOUBLE)
            terms.append(self.add("MatMul", exact, self.constant(moves)))
        if not terms:
            terms.append(self._fill_column(np.float64(0.0)))
        total = terms[0]
        for term in terms[1:]:
            total = self.add("Add", total, term)
        return self.add("Add", total, self.constant(formula.bias[None]))

    def _fill_column(self, value: np.floating) -> str:
        """Return a column of one number, as long as the input."""
        shape = self.add("Shape", self.inputs[0].name)
        rows = self.add("Slice", shape, *(self.constant([at], np.int64) for at in (0, 1)))
        size = self.add("Concat", rows, self.constant([1], np.int64), axis=0)
        return self.add("ConstantOfShape", size, value=numpy_helper.from_array(np.array([value])))

    def _tree_scores(self) -> str:
        """Return what steps and trees add, by one operator."""
        formula = self.formula
        trees = _Trees(formula)
        blocks = []
        if trees.numeric:
            blocks.append(self._gather_columns(trees.numeric))
        if trees.tests:
            signs = self.add("Cast", self.signs(trees.tests), to=TensorProto.DOUBLE)
            # A test that abstains is a missing value to the tree.
            abstains = self.add("Equal", signs, self.constant(0.0))
            blocks.append(self.add("Where", abstains, self.constant(np.nan), signs))
        sums = self.add(
            "TreeEnsembleRegressor",
            self._side_by_side(blocks),
            aggregate_function="SUM",
            post_transform="NONE",
            n_targets=2 * formula.n_scores,
            nodes_values_as_tensor=helper.make_tensor(
                "thresholds", TensorProto.DOUBLE, [len(trees.values)], trees.values
            ),
            **trees.attributes(),
        )
        double = self.add("Cast", sums, to=TensorProto.DOUBLE)
        halves = self.add("Reshape", double, self.constant([0, 2, formula.n_scores], np.int64))
        return self.add("ReduceSum", halves, self.constant([1], np.int64), keepdims=0)

    # Outputs

    def outputs(self) -> list[Any]:
        """Return the outputs: label, probabilities and scores; of a ranker, the scores."""
        formula = self.formula
        names = [self.free(name) for name in ("label", "probabilities", "scores")]
        scores = self.scores()
        made = []
        if not formula.classes or formula.is_binary:
            self.add("Reshape", scores, self.constant([-1], np.int64), name=names[2])
            shape: list[Any] = ["N"]
        else:
            self.add("Identity", scores, name=names[2])
            shape = ["N", formula.n_scores]
        if formula.classes:
            kind, width = self._label(scores, names[0])
            self._probabilities(scores, names[1])
            made.append(helper.make_tensor_value_info(names[0], kind, ["N", *width]))
            size = ["N", len(formula.classes)]
            made.append(helper.make_tensor_value_info(names[1], TensorProto.DOUBLE, size))
        return [*made, helper.make_tensor_value_info(names[2], TensorProto.DOUBLE, shape)]

    def _label(self, scores: str, name: str) -> tuple[int, list[int]]:
        """Add the predicted classes, or labels; return their type and width."""
        formula = self.formula
        if formula.multilabel or formula.is_binary:
            above = self.add("Greater", scores, self.constant(0.0))
            if formula.multilabel:
                self.add("Cast", above, name=name, to=TensorProto.INT64)
                return TensorProto.INT64, [formula.n_scores]
            flat = self.add("Reshape", above, self.constant([-1], np.int64))
            codes = self.add("Cast", flat, to=TensorProto.INT64)
        else:
            codes = self.add("ArgMax", scores, axis=1, keepdims=0)
        kind, dtype = _class_type(formula.classes)
        self.add("Gather", self.constant(formula.classes, dtype), codes, name=name, axis=0)
        return kind, []

    def _probabilities(self, scores: str, name: str) -> None:
        formula = self.formula
        kind, scale, shifts = formula.link
        z = scores
        if scale != 1.0:
            z = self.add("Mul", z, self.constant(scale))
        if shifts.any():
            z = self.add("Add", z, self.constant(shifts[None]))
        if kind == "logistic":
            share = self.add("Sigmoid", z, name="" if formula.is_binary else name)
            if formula.is_binary:
                other = self.add("Sub", self.constant(1.0), share)
                self.add("Concat", other, share, axis=1, name=name)
            return
        if kind == "share":
            # The softmax of ln(logistic(z)): a row far from every class has probabilities too.
            # ln(logistic(z)) is min(z, 0) - ln(1 + exp(-|z|)).
            near = self.add("Exp", self.add("Neg", self.add("Abs", z)))
            log = self.add("Log", self.add("Add", near, self.constant(1.0)))
            z = self.add("Sub", self.add("Min", z, self.constant(0.0)), log)
        self.add("Softmax", z, axis=1, name=name)


def _class_type(classes: list[Any]) -> tuple[int, Any]:
    """Return the types of classes in ONNX and in NumPy."""
    kinds = (
        (bool, TensorProto.BOOL, np.bool_),
        (int, TensorProto.INT64, np.int64),
        (float, TensorProto.DOUBLE, np.float64),
        (str, TensorProto.STRING, object),
    )
    for kind, tensor, dtype in kinds:
        if all(type(label) is kind for label in classes):
            return tensor, dtype
    raise ValueError(f"ONNX cannot hold classes of several types, such as {classes[:3]!r}")


_Item = Any
"""A node of a model that a node of the operator stands for."""


class _Branch(NamedTuple):
    """A node of the operator: the true branch has values from the threshold on."""

    column: int
    threshold: float
    has_missing: bool  # whether the true branch has missing values too
    true: _Item
    false: _Item


class _Trees:
    """All steps and trees of a model as the lists of the operator.

    Its columns are `numeric` ones, as they are, followed by the signs of `tests`.
    """

    def __init__(self, formula: Formula) -> None:
        nodes = [node for voting in formula.trees for node in voting.tree.nodes]
        cuts = [node.test.column for node in nodes if isinstance(node.test, Cut)]
        self.numeric = sorted({*(steps.column for steps in formula.steps), *cuts} - {-1})
        others = {node.test.key: node.test for node in nodes if not isinstance(node.test, Cut)}
        self.tests: list[Test] = list(others.values())
        self._index = {key: index for index, key in enumerate([*self.numeric, *others])}
        # By node: its tree, its index there, mode, column, threshold, branches and missing values.
        self._nodes: list[list[Any]] = []
        self._leaves: list[tuple[int, int, Reals]] = []  # tree, index there, and votes
        for tree, steps in enumerate(formula.steps):
            self._add(tree, None, partial(self._split_steps, steps))
        for tree, voting in enumerate(formula.trees, len(formula.steps)):
            self._add(tree, (0, False), partial(self._split_tree, voting))

    @property
    def values(self) -> list[float]:
        """The thresholds of all nodes."""
        return [node[4] for node in self._nodes]

    def _add(self, tree: int, root: _Item, split: Callable[[_Item], _Branch | Reals]) -> None:
        """Add a tree, whose items are split into branches until they are the votes of a leaf."""
        first = len(self._nodes)
        # The node and branch that lead to an item.
        items: list[tuple[list[Any], int, _Item]] = [([0] * 8, 0, root)]
        while items:
            parent, branch, item = items.pop()
            index = len(self._nodes) - first
            parent[branch] = index
            children = split(item)
            if isinstance(children, _Branch):
                column, threshold, has_missing, true, false = children
                node = [tree, index, "BRANCH_GTE", column, threshold, 0, 0, int(has_missing)]
                items += [(node, 5, true), (node, 6, false)]
            else:
                node = [tree, index, "LEAF", 0, 0.0, 0, 0, 0]
                self._leaves.append((tree, index, children))
            self._nodes.append(node)

    def _split_steps(self, steps: StepFunction, item: tuple[int, int] | None) -> _Branch | Reals:
        """Split the steps from one to another in the middle, after missing values (item None)."""
        column = self._index[steps.column]
        if item is None:
            return _Branch(column, -math.inf, False, (0, len(steps.thresholds)), (-1, -1))
        low, high = item
        if low == high:
            return steps.missing if low < 0 else steps.values[low]
        middle = (low + high) // 2
        threshold = float(steps.thresholds[middle])
        return _Branch(column, threshold, False, (middle + 1, high), (low, middle))

    def _split_tree(self, voting: VotingTree, item: tuple[int, bool]) -> _Branch | Reals:
        """Split at a node; where its test can abstain, first into rows that do and that do not."""
        end, is_present = item
        end = voting.tree.skip_constant_nodes(end)
        if end < 0:
            return voting.leaves[-1 - end]
        node = voting.tree.nodes[end]
        column, threshold, missing = self._describe_test(node.test)
        if missing == 0 and not is_present:
            return _Branch(column, -math.inf, False, (end, True), (node.abstain, False))
        return _Branch(column, threshold, missing > 0, (node.high, False), (node.low, False))

    def _describe_test(self, test: Test) -> tuple[int, float, int]:
        """Return the column of a test, its threshold, and the sign of a missing value."""
        if isinstance(test, Cut):
            return self._index[test.column], test.threshold, test.missing
        can_abstain = any(
            factor.missing == 0 if isinstance(factor, Cut) else not factor.values.all()
            for factor in test.factors
        )
        return self._index[test.key], 0.5, 0 if can_abstain else -1

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the operator, except the thresholds."""
        trees, indices, modes, columns, _, true, false, missing = zip(*self._nodes, strict=True)
        leaf_trees, leaf_indices, votes = zip(*self._leaves, strict=True)
        weights = np.hstack(_halves(np.array(votes), list(leaf_trees)))
        width = weights.shape[1]
        return {
            "nodes_treeids": trees,
            "nodes_nodeids": indices,
            "nodes_featureids": columns,
            "nodes_modes": modes,
            "nodes_truenodeids": true,
            "nodes_falsenodeids": false,
            "nodes_missing_value_tracks_true": missing,
            "target_treeids": np.repeat(leaf_trees, width).tolist(),
            "target_nodeids": np.repeat(leaf_indices, width).tolist(),
            "target_ids": np.tile(np.arange(width), len(weights)).tolist(),
            "target_weights_as_tensor": helper.make_tensor(
                "votes", TensorProto.DOUBLE, [weights.size], weights.ravel()
            ),
        }


def _halves(leaves: Reals, trees: list[int]) -> list[Reals]:
    """Return the leaves of some trees as sums of multiples of a power of two and small remainders.

    No sum of the multiples, one of each tree, needs more bits than single precision has.
    """
    largest = np.zeros((trees[-1] + 1, leaves.shape[1]))
    np.maximum.at(largest, trees, np.abs(leaves))
    size = float(largest.sum(axis=0).max())
    # One bit less than there are, since multiples may be rounded up.
    unit = math.ldexp(1.0, math.frexp(size)[1] + 1 - _SINGLE_BITS) if size > 0 else 1.0
    exact = np.rint(leaves / unit) * unit
    return [exact, leaves - exact]
